// Binomial trees. In round k of the reduction a rank whose lowest k bits are zero receives from
// rank + 2^k, or, when bit k is set, sends to rank - 2^k and is done; the broadcast runs backwards.
// Synchronous sends keep one message at a time at each port, so that both take ceil(log2 n) rounds
// for every n.
#include "netmodels/programs.h"
#include "sim/collective/collective_program.h"

#include <bit>
#include <memory>
#include <utility>
#include <vector>

namespace steptime {
namespace {

/// ceil(log2 n).
std::int32_t levels(Rank n) {
  return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(n - 1)));
}

/// How many children a rank has: those at rank + 1, 2, 4, ... below its lowest set bit.
std::int32_t children(Rank rank, Rank n) {
  std::int32_t count = rank == 0 ? levels(n) : std::countr_zero(static_cast<std::uint32_t>(rank));
  while (count > 0 && rank + (1 << (count - 1)) >= n)
    --count;
  return count;
}

class Binomial final : public Program {
 public:
  Binomial(Rank n, Slice data, bool reduces) : n_(n), data_(data), reduces_(reduces) {}
  Rank ranks() const override { return n_; }
  std::int32_t steps(Rank rank) const override { return children(rank, n_) + (rank > 0 ? 1 : 0); }

  Op op(Rank rank, std::int32_t step) const override {
    const std::int32_t mine = children(rank, n_);
    if (reduces_) {
      if (step == mine) return {.send = to_parent(rank)};
      return {.recv = to_child(rank, step), .reduce = true};
    }
    if (rank > 0 && step == 0) return {.recv = to_parent(rank)};
    // The child with the most to do comes first.
    return {.send = to_child(rank, mine - 1 - (step - (rank > 0 ? 1 : 0)))};
  }

  double messages() const override { return n_ - 1; }

  std::optional<Rounds> rounds() const override {
    return Rounds{{levels(n_), data_.bytes, reduces_ ? data_.bytes : 0}};
  }

 private:
  Side to_child(Rank rank, std::int32_t k) const {
    const Rank child = rank + (1 << k);
    return {.first = child, .count = 1, .step = reduces_ ? children(child, n_) : 0, .slice = data_};
  }
  Side to_parent(Rank rank) const {
    const std::int32_t k = std::countr_zero(static_cast<std::uint32_t>(rank));
    const Rank parent = rank - (1 << k);
    const std::int32_t step = reduces_ ? k : children(parent, n_) - 1 - k + (parent > 0 ? 1 : 0);
    return {.first = parent, .count = 1, .step = step, .slice = data_};
  }

  Rank n_;
  Slice data_;
  bool reduces_;
};

}  // namespace

std::unique_ptr<Program> binomial_reduce(Rank n, Slice data) {
  return std::make_unique<Binomial>(n, data, true);
}
std::unique_ptr<Program> binomial_broadcast(Rank n, Slice data) {
  return std::make_unique<Binomial>(n, data, false);
}
std::unique_ptr<Program> binomial_all_reduce(Rank n, Slice data) {
  std::vector<Sequence::Stage> stages;
  stages.push_back({.program = binomial_reduce(n, data)});
  stages.push_back({.program = binomial_broadcast(n, data)});
  return std::make_unique<Sequence>(n, std::move(stages));
}

}  // namespace steptime
