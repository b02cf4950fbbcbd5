#include "sim/experiment/played_cluster.h"

#include "sim/core/error.h"
#include "sim/network/adapters.h"

#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {

namespace {

/// `key`: of the `run` section.
void check_node(const Experiment& e, std::string_view key, std::size_t place, std::int64_t node) {
  if (node < e.cluster->nodes) return;
  throw InputError(fmt::format("{}: /run/{}/{}/node: expected 0 to {}, got {}", e.file, key, place,
                               e.cluster->nodes - 1, node));
}

void check_gpus(const Experiment& e) {
  std::size_t place = 0;
  for (const GpuSpeed& known : e.run->variation.gpus) {
    check_node(e, "variation/gpus", place, known.node);
    if (known.gpu.value_or(0) >= e.cluster->gpus_per_node) {
      throw InputError(fmt::format("{}: /run/variation/gpus/{}/gpu: expected 0 to {}, got {}",
                                   e.file, place, e.cluster->gpus_per_node - 1, *known.gpu));
    }
    ++place;
  }
}

void check_failures(const Experiment& e) {
  if (!e.run->failures) return;
  const Failures& failures = *e.run->failures;
  if (failures.per_node_and_day == 0 && !failures.interval) {
    throw InputError(
        fmt::format("{}: /run/failures/interval: required where no node fails by "
                    "chance, as no interval is the best then",
                    e.file));
  }
  std::size_t place = 0;
  for (const KnownFailure& failure : failures.known)
    check_node(e, "failures/nodes", place++, failure.node);
}

void check_slow_links(const Experiment& e) {
  if (!e.run->slow_links) return;
  const auto fail = [&](std::string_view what) {
    throw InputError(fmt::format("{}: /run/slow_links{}", e.file, what));
  };
  if (e.run->fidelity != Fidelity::kMessage)
    fail(": closed forms know no link by itself; expected \"message\" under /run/fidelity");
  if (e.cluster->nodes == 1) fail(": is about links between nodes; expected several nodes");
  for (const std::int64_t node : e.run->slow_links->nodes) {
    if (node >= e.cluster->nodes)
      fail(fmt::format("/nodes: expected 0 to {}, got {}", e.cluster->nodes - 1, node));
  }
  const std::int64_t adapters = adapters_of(*e.cluster);
  std::size_t place = 0;
  for (const SlowNode& slow : e.run->slow_links->adapters) {
    check_node(e, "slow_links/adapters", place, slow.node);
    if (slow.adapter.value_or(0) >= adapters) {
      fail(fmt::format("/adapters/{}/adapter: expected 0 to {}, got {}", place, adapters - 1,
                       *slow.adapter));
    }
    ++place;
  }
}

}  // namespace

void check_machines(const Experiment& e) {
  check_slow_links(e);
  check_gpus(e);
  check_failures(e);
}

PlayedMachines played_machines(const Experiment& e) {
  PlayedMachines played{e.cluster, e.run->variation};
  played.variation.gpus_per_node = e.cluster->gpus_per_node;
  if (e.run->slow_links) {
    const std::vector<SlowNode> slow = e.run->slow_links->drawn(e.cluster->nodes, e.run->seed);
    played.cluster = std::make_shared<Cluster>(slowed(*e.cluster, slow));
  }
  return played;
}

}  // namespace steptime
