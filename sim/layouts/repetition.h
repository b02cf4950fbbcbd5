// A step of many micro-batches repeats itself: once all ranks of a pipeline do what they did a
// period before, at the same distances in time, they do so until the order of passes changes, and
// the periods up to there need not be played.
//
// A period is a number of micro-batches behind which every rank's order goes on as before, or some
// of these: a pipeline that waits for what it sends may go through as many unlike ones in turn as
// it has ranks. What ranks do depends on how far all are and on what is under way, never on the
// time itself. So three periods that are alike, to the picosecond, in the begin of every pass and
// in the begin and the end of every exchange, with nothing under way and no link shared for longer,
// are followed by others that are alike. Periods that are left out count in all figures as the last
// one that was played; what that one has added to the memory, or taken from it, each of them does.
// An order that goes through all forward passes first, as GPipe's, is looked at behind them: before
// that each rank goes ahead at its own pace.
#pragma once
#include "sim/core/units.h"
#include "sim/layouts/layout_times.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/rank_memory.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace steptime {

class Repetition {
 public:
  /// What has been counted up to an instant.
  struct Count {
    Time at;
    Time shared_since;              ///< the earliest from which on a link is shared without a pause
    std::vector<StageTimes> ranks;  ///< one entry for each place of the pipeline
    std::vector<double> carried;    ///< over each link that exchanges share, ps
    // Filled in here.
    std::vector<std::int64_t> next{};   ///< pass of each place
    std::vector<std::int64_t> calls{};  ///< calls on each line so far
  };

  /// `order`: the passes of each place. All must outlive it. `looks`: periods may be left out.
  Repetition(const World& world, const LayoutPlan& plan,
             const std::vector<std::vector<Pass>>& order, bool looks);
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;
  /// To be set before the first pass, where it looks. `holds` hears what periods that are left out
  /// add to the memory of a place.
  void count_by(std::function<Count()> count,
                std::function<void(std::size_t place, const RankMemory::Parts&)> holds) {
    count_ = std::move(count);
    holds_ = std::move(holds);
  }
  bool looks() const { return looks_; }

  // The step without what is left out, whose micro-batches have numbers without a gap.
  std::int32_t micro_batches() const { return micro_batches_; }
  std::int64_t passes(std::int32_t place) const {
    const Played& played = played_[static_cast<std::size_t>(place)];
    return std::ssize(orders_[static_cast<std::size_t>(place)].all) - played.left_out;
  }
  Pass pass(std::int32_t place, std::int64_t k) const;

  // What happens, where it looks.
  /// The place's k-th pass is next.
  void begins(std::int32_t place, std::int64_t k);
  /// The place has counted time that has gone by: at the instant at which a period ends, that may
  /// be before the end or behind it.
  void counts(std::int32_t place) {
    if (looks_) note(static_cast<std::size_t>(place), kCounts);
  }
  /// Exchanges of one kind.
  class Line final : public Group::Watch {
   public:
    void called() {
      if (of_ != nullptr) of_->call(*this);
    }
    void ended(std::int64_t = 0, Bytes = {}, Time = {}) override {
      if (of_ != nullptr) of_->end(*this);
    }

   private:
    friend class Repetition;
    Repetition* of_ = nullptr;  ///< null: it does not look
    std::size_t place_ = 0;
    std::uint64_t number_ = 0;
    std::int64_t calls_ = 0;
    std::int64_t ends_ = 0;
  };
  /// A new one of the place.
  Line& line(std::int32_t place);

  // When the step is over.
  /// Periods.
  std::int64_t left_out() const { return periods_; }
  /// Adds what was left out.
  void complete(StageTimes& times, std::int32_t place) const;
  void complete(std::vector<double>& carried) const;

 private:
  /// Of a place.
  struct Order {
    std::span<const Pass> all;
    std::int64_t period = 0;  ///< passes
    std::int64_t begin = 0;   ///< the first pass that comes again a period later
    std::int64_t end = 0;     ///< behind the last pass that comes again, and one period further
  };
  struct Played {
    std::int64_t next = 0;         ///< pass
    std::int64_t next_before = 0;  ///< at the end of the period before
    mutable std::int64_t looked_at = 0;
    std::uint64_t hash = 0;          ///< hash over what has happened in this period
    std::int64_t left_out_from = 0;  ///< pass
    std::int64_t left_out = 0;       ///< passes
  };
  /// Beside the kinds of passes and the numbers of lines.
  static constexpr std::uint64_t kCounts = 0xff;
  bool have_periods(std::int32_t micro_batches);
  bool have_periods_at_the_end(std::int32_t micro_batches);
  bool has_enough(Order& order) const;
  bool comes_again(const Order& order, std::int64_t k) const;
  void note(std::size_t place, std::uint64_t what);
  void call(Line& line);
  void end(Line& line);
  void end_period();
  std::uint64_t signature() const;
  std::int64_t periods_left(std::int64_t length) const;
  void leave_out(std::int64_t length, const Count& from, const Count& to);

  const World& world_;
  std::int32_t micro_batches_;
  bool looks_;
  std::vector<Order> orders_;
  std::int32_t in_period_ = 0;  ///< micro-batches
  std::vector<Played> played_;
  std::deque<Line> lines_;
  std::function<Count()> count_;
  std::function<void(std::size_t, const RankMemory::Parts&)> holds_;
  Time since_{};                           ///< the end of the period before
  std::vector<std::uint64_t> signatures_;  ///< signatures of the latest periods that have ended
  /// By how many of the order's periods may be one of the step.
  struct Length {
    std::int64_t alike = 0;  ///< so many of the last periods were as those so many before
    Count count;             ///< at the last multiple of that
  };
  std::vector<Length> lengths_;
  std::int64_t periods_ = 0;  ///< left out
  Time left_out_at_{};
  Duration length_{};  ///< how long each period takes
  Count each_;         ///< what each period adds to the counts
};

}  // namespace steptime
