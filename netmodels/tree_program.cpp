// Binary trees as NCCL builds them, and all-reduce along one.
//
// First tree, the bit rule: rank r > 0 with lowest set bit b hangs below r - b + 2 b, or, if that
// is no rank, below r - b; its children are r - b/2 and the first of r + b/2, r + b/4, ... that is
// a rank. Rank 0 is the root, with the largest power of two below n as its only child. Source:
// NCCL 2.4.8 to 2.18.3, src/graph/trees; the sets for n = 2 to 32 are in the tests.
#include "netmodels/programs.h"
#include "sim/collective/collective_program.h"

#include <algorithm>
#include <bit>
#include <memory>

namespace steptime {

TreePlace first_tree(Rank rank, Rank n) {
  TreePlace place;
  if (rank == 0) {
    if (n > 1) place.down[0] = static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(n - 1)));
    return place;
  }
  const Rank bit = rank & -rank;
  place.up = rank + bit < n && (rank & (bit << 1)) == 0 ? rank + bit : rank - bit;
  if (bit == 1) return place;
  place.down[0] = rank - bit / 2;
  for (Rank half = bit / 2; half > 0; half /= 2) {
    if (rank + half < n) {
      place.down[1] = rank + half;
      break;
    }
  }
  return place;
}

TreePlace second_tree(Rank rank, Rank n, SecondTree rule) {
  const bool is_mirrored = (n % 2 != 0) == (rule == SecondTree::kUpTo278);
  const auto there = [&](Rank r) { return is_mirrored ? n - 1 - r : (r + n - 1) % n; };
  const auto back = [&](Rank r) { return r < 0 ? r : (is_mirrored ? n - 1 - r : (r + 1) % n); };
  TreePlace place = first_tree(there(rank), n);
  place.up = back(place.up);
  for (Rank& down : place.down)
    down = back(down);
  return place;
}

namespace {

/// With C chunks: in step k <= C a rank receives chunk k from its children and sends chunk k - 1 to
/// its parent; in step C + 1 + k it receives chunk k from its parent and sends chunk k - 1 on.
/// Steps with nothing to do take no time.
class TreeAllReduce final : public Program {
 public:
  TreeAllReduce(Rank n, Slice data, std::int64_t chunks, TreePlace (*tree)(Rank, Rank))
      : n_(n), cut_(data, chunks), chunks_(static_cast<std::int32_t>(chunks)), tree_(tree) {}
  Rank ranks() const override { return n_; }
  std::int32_t steps(Rank) const override { return 2 * (chunks_ + 1); }

  Op op(Rank rank, std::int32_t step) const override {
    const TreePlace place = tree_(rank, n_);
    const bool goes_up = step <= chunks_;
    const std::int32_t k = goes_up ? step : step - chunks_ - 1;
    const Side parent{.first = place.up, .count = place.up < 0 ? 0 : 1};
    const Side children = both(place);
    Op op{.send = goes_up ? parent : children,
          .recv = goes_up ? children : parent,
          .reduce = goes_up};
    time(op.recv, k < chunks_, k, step + 1);
    time(op.send, k > 0, k - 1, step - 1);
    // The root has its chunks from the reduction, one step earlier than others from their parent.
    return op;
  }
  double messages() const override { return 2.0 * (n_ - 1) * chunks_; }

 private:
  static Side both(const TreePlace& place) {
    const auto [low, high] = std::minmax(place.down[0], place.down[1]);
    if (high < 0) return {};
    if (low < 0) return {.first = high, .count = 1};
    return {.first = low, .count = 2, .stride = high - low};
  }
  void time(Side& side, bool has_chunk, std::int32_t chunk, std::int32_t peers_step) const {
    if (!has_chunk) side.count = 0;
    side.step = peers_step;
    if (has_chunk) side.slice = cut_.part(chunk);
  }

  Rank n_;
  Cut cut_;
  std::int32_t chunks_;
  TreePlace (*tree_)(Rank, Rank);
};

}  // namespace

std::unique_ptr<Program> tree_all_reduce(Rank n, Slice data, std::int64_t chunks,
                                         TreePlace (*tree)(Rank rank, Rank n)) {
  return std::make_unique<TreeAllReduce>(n, data, chunks, tree);
}

}  // namespace steptime
