// Why a step takes as long as it does, and what would make it shorter: the experiment simulated
// again with each of its quantities a bit changed, with the limits of what could be gained, and on
// more and fewer nodes.
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"
#include "sim/core/limits.h"
#include "sim/core/units.h"
#include "sim/experiment/likely_causes.h"
#include "sim/experiment/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// By how many per cent a step gets longer when one quantity of the config grows by one per cent,
/// all else being equal: d ln(step) / d ln(quantity), from a run with 1 % more and one with 1 %
/// less. A schedule plans anew in each of them, unless the plan is held.
struct Elasticity {
  /// Where the quantity stands; "*" where all elements of a list change together.
  std::string pointer;
  std::string value;  ///< the value that the config has there
  double per_cent = 0;
};

/// What the step does with one per cent less and more of a quantity where it has no slope, as the
/// schedule plans other messages on a side, a library takes other rings, or something else turns.
struct Jump {
  std::string pointer;
  std::string value;
  double less_pct = 0;  ///< change of the step with 1 % less of the quantity
  double more_pct = 0;
  /// Messages in a step: with less of the quantity, as it is, and with more.
  std::int64_t messages[3]{};
  bool replans = false;  ///< the schedule's plan is another one on a side

  double size_pct() const;     ///< the change of the side that changes more
  std::string change() const;  ///< the numbers of messages, for people: "4, 4, 5"
};

/// A step in which something costs nothing.
struct StepLimit {
  std::string without;
  double step_time_s = 0;
};

/// The same experiment on another number of nodes.
struct ScalePoint {
  std::int64_t nodes = 1;
  double step_time_s = 0;
  double speedup = 0;
  double scaling_efficiency = 0;
  Interval step_time_interval_s{};  ///< as in a Result
};

/// A quantity or a limit that cannot be changed alone.
struct Fixed {
  std::string name;
  std::string why;  ///< what the change is refused with
};

struct Explanation {
  std::string name;
  Result result;
  std::vector<SentBucket> buckets;  ///< in send order
  std::vector<Elasticity>
      elasticities;                 ///< the strongest first; those that do nothing are left out
  std::vector<Jump> jumps;          ///< in no elasticity; the largest first
  std::vector<StepLimit> limits;    ///< what gains most first; only what gains something
  std::vector<ScalePoint> scaling;  ///< from 1 node to four times as many as asked for; not of jobs
  std::vector<Fixed> fixed;
  std::optional<MeasuredStep> measured{};  ///< where a measured time was given
  bool is_partial = false;                 ///< ended before all of it was found

  /// The number of nodes from which twice as many make less than half of the gain that they could:
  /// speedup grows by less than 1.5; 0 where no such number was tried.
  std::int64_t knee() const;
  /// Of the step, what its critical path passes with forward and backward pass at the workers'
  /// usual speed; of a layout, whose attribution is one rank's, all that this computes. Where
  /// nothing is attributed, forward and backward pass over the step.
  double compute_share() const;
  /// One sentence: what limits the step, and what it would take without that.
  std::string bottleneck() const;
  std::string text() const;
  Json json() const;

 private:
  std::string whole() const;
};

struct ExplainOptions {
  /// Messages are those that the schedule plans for the experiment as it is, whatever is changed.
  bool fixed_plan = false;
  std::optional<Duration> measured{};  ///< what a step really took
  /// What the listener throws to interrupt ends the search, not the explanation.
  bool keeps_partial = false;
};

/// `config`: an experiment; its sweep is not read. Progress is that of the whole, told from any
/// thread. Throws what simulate() throws for the experiment as it is.
Explanation explain(const std::shared_ptr<const Document>& config, const ExplainOptions& options,
                    const OnProgress& on_progress = {});
inline Explanation explain(const std::shared_ptr<const Document>& config,
                           const OnProgress& on_progress = {}) {
  return explain(config, ExplainOptions{}, on_progress);
}

}  // namespace steptime
