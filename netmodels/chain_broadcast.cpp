// Chain broadcast: the data of rank 0 goes from rank to rank in K segments that follow one another,
// each rank receiving one while it sends on the one before:
//
//   T = (K + N - 2) alpha + (M + (N - 2) ceil(M / K)) beta    K = sqrt((N - 2) M beta / alpha)
//
// for equal links; in general the K segments follow one another over the slowest link, and the
// other N - 2 are passed once, by the largest segment. Scope: no other traffic; large messages, for
// which it tends to M beta. K, which makes T least, is rounded, at least 1 and at most M and
// kMostSegments, and 1 where nothing overlaps (N = 2). Not an all-reduce. Parameters: none; alpha
// and beta are those of the cluster. Source: derived; the pipelined algorithm of MPI libraries.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

namespace steptime {
namespace {

constexpr double kMostSegments = 1024;

/// Rank r receives segment s in its step s and sends it on in step s + 1; rank 0 sends in step s.
class Chain final : public Program {
 public:
  Chain(Rank n, Slice data, std::int32_t segments)
      : n_(n), segments_(segments), cut_(data, segments) {}
  Rank ranks() const override { return n_; }
  std::int32_t steps(Rank rank) const override {
    if (n_ == 1) return 0;
    return segments_ + (rank > 0 && rank < n_ - 1 ? 1 : 0);
  }
  Op op(Rank rank, std::int32_t step) const override {
    Op op;
    const std::int32_t sent = rank == 0 ? step : step - 1;
    if (rank < n_ - 1 && sent >= 0)
      op.send = {.first = rank + 1, .count = 1, .step = sent, .slice = cut_.part(sent)};
    if (rank > 0 && step < segments_) {
      op.recv = {.first = rank - 1,
                 .count = 1,
                 .step = rank == 1 ? step : step + 1,
                 .slice = cut_.part(step)};
    }
    return op;
  }
  double messages() const override { return static_cast<double>(n_ - 1) * segments_; }

 private:
  Rank n_;
  std::int32_t segments_;
  Cut cut_;
};

class ChainBroadcast final : public Collective {
 public:
  explicit ChainBroadcast(const Cluster& cluster)
      : n_(static_cast<Rank>(cluster.workers())), links_(cluster), hops_(links_.chain()) {}

  Duration time(Bytes m) const override {
    if (n_ == 1) return {};
    const std::int32_t k = segments(m);
    const auto bytes = static_cast<double>(m.count);
    const auto segment = static_cast<double>(ceil_div(m.count, k));
    double most = 0;
    for (const Line& all : hops_.time.slowest.lines()) {
      const Line once{hops_.sum.alpha - all.alpha, hops_.sum.beta - all.beta};
      most = std::max(most, once.seconds(segment) + k * all.alpha + all.beta * bytes);
    }
    return from_seconds(most);
  }
  Duration startup() const override { return time(Bytes{0}); }
  Operation operation() const override { return Operation::kBroadcast; }
  std::string outside_domain(Bytes) const override {
    return what_is_left_out(links_, hops_.time.even || hops_.time.apart);
  }
  Programs programs(Bytes m) const override {
    Programs programs;
    programs.push_back(chain_broadcast(n_, {0, m.count}, segments(m)));
    return programs;
  }

 private:
  std::int32_t segments(Bytes m) const {
    if (n_ <= 2) return 1;
    const auto& lines = hops_.time.slowest.lines();
    const Line& link = *std::max_element(
        lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.beta < b.beta; });
    const auto bytes = static_cast<double>(m.count);
    const double best =
        std::round(std::sqrt((hops_.sum.beta - link.beta) * bytes / std::max(link.alpha, 1e-12)));
    return static_cast<std::int32_t>(std::clamp(best, 1.0, std::clamp(bytes, 1.0, kMostSegments)));
  }

  Rank n_;
  RoundLinks links_;
  RoundLinks::Chain hops_;
};

const bool kRegistered = Collectives::instance().add(
    "chain-broadcast", "the data of rank 0 to all, from rank to rank in segments", {},
    [](const Config&, const Cluster& c) { return std::make_unique<ChainBroadcast>(c); });

}  // namespace

std::unique_ptr<Program> chain_broadcast(Rank n, Slice data, std::int32_t segments) {
  return std::make_unique<Chain>(n, data, segments);
}

}  // namespace steptime
