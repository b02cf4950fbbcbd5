// Steps that differ in nothing, with an input pipeline. It holds none of them up in the end where
// they take as long without it; but until then any number of steps may go by, in which what is
// behind falls back a little more. So they are played without it first.
#pragma once
#include "sim/mxnet/embedded_step.h"
#include "sim/step/step.h"

namespace steptime {

/// `play(plan, draws)` plays the plan's steps until they are steady, and draws them on demand.
template <class Play>
EmbeddedStep paced_step(const StepPlan& plan, bool draws, Play play) {
  if (plan.input == Duration{}) return play(plan, draws);
  StepPlan unpaced = plan;
  unpaced.input = {};
  EmbeddedStep step = play(unpaced, false);
  if (step.times.step < plan.input) return play(plan, draws);
  return draws ? play(unpaced, true) : step;
}

}  // namespace steptime
