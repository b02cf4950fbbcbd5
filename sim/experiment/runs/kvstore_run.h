// The processes of nodes whose kvstore merges keys by operations of an engine: one of one node, or
// many that meet at servers (sim/mxnet/module_step.h).
#pragma once
#include "sim/experiment/runs/engine_run.h"

namespace steptime {

/// Throws InputError, through `strategy`, for what no kvstore has, with servers or without.
void check_kvstore(const Config& strategy, const Experiment& e);

class KvstoreRun : public EngineRun {
 public:
  void check(const Experiment& e, const DocumentOf& document) const override;

 protected:
  PlannedStep plan(const Experiment& e, const Wanted& wanted) const override;

 private:
  void check_strategy(const Config& strategy, const Experiment& e) const override;
  EmbeddedStep play(const Experiment& e, const PlannedStep& step, const Seed& seed) const override;
  std::vector<LinkUse> links(const Experiment&, const PlannedStep&,
                             const EmbeddedStep& played) const override {
    return played.links;
  }
};

/// The same of nodes that do not wait for each other at servers: times of its results are means
/// over nodes and steps.
class NodeRun final : public KvstoreRun {
 public:
  Result run(const Experiment& e, const Wanted& wanted) const override;
};

}  // namespace steptime
