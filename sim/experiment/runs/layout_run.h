// Experiments with a layout: its ranks' programs, and the figures that follow from them.
#pragma once
#include "sim/experiment/runs/execution.h"

namespace steptime {

class LayoutPrograms final : public Execution {
 public:
  void check(const Experiment& e, const DocumentOf& document) const override;
  Result run(const Experiment& e, const Wanted& wanted) const override;
  const Collective* measured(const Experiment& /*e*/) const override { return nullptr; }
  void tell(Prediction& prediction) const override;
};

}  // namespace steptime
