// Recursive doubling, and recursive halving and doubling, for any number of ranks. With 2^k the
// largest power of two in n, the first 2 (n - 2^k) ranks pair up: the even one hands its data to
// the odd one and waits for the result. The 2^k that are left are numbered anew, in order.
#include "netmodels/programs.h"
#include "sim/collective/collective_program.h"

#include <bit>
#include <memory>

namespace steptime {
namespace {

class Doubling final : public Program {
 public:
  enum class Kind { kWhole, kFarthestFirst, kNearestFirst };
  Doubling(Rank n, Slice data, Kind kind)
      : n_(n),
        data_(data),
        halves_(kind != Kind::kWhole),
        nearest_first_(kind == Kind::kNearestFirst),
        levels_(static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(n))) - 1),
        folded_(n - (1 << levels_)) {}

  Rank ranks() const override { return n_; }
  std::int32_t steps(Rank rank) const override {
    if (rank >= 2 * folded_) return core_steps();
    return rank % 2 == 0 ? 2 : core_steps() + 2;
  }

  Op op(Rank rank, std::int32_t step) const override {
    if (rank < 2 * folded_) {
      const bool waits = rank % 2 == 0;
      const Rank partner = waits ? rank + 1 : rank - 1;
      const std::int32_t last = waits ? 1 : core_steps() + 1;
      const std::int32_t partners_last = waits ? core_steps() + 1 : 1;
      if (step == 0 || step == last) {
        const bool sends = waits == (step == 0);
        const Side side{
            .first = partner, .count = 1, .step = step == 0 ? 0 : partners_last, .slice = data_};
        return sends ? Op{.send = side} : Op{.recv = side, .reduce = step == 0};
      }
      return core(rank / 2, step - 1);
    }
    return core(rank - folded_, step);
  }

  double messages() const override {
    return 2.0 * folded_ + static_cast<double>(n_ - folded_) * core_steps();
  }

  std::optional<Rounds> rounds() const override {
    Rounds rounds;
    if (folded_ > 0) rounds.push_back({1, data_.bytes, data_.bytes});
    if (!halves_) rounds.push_back({levels_, data_.bytes, data_.bytes});
    // Core rank 0 keeps the first parts, which are the longest, in every round.
    for (std::int32_t k = 0; halves_ && k < 2 * levels_; ++k) {
      const Rank width = 1 << (k < levels_ ? levels_ - 1 - k : k - levels_);
      const std::int64_t bytes = parts_of(data_, 0, width, 1 << levels_).bytes;
      rounds.push_back({1, bytes, k < levels_ ? bytes : 0});
    }
    if (folded_ > 0) rounds.push_back({1, data_.bytes, 0});
    return rounds;
  }

 private:
  std::int32_t core_steps() const { return halves_ ? 2 * levels_ : levels_; }
  /// The rank that has number `core` among the 2^k.
  Rank rank_of(Rank core) const { return core < folded_ ? 2 * core + 1 : core + folded_; }

  /// The part of the slice whose sum a core rank has when all is halved: with the nearest first,
  /// its number read from the other end.
  Rank part_of_core(Rank core) const {
    if (!nearest_first_) return core;
    Rank part = 0;
    for (std::int32_t bit = 0; bit < levels_; ++bit)
      part |= (core >> bit & 1) << (levels_ - 1 - bit);
    return part;
  }

  Op core(Rank core, std::int32_t step) const {
    // Halving starts with half of all parts, doubling ends with it.
    const bool reduces = !halves_ || step < levels_;
    const std::int32_t bit = !halves_ ? step : (reduces ? levels_ - 1 - step : step - levels_);
    const Rank partner = core ^ (1 << (nearest_first_ ? levels_ - 1 - bit : bit));
    Op op{.reduce = reduces};
    op.send = {.first = rank_of(partner),
               .count = 1,
               .step = step + (partner < folded_ ? 1 : 0),
               .slice = data_};
    op.recv = op.send;
    if (halves_) {
      const auto block = [&](Rank of) {
        const Rank width = 1 << bit;
        const Rank part = part_of_core(of);
        return parts_of(data_, part - part % width, width, 1 << levels_);
      };
      op.send.slice = block(reduces ? partner : core);
      op.recv.slice = block(reduces ? core : partner);
    }
    return op;
  }

  Rank n_;
  Slice data_;
  bool halves_;
  bool nearest_first_;
  std::int32_t levels_;  ///< floor(log2 n)
  Rank folded_;          ///< n - 2^levels
};

}  // namespace

std::unique_ptr<Program> recursive_doubling(Rank n, Slice data) {
  return std::make_unique<Doubling>(n, data, Doubling::Kind::kWhole);
}
std::unique_ptr<Program> halving_doubling(Rank n, Slice data, bool nearest_first) {
  return std::make_unique<Doubling>(
      n, data, nearest_first ? Doubling::Kind::kNearestFirst : Doubling::Kind::kFarthestFirst);
}

}  // namespace steptime
