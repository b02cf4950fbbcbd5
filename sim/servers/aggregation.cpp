#include "sim/servers/aggregation.h"

#include "sim/core/error.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace steptime {

Params server_params() {
  return {
      {.key = "servers",
       .kind = Kind::kInteger,
       .help = "how many",
       .range = {.low = 0, .high = 1e5}},
      {.key = "placement",
       .kind = Kind::kText,
       .help = "\"own-nodes\", beside the cluster's, or \"with-workers\": server i on node i mod "
               "nodes",
       .need = Need::kDefault,
       .fallback = "own-nodes",
       .words = {"own-nodes", "with-workers"}},
      {.key = "sharding",
       .kind = Kind::kObject,
       .help = "which server holds what",
       .need = Need::kDefault,
       .fallback = Json{{"type", "mxnet"}},
       .choice = Sharding::kNoun},
      {.key = "rate",
       .kind = Kind::kBandwidth,
       .help = "bytes in and out that a server's thread handles; default: any",
       .need = Need::kOptional,
       .range = kPositive},
      {.key = "request_time",
       .kind = Kind::kTime,
       .help = "of a server's thread, per push and per pull",
       .need = Need::kDefault,
       .fallback = "0 s",
       .range = kNotNegative},
      {.key = "update_cost",
       .kind = Kind::kTimePerByte,
       .help = "of a server's thread, each time that parameters change",
       .need = Need::kDefault,
       .fallback = "0 s/B",
       .range = kNotNegative},
      {.key = "requests",
       .kind = Kind::kText,
       .help = "\"push-pull\": a pull is asked for when the push was answered; \"pushpull\": one "
               "request does both; \"early-pull\": asked for when the push is in, behind what is "
               "still to be sent; \"next-step\": asked for by the next step, whose layers wait",
       .need = Need::kDefault,
       .fallback = "push-pull",
       .words = {"push-pull", "pushpull", "early-pull", "next-step"}},
      {.key = "pull_order",
       .kind = Kind::kText,
       .help = "in which order a \"next-step\" asks for its keys: \"random\", as a pool of threads "
               "does, or \"forward\"",
       .need = Need::kDefault,
       .fallback = "random",
       .words = {"random", "forward"}},
      {.key = "workers_per_host_link",
       .kind = Kind::kInteger,
       .help = "with-workers: how many neighbours share a link to their host",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 1e4}}};
}

ServerGroup read_servers(const Config& config) {
  const auto requests = config.get<std::string>("requests");
  ServerGroup servers{.count = config.get<std::int64_t>("servers"),
                      .placement = config.get<std::string>("placement") == "with-workers"
                                       ? ServerGroup::Placement::kWithWorkers
                                       : ServerGroup::Placement::kOwnNodes,
                      .request_time = config.get<Duration>("request_time"),
                      .update = config.get<TimePerByte>("update_cost"),
                      .fused = requests == "pushpull",
                      .pull = requests == "early-pull"  ? PullTime::kPushed
                              : requests == "next-step" ? PullTime::kNextStep
                                                        : PullTime::kAnswered,
                      .pulls_in_order = config.get<std::string>("pull_order") == "forward",
                      .workers_per_host_link = config.get<std::int64_t>("workers_per_host_link"),
                      .sharding = Shardings::instance().make(config, "sharding")};
  if (config.has("rate")) servers.rate = config.get<Bandwidth>("rate");
  return servers;
}

LinearCost server_cost(const Cluster& cluster, std::int64_t clients, const ServerGroup& servers) {
  const double per_server = static_cast<double>(clients) / static_cast<double>(servers.count);
  const double port = 2 * inverse(cluster.network.bandwidth).seconds_per_byte;
  const double thread = servers.rate ? 2 * inverse(*servers.rate).seconds_per_byte : 0;
  return {(servers.fused ? 2 : 4) * cluster.network.latency, {per_server * std::max(port, thread)}};
}

std::unique_ptr<Collective> read_collective(const Config& config, const Cluster& cluster) {
  try {
    return Collectives::instance().make(config, "collective", cluster);
  } catch (const RangeError& e) {
    config.fail("collective", e.what());
  }
}

std::unique_ptr<Collective> named_collective(const char* name, const Cluster& cluster) {
  static const Params params{
      {.key = "collective", .kind = Kind::kObject, .choice = Collective::kNoun}};
  const Config config(
      std::make_shared<Document>(Document{"", Json{{"collective", {{"type", name}}}}}), params);
  return Collectives::instance().make(config, "collective", cluster);
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
    strategy.object("aggregation", any_keys())
        .fail("collective", "does not leave every worker with the sum");
  }
  const bool beyond = aggregation.beyond.has_value();
  const std::string refusal = update.refusal(
      {.holds_center = beyond || (aggregation.servers.count > 0 && !aggregation.merges),
       .pulls_in_next_step = aggregation.servers.pull == PullTime::kNextStep,
       .adds_up_in_nodes = beyond});
  if (!refusal.empty()) strategy.fail("update", refusal);
}

}  // namespace steptime
