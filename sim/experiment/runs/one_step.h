// Workers that move alike, and steps that each begin as the first one did: what one of them takes,
// all take.
#pragma once
#include "sim/experiment/runs/execution.h"

namespace steptime {

/// Whether a step leaves nothing under way, and ends with the same values everywhere.
bool ends_as_it_began(const Experiment& e);
/// Whether, moreover, nothing differs between workers, and their collectives go one after another
/// in the order of the plan.
bool is_one_step(const Experiment& e);

class OneStep final : public Execution {
 public:
  void check(const Experiment& e, const DocumentOf& document) const override;
  Result run(const Experiment& e, const Wanted& wanted) const override;
  void draw_links(const Experiment& e, Timeline& timeline) const override;
};

}  // namespace steptime
