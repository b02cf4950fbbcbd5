// An embedding's main threads, one of every rank, in the engine of their framework.
#pragma once
#include "sim/experiment/runs/engine_run.h"

namespace steptime {

class RankRun : public EngineRun {
 public:
  void run_for_real(RealSteps& steps) const override { steps.of_engine(); }

 protected:
  PlannedStep plan(const Experiment& e, const Wanted& wanted) const override;

 private:
  void check_strategy(const Config& strategy, const Experiment& e) const override;
  void check_servers(const Config& strategy, const Experiment& e) const;
  EmbeddedStep play(const Experiment& e, const PlannedStep& step, const Seed& seed) const override;
  std::vector<LinkUse> links(const Experiment& e, const PlannedStep& step,
                             const EmbeddedStep& played) const override;
};

/// The same of clients of servers that do not wait for each other: times of its results are means
/// over clients and steps.
class ClientRun final : public RankRun {
 public:
  Result run(const Experiment& e, const Wanted& wanted) const override;
};

}  // namespace steptime
