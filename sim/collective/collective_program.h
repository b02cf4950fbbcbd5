// A collective as what each rank does, step by step: a pure function of (rank, step), so that
// nothing is materialised and a run keeps one small state per rank. Implemented in netmodels/,
// beside the closed form of the same collective.
//
// Sends are synchronous: a transfer starts when its sender and its receiver have both come to the
// step that names it, and a step ends when all its messages are delivered and reduced. Where the
// receivers have buffers, a transfer starts when its sender has come to it. A slice of no bytes is
// a message like any other and costs its latency. A step without messages ends with its work.
#pragma once
#include "sim/core/units.h"
#include "sim/network/pairs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace steptime {

using Rank = std::int32_t;

/// A contiguous part of the data, in bytes.
struct Slice {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  bool operator==(const Slice&) const = default;
};

/// A slice cut into parts of floor(bytes / parts) bytes, the first bytes mod parts one byte longer,
/// as baidu-allreduce cuts its segments. The longest has ceil(bytes / parts).
struct Cut {
  constexpr Cut(Slice whole, std::int64_t parts)
      : offset(whole.offset), each(whole.bytes / parts), longer(whole.bytes % parts) {}
  constexpr Slice part(std::int64_t i) const {
    return {offset + i * each + (i < longer ? i : longer), each + (i < longer ? 1 : 0)};
  }
  std::int64_t offset;
  std::int64_t each;
  std::int64_t longer;
};
constexpr Slice part_of(Slice whole, std::int64_t i, std::int64_t parts) {
  return Cut(whole, parts).part(i);
}
/// Parts first to first + count - 1 of `parts`, which lie side by side.
constexpr Slice parts_of(Slice whole, std::int64_t first, std::int64_t count, std::int64_t parts) {
  const std::int64_t begin = part_of(whole, first, parts).offset;
  const std::int64_t end = first + count == parts ? whole.offset + whole.bytes
                                                  : part_of(whole, first + count, parts).offset;
  return {begin, end - begin};
}
/// The bytes of the largest part.
constexpr std::int64_t ceil_div(std::int64_t bytes, std::int64_t parts) {
  return (bytes + parts - 1) / parts;
}

/// The messages that a rank sends, or receives, in one step: `count` peers, `stride` apart.
struct Side {
  Rank first = 0;
  Rank count = 0;
  Rank stride = 1;
  std::int32_t step = 0;  ///< the peer's step in which it takes part in this message
  Slice slice;
  bool split = false;  ///< peer k gets part k of the slice instead of the whole

  Rank peer(Rank k) const { return first + k * stride; }
  Slice slice_of(Rank k) const { return split ? part_of(slice, k, count) : slice; }
};

/// One step of one rank. What arrives is added to the rank's data when `reduce` is set, or else
/// replaces it.
struct Op {
  Side send;
  Side recv;
  bool reduce = false;
  /// How many of the device's latest works may go on while the rank takes its next step; none after
  /// the last one.
  std::int32_t behind = 0;
  Duration work{};  ///< what the device does from the start of the step on, whatever arrives
};

/// `count` steps in a row that every rank takes at the same time, none of which shares a channel.
struct Round {
  std::int64_t count = 0;
  std::int64_t message = 0;  ///< bytes of the largest message of a step
  std::int64_t reduced = 0;  ///< bytes that its receiver adds up
  Pairs where = Pairs::kAny;
};
using Rounds = std::vector<Round>;

class Program {
 public:
  virtual ~Program() = default;
  virtual Rank ranks() const = 0;
  /// The number of steps that the rank takes.
  virtual std::int32_t steps(Rank rank) const = 0;
  /// Step `step` of `rank`, 0 <= step < steps(rank). A message is named by both of its ends, with
  /// the same slice.
  virtual Op op(Rank rank, std::int32_t step) const = 0;
  /// Every message has a buffer at its receiver, which reduces it when it comes to its step.
  virtual bool buffered() const { return false; }
  /// What adding up takes, where the collective and not the cluster says it.
  virtual std::optional<TimePerByte> reduction() const { return std::nullopt; }
  /// All ranks' messages together. A double, because it may exceed every integer.
  virtual double messages() const = 0;
  /// Set when ranks that start together stay in step on independent, equal links: the time is then
  /// the sum over the rounds.
  virtual std::optional<Rounds> rounds() const { return std::nullopt; }
};

/// What a collective does: programs that run side by side on the same ranks.
using Programs = std::vector<std::unique_ptr<Program>>;

/// Programs one after the other, each on a subset of the ranks: a rank goes on to the next as soon
/// as it has ended its part of the one before.
class Sequence final : public Program {
 public:
  /// Group g consists of the ranks g * group_stride + l * stride, l < the program's ranks; every
  /// group runs the program. With one group, other ranks do not take part.
  struct Stage {
    std::unique_ptr<Program> program;
    Rank groups = 1;
    Rank group_stride = 0;
    Rank stride = 1;
    Rank first = 0;  ///< added to every rank
    Pairs where = Pairs::kAny;
  };
  Sequence(Rank ranks, std::vector<Stage> stages);

  Rank ranks() const override { return ranks_; }
  std::int32_t steps(Rank rank) const override;
  Op op(Rank rank, std::int32_t step) const override;
  double messages() const override;
  std::optional<Rounds> rounds() const override;

 private:
  std::int32_t steps_before(Rank rank, std::size_t stage) const;

  Rank ranks_;
  std::vector<Stage> stages_;
};

}  // namespace steptime
