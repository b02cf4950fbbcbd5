// All-to-all: every rank has a part of M / N bytes for each rank, and gets as many from each. In
// step i, 1 <= i < N, rank r sends to rank r + i and receives from rank r - i (pairwise exchange).
//
// Known by its messages alone; their time is the collective's. On equal links, one a rank, that is
// (N - 1)(alpha + ceil(M / N) beta). Scope: no other traffic. Not an all-reduce: for predictions of
// the operation by itself. Parameters: none; alpha and beta are those of the cluster. Source:
// Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 19 (2005): long messages, any number of ranks.
#include "netmodels/programs.h"
#include "sim/collective/message_collective.h"
#include "sim/core/error.h"

#include <limits>
#include <memory>

namespace steptime {
namespace {

/// Slices are of N x M bytes: what rank r has for rank t is part t of the r-th M bytes.
class EachToEach final : public Program {
 public:
  EachToEach(Rank n, std::int64_t bytes) : n_(n), bytes_(bytes) {}
  Rank ranks() const override { return n_; }
  std::int32_t steps(Rank) const override { return n_ - 1; }
  Op op(Rank rank, std::int32_t step) const override {
    const Rank to = (rank + step + 1) % n_;
    const Rank from = (rank + n_ - step - 1) % n_;
    return {.send = {.first = to, .count = 1, .step = step, .slice = part(rank, to)},
            .recv = {.first = from, .count = 1, .step = step, .slice = part(from, rank)}};
  }
  double messages() const override { return static_cast<double>(n_) * (n_ - 1); }
  /// All that rank 0 gets are longest parts, so that it is never early.
  std::optional<Rounds> rounds() const override { return Rounds{{n_ - 1, part(0, 0).bytes, 0}}; }

 private:
  Slice part(Rank from, Rank to) const { return part_of({from * bytes_, bytes_}, to, n_); }

  Rank n_;
  std::int64_t bytes_;
};

class AllToAll final : public MessageCollective {
 public:
  explicit AllToAll(const Cluster& cluster)
      : MessageCollective(cluster), n_(static_cast<Rank>(cluster.workers())) {}
  Operation operation() const override { return Operation::kAllToAll; }
  Programs programs(Bytes m) const override {
    if (m.count > std::numeric_limits<std::int64_t>::max() / n_)
      throw RangeError("the parts of an all-to-all are more bytes than can be counted");
    return one(std::make_unique<EachToEach>(n_, m.count));
  }

 private:
  Rank n_;
};

const bool kRegistered = Collectives::instance().add(
    "all-to-all", "a part from each rank to each, in pairs", {},
    [](const Config&, const Cluster& cluster) { return std::make_unique<AllToAll>(cluster); });

}  // namespace
}  // namespace steptime
