// Workers that need not move in step: the programs of a strategy's workers, played for every seed.
#pragma once
#include "sim/experiment/runs/execution.h"

namespace steptime {

/// Times of its results are means over clients and steps.
class TrainingPrograms final : public Execution {
 public:
  void check(const Experiment& e, const DocumentOf& document) const override;
  void check_training(const Experiment& e) const override;
  Result run(const Experiment& e, const Wanted& wanted) const override;
};

}  // namespace steptime
