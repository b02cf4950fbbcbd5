// How the steps of an experiment are run: by which programs of its strategy, or by what says the
// same faster. An experiment has one, chosen once, when its parts are complete (execution_of.h);
// whoever checks, simulates or draws it calls that and asks nothing.
#pragma once
#include "sim/core/limits.h"
#include "sim/events/timeline.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/track_record.h"

#include <functional>
#include <memory>
#include <vector>

namespace steptime {

/// What is asked of a run beside its figures.
struct Wanted {
  Timeline* timeline = nullptr;  ///< gets every step, up to where it fails; null: nothing is drawn
  /// Gets the buckets of a step in send order, of client 0's first one where clients need not move
  /// in step; the result then has its attribution and links, too. Null: neither.
  std::vector<SentBucket>* buckets = nullptr;
  OnProgress on_progress{};
};

/// Whoever runs the steps for real: a schedule's communication thread, or an engine's threads.
class RealSteps {
 public:
  virtual ~RealSteps() = default;
  virtual void of_schedule() = 0;
  virtual void of_engine() = 0;
};

class Execution {
 public:
  virtual ~Execution() = default;
  /// Throws InputError for parts that are right each but say nothing together. `document`: the
  /// experiment's, made only where somebody looks at it.
  using DocumentOf = std::function<std::shared_ptr<const Document>()>;
  virtual void check(const Experiment& e, const DocumentOf& document) const = 0;
  /// Throws what run() would throw before a training begins to be played; does nothing else.
  virtual void check_training(const Experiment& /*e*/) const {}
  /// All figures but what intervals of measured collectives change.
  virtual Result run(const Experiment& e, const Wanted& wanted) const = 0;
  /// Whose measured intervals a step's follows from; null: nobody's.
  virtual const Collective* measured(const Experiment& e) const { return e.collective.get(); }
  /// What of a prediction's kind its way of running decides.
  virtual void tell(Prediction& /*prediction*/) const {}
  /// Adds what links carry to a timeline that run() has drawn, where it is not there yet.
  virtual void draw_links(const Experiment& /*e*/, Timeline& /*timeline*/) const {}
  /// For experiments whose workers all-reduce in step.
  virtual void run_for_real(RealSteps& steps) const { steps.of_schedule(); }
};

}  // namespace steptime
