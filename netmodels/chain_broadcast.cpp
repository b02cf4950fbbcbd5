// Chain broadcast: the data of rank 0 goes from rank to rank in K segments that follow one another,
// each rank receiving one while it sends on the one before:
//
//   T = (K + N - 2) alpha + (M + (N - 2) ceil(M / K)) beta    K = sqrt((N - 2) M beta / alpha)
//
// for equal links, K rounded; in general the K segments follow one another over the slowest link,
// and the other N - 2 are passed once, by the largest segment. K is the number of at most
// kMostSegments that makes T least. Scope: no other traffic; large messages, for which it tends to
// M beta. Not an all-reduce. Parameters: none; alpha
// and beta are those of the cluster. Source: derived; the pipelined algorithm of MPI libraries.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace steptime {
namespace {

constexpr std::int64_t kMostSegments = 1024;
constexpr ErrorBound kEstimate{};

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

class ChainBroadcast final : public MessageCollective {
 public:
  explicit ChainBroadcast(const Cluster& cluster)
      : MessageCollective(cluster),
        n_(static_cast<Rank>(cluster.workers())),
        links_(cluster),
        hops_(links_.chain()) {}

  Duration time(Bytes m) const override {
    return n_ == 1 ? Duration{} : from_seconds(seconds(segments(m), m.count));
  }
  Operation operation() const override { return Operation::kBroadcast; }
  std::string outside_domain(Bytes) const override {
    return what_is_left_out(links_, !error_bound());
  }
  std::optional<ErrorBound> error_bound() const override {
    return hops_.time.even || hops_.time.apart ? std::nullopt : std::optional(kEstimate);
  }
  Programs programs(Bytes m) const override {
    Programs programs;
    programs.push_back(chain_broadcast(n_, {0, m.count}, segments(m)));
    return programs;
  }

 private:
  /// Until all segments are over the slowest link; `hops`: and the first over each of the others.
  double seconds(std::int64_t segments, std::int64_t bytes, bool hops = true) const {
    const auto longest = static_cast<double>(ceil_div(bytes, segments));
    double most = 0;
    for (const Line& all : hops_.time.slowest.lines()) {
      const Line once{hops_.sum.alpha - all.alpha, hops_.sum.beta - all.beta};
      const double last =
          static_cast<double>(segments) * all.alpha + all.beta * static_cast<double>(bytes);
      most = std::max(most, last + (hops ? once.seconds(longest) : 0));
    }
    return most;
  }

  std::int32_t segments(Bytes m) const {
    if (n_ <= 2) return 1;
    return static_cast<std::int32_t>(fastest_parts(
        1, kMostSegments, [&](std::int64_t k) { return seconds(k, m.count); },
        [&](std::int64_t k) { return seconds(k, m.count, false); }));
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
