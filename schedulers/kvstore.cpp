// MXNet's kvstore within one machine: every GPU copies its gradient of a key to where the key is
// merged, which adds them up and copies the sum back to all.
//
//   device: keys are merged on the GPUs, the largest first and each on the GPU with the fewest
//           elements so far; every GPU's port carries 2 (N - 1) / N M each way
//   local:  keys are merged in host memory by `threads` threads; without contention N M up to the
//           host and N M down
//
// A merge begins when all copies of its key are there and costs N - 1 times the cluster's
// `reduction` per byte. At message fidelity copies share the links of the node, and each takes a
// thread of a GPU, `copy_threads` each: the sender's, or at a copy from the host the receiver's. A
// free thread takes the copy of the key with the highest priority.
//
// Scope: one node; every GPU is a worker. Parameters: merge, copy_threads
// (MXNET_GPU_COPY_NTHREADS), threads (MXNET_CPU_PRIORITY_NTHREADS), priority: "last-key" as
// tools/bandwidth gives it and gradients become ready, or "first-key" as training by the Module API
// does. Validation: configs/papers/mxnet-bandwidth. Source: apache/mxnet 1.3.1 src/kvstore/comm.h,
// src/engine/threaded_engine_perdevice.cc.
#include "sim/aggregation.h"

#include <memory>
#include <string>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{
    {.key = "merge",
     .kind = Kind::kText,
     .help = "where gradients are added up: on the GPUs, or in host memory",
     .need = Need::kDefault,
     .fallback = "device",
     .words = {"device", "local"}},
    {.key = "copy_threads",
     .kind = Kind::kInteger,
     .help = "copies that a GPU has under way at once",
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
     .help = "which key is copied first: the one whose gradient is ready first, or the last",
     .need = Need::kDefault,
     .fallback = "last-key",
     .words = {"last-key", "first-key"}},
    {.key = "sharding",
     .kind = Kind::kObject,
     .help = "which GPU, or thread, merges what",
     .need = Need::kDefault,
     .fallback = Json{{"type", "greedy"}, {"order", "largest-first"}},
     .choice = Sharding::kNoun}};

std::unique_ptr<Aggregation> make(const Config& c, const Cluster& cluster) {
  if (cluster.nodes != 1) {
    c.fail("type", fmt::format("kvstore adds up within one node, got {} nodes", cluster.nodes));
  }
  const std::int64_t workers = cluster.workers();
  const auto n = static_cast<double>(workers);
  const bool on_gpus = c.get<std::string>("merge") == "device";
  const double gamma = cluster.reduction.seconds_per_byte;
  if (workers == 1)  // MXNet copies nothing then
    return std::make_unique<Aggregation>(
        Aggregation{.inside = std::make_shared<LinearCollective>(LinearCost{})});
  const ServerGroup servers{
      .count = on_gpus ? workers : c.get<std::int64_t>("threads"),
      .placement = on_gpus ? ServerGroup::Placement::kOnGpus : ServerGroup::Placement::kWithWorkers,
      .update = {(n - 1) * gamma},
      .fused = true,
      .sharding = Shardings::instance().make(c, "sharding"),
      .copies_at_once = c.get<std::int64_t>("copy_threads"),
      .last_bucket_first = c.get<std::string>("priority") == "first-key"};
  const double beta = inverse(cluster.intra_node.bandwidth).seconds_per_byte;
  const double parts = on_gpus ? n : static_cast<double>(servers.count);
  const LinearCost whole{2 * cluster.intra_node.latency,
                         {2 * beta * (on_gpus ? (n - 1) / n : n) + (n - 1) * gamma / parts}};
  return std::make_unique<Aggregation>(
      Aggregation{.clients = workers,
                  .inside = std::make_shared<LinearCollective>(LinearCost{}),
                  .servers = servers,
                  .whole = std::make_shared<LinearCollective>(whole)});
}

const bool kRegistered = Aggregations::instance().add(
    "kvstore", "MXNet's device and local kvstore: keys merged on the GPUs or the host of a node",
    kParams, make);

}  // namespace
}  // namespace steptime
