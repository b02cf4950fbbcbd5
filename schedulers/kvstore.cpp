// MXNet's kvstore. Every GPU copies its gradient of a key to where its node merges the key, which
// adds them up and copies the sum back to all; with servers, after the node has pushed the sum and
// pulled what the servers made of it.
//
//   device: keys are merged on the GPUs, the largest first and each on the GPU with the fewest
//           elements so far; every GPU's port carries 2 (N - 1) / N M each way
//   local:  keys are merged in host memory by `threads` threads, any thread any key; without
//           contention N M up to the host and N M down
//   tree, nccl: on one node without servers
//   servers: dist_sync (local) and dist_device_sync (device), or with asgd dist_async and
//           dist_device_async: the sum of a key is copied to the host, where it is not there yet,
//           pushed, pulled when all its servers have answered, and copied back
//
// Without servers every merge is played as operations of an engine on the links of the node, at
// both fidelities (sim/mxnet/module_step.h): with the embedding "module", which says what calls
// cost, and without one, where they cost nothing but what issue_time and updater_time say.
//
// With servers and "module" each node's process is played in the same way, and its pushes and pulls
// are operations, too; the rest of this is about servers without that embedding.
//
// A merge begins when all copies of its key are there and costs N - 1 times the
// cluster's `reduction` per byte. At message fidelity copies share the links of the node, and each
// takes a thread of a GPU, `copy_threads` each: the sender's, or at a copy from the host the
// receiver's. A free thread takes the copy of the key with the highest priority; a sum on its way
// to the host has priority 0, which is that of key 0. Keys do not wait for each other.
//
// A server takes requests in the order in which they come; since ps-lite db61897, of release 1.7.0,
// what waits for its thread is a heap (sim/servers/request_queue.h). Over the channel zmq a request
// to pull comes behind the pushes that were sent before it.
//
// A process of a node sends and receives through one thread of ZeroMQ, `client_rate`, and pushes
// and pulls are issued by one thread of Python, key after key.
//
// Scope: every GPU is a worker. Left out: the thread of ZeroMQ of a server, which handles no
// more bytes than the server's own, and the copy out of ZeroMQ's buffer of what was pulled.
// Parameters: merge, copy_threads (MXNET_GPU_COPY_NTHREADS), threads
// (MXNET_CPU_PRIORITY_NTHREADS), priority: "last-key" as tools/bandwidth gives it and gradients
// become ready, or "first-key" as training by the Module API does; release, of MXNet; of servers,
// as parameter-server.
// Validation: configs/papers/mxnet-bandwidth.
// Source: apache/mxnet 0.9.3 and 1.3.1 src/kvstore/comm.h, kvstore_dist.h, kvstore_dist_server.h,
// src/ndarray/ndarray.cc (CopyFromTo), src/engine/threaded_engine_perdevice.cc; dmlc/ps-lite
// src/zmq_van.h, include/ps/kv_app.h.
#include "sim/config/key_use.h"
#include "sim/mxnet/merge.h"
#include "sim/servers/aggregation.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// The keys of parameter servers that MXNet's have, too.
Bindings<ServerGroup> keys_of_servers() {
  constexpr std::array<std::string_view, 4> kKeys{"placement", "rate", "request_time",
                                                  "update_cost"};
  return server_keys().only(kKeys);
}

Params kvstore_params() {
  Params all = merge_params();
  const Params own{
      {.key = "copy_threads",
       .kind = Kind::kInteger,
       .help = "copies that a GPU has under way at once; with servers it counts at message "
               "fidelity only",
       .need = Need::kDefault,
       .fallback = 2,
       .range = {.low = 1, .high = 1024}},
      {.key = "threads",
       .kind = Kind::kInteger,
       .help = "that add up in host memory",
       .need = Need::kDefault,
       .fallback = 4,
       .range = {.low = 1, .high = 1024}},
      {.key = "priority",
       .kind = Kind::kText,
       .help = "which key is copied first: the one whose gradient is ready first, or the last; "
               "with servers it counts at message fidelity only; the embedding module has its own",
       .need = Need::kDefault,
       .fallback = "last-key",
       .words = {"last-key", "first-key"}},
      {.key = "issue_time",
       .kind = Kind::kTime,
       .help = "of the thread that issues a node's pushes and pulls, for each push and each pull",
       .need = Need::kDefault,
       .fallback = "0 s",
       .range = kNotNegative},
      {.key = "updater_time",
       .kind = Kind::kTime,
       .help = "of the same thread, for the optimizer's call in each push; only without servers",
       .need = Need::kDefault,
       .fallback = "0 s",
       .range = kNotNegative},
      {.key = "calls",
       .kind = Kind::kText,
       .help =
           "in which order they are issued: of each key both, as in training, or all pushes "
           "and then all pulls, as tools/bandwidth does; the embedding module: of each key both",
       .need = Need::kDefault,
       .fallback = "by-key",
       .words = {"by-key", "pushes-first"}},
      {.key = "servers",
       .kind = Kind::kInteger,
       .help = "at which the nodes meet; 0: one node alone",
       .need = Need::kDefault,
       .fallback = 0,
       .range = {.low = 0, .high = 1e5}},
      {.key = "server_sharding",
       .kind = Kind::kObject,
       .help = "which server holds what; default: mxnet",
       .need = Need::kOptional,
       .choice = Sharding::kNoun},
      {.key = "client_rate",
       .kind = Kind::kBandwidth,
       .help = "bytes in and out that a node's thread towards the servers handles; default: any",
       .need = Need::kOptional,
       .range = kPositive},
      {.key = "release",
       .kind = Kind::kText,
       .help = "of MXNet, as servers go by it: up to 1.6.0 their thread takes requests in the "
               "order in which they came, since 1.7.0 what waits from a heap, where a later one "
               "goes first",
       .need = Need::kDefault,
       .fallback = "1.6.0",
       .words = {"1.6.0", "1.7.0"}}};
  all.insert(all.end(), own.begin(), own.end());
  const Params of_servers = keys_of_servers().params();
  all.insert(all.end(), of_servers.begin(), of_servers.end());
  return all;
}

IssuingThread read_issuing(const Config& c) {
  const auto issue = c.get<Duration>("issue_time");
  return {.push = issue + c.get<Duration>("updater_time"),
          .pull = issue,
          .pushes_first = c.get<std::string>("calls") == "pushes-first"};
}

/// Whether the config says what would stand without it, as a config with all defaults written out
/// does.
bool is_default(const Config& c, const std::string& key) {
  const Params all = kvstore_params();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Param& p) { return p.key == key; });
  return found->need == Need::kDefault && found->fallback == c.node()[key];
}

/// Nothing where nodes meet nowhere.
std::optional<ServersBeyond> read_beyond(const Config& c, const Cluster& cluster) {
  const auto count = c.get<std::int64_t>("servers");
  if (count == 0) {
    if (cluster.nodes != 1) {
      c.fail("servers", fmt::format("{} nodes need servers to meet at, got 0", cluster.nodes));
    }
    for (const char* key : {"server_sharding", "client_rate", "release", "placement", "rate",
                            "request_time", "update_cost"}) {
      if (c.node().contains(key) && !is_default(c, key))
        c.fail(key, "there are no servers, which it is about");
    }
    return std::nullopt;
  }
  if (c.get<Duration>("updater_time") > Duration{})
    c.fail("updater_time", "with servers the optimizer runs on these: request_time, update_cost");
  ServersBeyond beyond{.servers = keys_of_servers().read(c)};
  beyond.servers.count = count;
  beyond.servers.takes_from_heap = c.get<std::string>("release") == "1.7.0";
  beyond.servers.sharding = c.has("server_sharding") ? read_key_sharding(c, "server_sharding")
                                                     : Shardings::instance().make_default("mxnet");
  if (c.has("client_rate")) beyond.client_rate = c.get<Bandwidth>("client_rate");
  return beyond;
}

/// Where a node merges for servers beyond it; with one GPU, which has nothing to merge, the host
/// that it copies to. Without those an engine plays the merge, and nothing else adds up.
ServerGroup read_place(const Config& c, const Cluster& cluster, const Merge& merge,
                       bool has_servers) {
  const std::int64_t gpus = cluster.gpus_per_node;
  const bool on_gpus = gpus > 1 && merge.place() == Merge::Place::kGpu;
  ServerGroup place{.placement = on_gpus ? &steptime::on_gpus() : &with_workers(),
                    .update = {static_cast<double>(gpus - 1) * cluster.reduction.seconds_per_byte},
                    .requests = &requests_named("pushpull"),
                    .workers_per_host_link = on_gpus ? 1 : gpus,
                    .sharding = read_key_sharding(c, "sharding"),
                    .copies = {c.get<std::int64_t>("copy_threads"),
                               c.get<std::string>("priority") == "first-key"}};
  if (has_servers) place.count = on_gpus ? gpus : c.get<std::int64_t>("threads");
  return place;
}

/// Of all keys as one by way of servers, when nothing else is sent.
LinearCost whole_cost(const Cluster& cluster, const ServerGroup& merge,
                      const ServersBeyond& beyond) {
  const auto n = static_cast<double>(cluster.gpus_per_node);
  const bool on_gpus = merge.placement->is_on_gpus();
  const double beta = inverse(cluster.intra_node.bandwidth).seconds_per_byte;
  const double parts = static_cast<double>(merge.count);
  LinearCost whole{
      2 * cluster.intra_node.latency,
      {2 * beta * (on_gpus ? (n - 1) / n : n) + merge.update.seconds_per_byte / parts}};
  const LinearCost servers = server_cost(cluster, cluster.nodes, beyond.servers);
  whole.a += servers.a;
  whole.b.seconds_per_byte += servers.b.seconds_per_byte;
  if (on_gpus) {
    whole.a += 2 * cluster.intra_node.latency;
    whole.b.seconds_per_byte += 2 * beta / n;
  }
  return whole;
}

std::unique_ptr<Aggregation> make_kvstore(const Config& c, const Cluster& cluster) {
  auto beyond = read_beyond(c, cluster);
  std::shared_ptr<const Merge> merge = read_merge(c, cluster);
  if (merge->place() == Merge::Place::kEngine && beyond) {
    c.fail("merge",
           fmt::format("adds up on one node without servers, got {} of them; with servers expected "
                       "device or local",
                       beyond->servers.count));
  }
  const ServerGroup place = read_place(c, cluster, *merge, beyond.has_value());
  const IssuingThread issuing = read_issuing(c);
  const auto nothing = std::make_shared<LinearCollective>(LinearCost{});
  if (cluster.workers() == 1 && !beyond)  // MXNet copies nothing then
    return std::make_unique<Aggregation>(
        Aggregation{.inside = nothing, .servers = place, .alone = no_kvstore()});
  const LinearCost whole = beyond ? whole_cost(cluster, place, *beyond)
                                  : cost_of_one_key(*merge, cluster, *place.sharding);
  std::shared_ptr<const Merge> in_nodes;
  if (beyond) {
    in_nodes = std::move(merge);
    merge = nullptr;
    if (cluster.gpus_per_node == 1) in_nodes = merge_of_one_gpu();
  }
  return std::make_unique<Aggregation>(
      Aggregation{.clients = cluster.workers(),
                  .inside = nothing,
                  .servers = place,
                  .merge = std::move(merge),
                  .merge_in_nodes = std::move(in_nodes),
                  .merge_threads = c.get<std::int64_t>("threads"),
                  .whole = std::make_shared<LinearCollective>(whole),
                  .beyond = std::move(beyond),
                  .issuing = issuing});
}

const bool kUses = acts_at("message", "copy_threads", "servers", {0}) &&
                   acts_at("message", "priority", "servers", {0});

const bool kRegistered = Aggregations::instance().add(
    "kvstore",
    "MXNet's: keys merged on the GPUs or the host of a node, and with servers between nodes",
    kvstore_params(), make_kvstore);

}  // namespace
}  // namespace steptime
