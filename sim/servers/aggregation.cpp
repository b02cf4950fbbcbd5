#include "sim/servers/aggregation.h"

#include "sim/config/key_use.h"
#include "sim/core/error.h"
#include "sim/network/fabric_rate.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace steptime {

namespace {
const bool kUses = acts_beside("pull_order", "requests", {"next-step"}) &&
                   acts_beside("workers_per_host_link", "placement", {"with-workers"});
}  // namespace

const Bindings<ServerGroup>& server_keys() {
  using S = ServerGroup;
  static const Bindings<S> keys{
      {&S::count, "servers", "how many", kRequired, between(0, 1e5)},
      {{.key = "placement",
        .kind = Kind::kText,
        .help = "\"own-nodes\", beside the cluster's, or \"with-workers\": server i on node i mod "
                "nodes",
        .need = Need::kDefault,
        .fallback = "own-nodes",
        .words = {"own-nodes", "with-workers"}},
       [](const Config& config, S& servers) {
         const bool own = config.get<std::string>("placement") == "own-nodes";
         servers.placement = own ? &own_nodes() : &with_workers();
       }},
      {&S::sharding, "sharding", "which server holds what", Json{{"type", "mxnet"}}},
      {&S::rate, "rate", "bytes in and out that a server's thread handles; default: any", kRequired,
       kPositive},
      {&S::request_time, "request_time", "of a server's thread, per push and per pull", "0 s",
       kNotNegative},
      {&S::update, "update_cost", "of a server's thread, each time that parameters change", "0 s/B",
       kNotNegative},
      {{.key = "requests",
        .kind = Kind::kText,
        .help = "\"push-pull\": a pull is asked for when the push was answered; \"pushpull\": one "
                "request does both; \"early-pull\": asked for when the push is in, behind what is "
                "still to be sent; \"next-step\": asked for by the next step, whose layers wait",
        .need = Need::kDefault,
        .fallback = "push-pull",
        .words = {"push-pull", "pushpull", "early-pull", "next-step"}},
       [](const Config& config, S& servers) {
         servers.requests = &requests_named(config.get<std::string>("requests"));
       }},
      {&S::pulls_in_order, "pull_order",
       "in which order a \"next-step\" asks for its keys: \"random\", as a pool of threads "
       "does, or \"forward\"",
       "random", one_of("random", "forward")},
      {&S::workers_per_host_link, "workers_per_host_link",
       "with-workers: how many neighbours share a link to their host", 1, between(1, 1e4)}};
  return keys;
}

Bandwidth server_port(const Cluster& cluster, std::int64_t clients, const ServerGroup& servers) {
  if (cluster.kind == nullptr || clients < cluster.nodes) return cluster.network.bandwidth;
  const std::int64_t per_server_node = servers.placement->per_node(servers.count, cluster.nodes);
  const std::int64_t of_client = clients / cluster.nodes * servers.count;
  const std::int64_t of_server = per_server_node * clients;
  return cluster.kind->together(std::max(of_client, of_server)).value_or(cluster.network.bandwidth);
}

Bandwidth network_port(const Cluster& cluster, const Aggregation& aggregation) {
  if (aggregation.beyond) return server_port(cluster, cluster.nodes, aggregation.beyond->servers);
  if (aggregation.servers.count == 0) return cluster.network.bandwidth;
  return server_port(cluster, aggregation.clients, aggregation.servers);
}

LinearCost server_cost(const Cluster& cluster, std::int64_t clients, const ServerGroup& servers) {
  const double per_server = static_cast<double>(clients) / static_cast<double>(servers.count);
  const double port = 2 * inverse(server_port(cluster, clients, servers)).seconds_per_byte;
  const double thread = servers.rate ? 2 * inverse(*servers.rate).seconds_per_byte : 0;
  return {servers.requests->trips * cluster.network.latency, {per_server * std::max(port, thread)}};
}

std::string unknown_fabric(const Cluster& cluster, const Aggregation& aggregation) {
  if (is_like_one_switch(cluster)) return "";
  if (aggregation.servers.count > 0)
    return "closed forms of servers take the fabric for one switch; \"message\" fidelity does not";
  const std::int64_t members = cluster.workers() / aggregation.clients;
  if (members > cluster.gpus_per_node && aggregation.inside->programs({1}).empty())
    return "a collective that is known by its time only knows no fabric but one switch";
  return "";
}

std::unique_ptr<Collective> read_collective(const Config& config, const Cluster& cluster) {
  try {
    return Collectives::instance().make(config, "collective", cluster);
  } catch (const RangeError& e) {
    config.fail("collective", e.what());
  }
}

Cluster client_cluster(const Cluster& cluster, std::int64_t clients, const Config& config) {
  const std::int64_t workers = cluster.workers();
  if (clients > workers || workers % clients != 0) {
    config.fail("clients",
                fmt::format("{} clients cannot share {} workers evenly", clients, workers));
  }
  Cluster inside = cluster;
  const std::int64_t members = workers / clients;
  if (members <= cluster.gpus_per_node) {
    inside.nodes = 1;
    inside.gpus_per_node = members;
  } else if (members % cluster.gpus_per_node == 0) {
    inside.nodes = members / cluster.gpus_per_node;
  } else {
    config.fail("clients", fmt::format("a client of {} workers does not fill nodes of {} workers",
                                       members, cluster.gpus_per_node));
  }
  return inside;
}

void check_update(const Config& strategy, const Aggregation& aggregation, const Update& update) {
  // Servers may add up gradients that a client has in parts; its own descent needs all of them.
  const bool in_parts = aggregation.gathers && !update.sends_parameters();
  if (!in_parts && aggregation.inside->operation() != Operation::kAllReduce) {
    const Config section = Aggregations::instance().chosen(strategy, "aggregation");
    section.fail("collective",
                 fmt::format("found \"{}\", expected one that leaves every worker with the sum, as "
                             "\"ring\" does",
                             Catalogue::type_of(section, Collective::kNoun)));
  }
  const bool beyond = aggregation.beyond.has_value();
  const std::string refusal =
      update.refusal({.holds_center = beyond || aggregation.servers.count > 0,
                      .pulls_in_next_step = !aggregation.servers.requests->brings_values,
                      .adds_up_in_nodes = beyond});
  if (!refusal.empty()) strategy.fail("update", refusal);
}

}  // namespace steptime
