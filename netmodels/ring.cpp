// Ring: N - 1 steps of reduce-scatter, then N - 1 steps of all-gather, each of M / N bytes.
//
//   a = 2 (N - 1) alpha      b = 2 (N - 1) / N beta + (N - 1) / N gamma
//
// Scope: no contention. With several GPUs per node the ring visits a node's GPUs in sequence, so
// that every NIC carries the ring once in and once out, and the network is the slowest link.
// The messages are segments of whole bytes: M / N rounded down, and the first M mod N one byte
// longer, so that message fidelity costs 2 (N - 1) (alpha + ceil(M / N) beta). An empty segment is
// sent all the same and costs its alpha.
// Parameters: startups, "2(N-1)" as in 004, or "N-1" as printed in 001 section 5, which counts the
// start-ups of one of the two halves; the messages are the same.
// Source: 004 Table II; 001 section 5.
#include "netmodels/programs.h"
#include "sim/collective.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "startups",
                      .kind = Kind::kText,
                      .help = "how many alphas: 2(N-1), or the N-1 of paper 001",
                      .need = Need::kDefault,
                      .fallback = "2(N-1)",
                      .words = {"2(N-1)", "N-1"}}};

LinearCost cost(const Config& config, const Cluster& cluster) {
  const auto n = static_cast<double>(cluster.workers());
  const double halves = config.get<std::string>("startups") == "N-1" ? 1 : 2;
  const double alpha = to_seconds(cluster.bottleneck().latency);
  const double beta = inverse(cluster.bottleneck().bandwidth).seconds_per_byte;
  const double gamma = cluster.reduction.seconds_per_byte;
  return {from_seconds(halves * (n - 1) * alpha), {(n - 1) / n * (2 * beta + gamma)}};
}

const bool kRegistered = Collectives::instance().add(
    "ring", "reduce-scatter and all-gather around a ring", kParams,
    [](const Config& c, const Cluster& cluster) {
      const auto n = static_cast<Rank>(cluster.workers());
      return std::make_unique<LinearCollective>(
          cost(c, cluster), [n](Slice whole) { return ring_all_reduce(n, whole); });
    });

}  // namespace
}  // namespace steptime
