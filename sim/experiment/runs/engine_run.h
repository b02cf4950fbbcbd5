// Steps in the engine of a framework, run after run: of the main threads of ranks, or of a
// kvstore's one process.
#pragma once
#include "sim/experiment/runs/execution.h"
#include "sim/experiment/runs/planned_step.h"
#include "sim/mxnet/embedding.h"

#include <cstdint>
#include <vector>

namespace steptime {

class EngineRun : public Execution {
 public:
  void check(const Experiment& e, const DocumentOf& document) const override;
  Result run(const Experiment& e, const Wanted& wanted) const override;

 protected:
  /// The run of one of the seeds.
  struct Seed {
    std::int64_t seed = 1;
    Timeline* timeline = nullptr;
    bool attributes = false;  ///< the step's causes are asked for
    OnProgress on_progress{};
  };

 private:
  /// Throws InputError, through "strategy", for what this engine does not play.
  virtual void check_strategy(const Config& strategy, const Experiment& e) const = 0;
  virtual PlannedStep plan(const Experiment& e, const Wanted& wanted) const = 0;
  virtual EmbeddedStep play(const Experiment& e, const PlannedStep& step,
                            const Seed& seed) const = 0;
  virtual std::vector<LinkUse> links(const Experiment& e, const PlannedStep& step,
                                     const EmbeddedStep& played) const = 0;
};

}  // namespace steptime
