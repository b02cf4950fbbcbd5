// Several jobs on one network: what a step of each takes beside the others, and on the same nodes
// without them. The figures of a result are the first job's.
#pragma once
#include "sim/experiment/runs/execution.h"

namespace steptime {

/// Of the i-th job, from 0 on, all that is random is drawn with the run's seed plus i.
class JobsRun final : public Execution {
 public:
  void check(const Experiment& e, const DocumentOf& document) const override;
  void check_training(const Experiment& e) const override;
  Result run(const Experiment& e, const Wanted& wanted) const override;
};

}  // namespace steptime
