// Runs of an experiment in a framework's engine: of an embedding's main threads, or of a kvstore's
// merge.
#pragma once
#include "sim/core/limits.h"
#include "sim/events/timeline.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/training_run.h"
#include "sim/mxnet/embedding.h"
#include "sim/step/step.h"

#include <memory>
#include <span>
#include <vector>

namespace steptime {

/// Whether the experiment is played in one.
bool plays_in_engine(const Experiment& experiment);

/// One run per seed. `timeline` may be null; it shows the run of the first one.
std::vector<EmbeddedStep> run_in_engine(const Experiment& experiment, const StepPlan& plan,
                                        std::span<const GradientUnit> units, Timeline* timeline,
                                        const OnProgress& on_progress);

/// What is learnt in these, where the experiment says what: the accuracy over steps of all-reduces
/// with the same seeds, each step at its end. Their fingerprints get what was learnt.
std::shared_ptr<const TrainingOutcome> learn(const Experiment& experiment,
                                             std::span<EmbeddedStep> runs);

}  // namespace steptime
