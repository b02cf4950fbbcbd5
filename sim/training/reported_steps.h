// Which steps of a run its figures are means of, when the run has played enough, and how long these
// steps took. A run starts cold: in its first step nothing of a step before is under way.
//
//   all        of runs whose steps begin with nothing under way, and of those that learn, whose
//              curves are absolute times
//   after two  where steps differ, as workers change their speed, in what servers have not seen yet
//              or in what a policy with a clock of its own decides: all but those up to the second
//              exchange. In the first one clients meet that never were apart; the second one finds
//              them as far apart as the servers have let them go
//   steady     where nothing differs: until three in a row take the same time; for an update that
//              exchanges every k steps, k steps as one. The last of them are reported. Two are not
//              enough: of random runs whose first two are equal, one in a hundred goes on to other
//              lengths. Without three by 64 steps, the second half of these
//
// A step's length is that from the last client's end of the step before to that of its own where
// clients wait for each other, else the mean over clients of each one's.
//
// Scope: clients that are ahead when the run has come to its steady state end the step that they
// have begun.
#pragma once
#include "sim/events/engine.h"
#include "sim/training/plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace steptime {

/// A sum over workers and steps, for which a Duration may be too short: it holds 106 days.
class SumOfTimes {
 public:
  void add(Duration time) { ps_ += time.count(); }
  void add(const SumOfTimes& other) { ps_ += other.ps_; }
  /// Of whole picoseconds: the mean of equal times is each of them.
  double mean_s(double of) const { return static_cast<double>(ps_) / of / 1e12; }

 private:
  __extension__ using Wide = __int128;
  Wide ps_ = 0;
};

/// As many steps of each client a run plays at least.
std::int64_t least_steps(const TrainingPlan& plan);

class ReportedSteps {
 public:
  /// As many steps in a row that take the same time are the steady state.
  static constexpr std::int64_t kSameInARow = 3;
  /// Both must outlive this.
  ReportedSteps(const TrainingPlan& plan, Engine& engine);

  /// Whether a client plays a step, counted from 0, which it then begins. Where another client has
  /// begun it, it does.
  bool wants(std::int64_t step) const {
    return step < played_ || step < begun_ ||
           (plan_.shared != nullptr && plan_.shared->any_trains());
  }
  /// Whether it is reported, or before one that is.
  bool is_reported(std::int64_t step) const { return step < played_; }
  void begun(std::int64_t step) { begun_ = std::max(begun_, step + 1); }
  /// Whether a step is one of those that sums over steps count.
  bool counts(std::int64_t step) const { return step >= first_ && is_reported(step); }
  /// A client has ended a step at `end`. `led`: what led to it, or to a later time. True: it is now
  /// known which steps are reported.
  bool ended(std::int32_t client, std::int64_t step, Time end, When led);

  // When the run is over:
  /// Steps that every client has played.
  std::int64_t played() const { return played_; }
  /// Of them, those that sums over steps count, from the first one.
  std::int64_t first() const { return first_; }
  double counted() const { return static_cast<double>(played_ - first_); }
  /// What all exchanges of the run make together over what they make in a reported step.
  double per_step() const;
  /// Of times by step, a reported one's. Those that lie behind the last step count where all do.
  SumOfTimes sum(const std::vector<SumOfTimes>& by_step) const;
  double reported() const { return static_cast<double>(reported_); }
  double step_s() const;
  /// Where clients have steps of their own, the mean of how many each one makes in a second.
  std::optional<double> rate_per_s() const;
  /// As many steps were played without three in a row that take the same time; 0: they settled, or
  /// were not to.
  std::int64_t unsettled() const {
    return plan_.reported == Kind::kSteady && same_ < kSameInARow ? last_ : 0;
  }
  /// Of the first exchange; none where all steps are reported.
  std::optional<double> cold_step_s() const;
  /// What led from the end of the last step before to that of the last one that is reported.
  std::vector<Cause> attribution(const Causes& causes) const;

 private:
  using Kind = TrainingPlan::Reported;
  /// When a client, or the last of all, has ended a step.
  struct End {
    Time time{};
    Held led{};
  };
  struct OfClient {
    Time cold{};
    Time before{};  ///< the end of the last step that is not reported
    End end{};
  };
  /// A step that some clients have ended.
  struct Open {
    std::size_t missing;
    End end{};
  };
  void keep(End& end, Time time, When led);
  bool is_over(const End& end);
  bool compare(std::int64_t steps);
  Time over_at(std::int64_t step) const {
    return step < 0 ? plan_.start : over_[static_cast<std::size_t>(step)];
  }

  const TrainingPlan& plan_;
  Engine& engine_;
  std::int64_t period_;
  std::int64_t reported_;
  std::int64_t first_ = 0;
  std::int64_t played_;
  std::int64_t begun_ = 0;         ///< by the client that is furthest
  bool together_;                  ///< clients wait for each other
  std::vector<OfClient> clients_;  ///< told of where they do not
  // Where they do:
  std::deque<Open> open_;  ///< steps behind those in over_, which some clients have ended
  std::vector<Time> over_;
  End end_{};              ///< the end of the last step that is reported
  Duration length_{};      ///< what the latest exchange took
  std::int64_t same_ = 0;  ///< exchanges in a row up to the present one that took as long
  std::int64_t last_ = 0;  ///< behind the reported steps, once it is known
};

}  // namespace steptime
