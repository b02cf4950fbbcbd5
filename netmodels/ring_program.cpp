// Ring programs, with baidu-allreduce's order of segments.
#include "netmodels/programs.h"
#include "sim/collective/collective_program.h"

#include <memory>

namespace steptime {
namespace {

class Ring final : public Program {
 public:
  /// `halves`: 1 the reduce-scatter, 2 the all-gather, 3 both.
  Ring(Rank n, Slice data, Rank stride, int halves)
      : n_(n), cut_(data, n), stride_(stride % n), halves_(halves), inverse_(1 % n) {
    // Place p of the ring is held by rank p * stride mod n; places have the segments' numbers.
    while (n > 1 && static_cast<std::int64_t>(inverse_) * stride_ % n != 1)
      ++inverse_;
  }

  Rank ranks() const override { return n_; }
  std::int32_t steps(Rank) const override { return (halves_ == 3 ? 2 : 1) * (n_ - 1); }

  Op op(Rank rank, std::int32_t step) const override {
    const bool gathers = halves_ == 2 || step >= n_ - 1;
    const std::int32_t i = halves_ == 3 && gathers ? step - (n_ - 1) : step;
    const Rank place =
        stride_ == 1 ? rank : static_cast<Rank>(static_cast<std::int64_t>(rank) * inverse_ % n_);
    const Rank sent = wrap(place - i + (gathers ? 1 : 0));
    const Rank received = wrap(sent - 1);
    Op op;
    op.send = {
        .first = wrap_once(rank + stride_), .count = 1, .step = step, .slice = cut_.part(sent)};
    op.recv = {.first = wrap_once(rank - stride_ + n_),
               .count = 1,
               .step = step,
               .slice = cut_.part(received)};
    op.reduce = !gathers;
    return op;
  }

  double messages() const override { return static_cast<double>(n_) * steps(0); }

  std::optional<Rounds> rounds() const override {
    // A longest segment is on its way in every step: it goes all the way round without a stop.
    const std::int64_t longest = cut_.part(0).bytes;
    Rounds rounds;
    if ((halves_ & 1) != 0) rounds.push_back({n_ - 1, longest, longest});
    if ((halves_ & 2) != 0) rounds.push_back({n_ - 1, longest, 0});
    return rounds;
  }

 private:
  /// x mod n for -n <= x < 2 n, without a division.
  Rank wrap(Rank x) const { return wrap_once(x < 0 ? x + n_ : x); }
  Rank wrap_once(Rank x) const { return x >= n_ ? x - n_ : x; }

  Rank n_;
  Cut cut_;
  Rank stride_;
  int halves_;
  Rank inverse_;  ///< the inverse of the stride, modulo n
};

}  // namespace

std::unique_ptr<Program> ring_reduce_scatter(Rank n, Slice data, Rank stride) {
  return std::make_unique<Ring>(n, data, stride, 1);
}
std::unique_ptr<Program> ring_all_gather(Rank n, Slice data, Rank stride) {
  return std::make_unique<Ring>(n, data, stride, 2);
}
std::unique_ptr<Program> ring_all_reduce(Rank n, Slice data, Rank stride) {
  return std::make_unique<Ring>(n, data, stride, 3);
}

}  // namespace steptime
