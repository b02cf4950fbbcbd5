// What a rank's main thread does in a step, whatever its order, its states and its exchanges.
//
// Source: Megatron-LM megatron/core/pipeline_parallel/schedules.py (forward_step, backward_step and
// the three functions forward_backward_*, which differ in the order of the passes), and
// megatron/training/training.py train_step (sums of gradients, norm, optimizer).
#pragma once
#include "sim/layouts/stage_rank.h"
#include "sim/runtime/world.h"

namespace steptime {

Task trains_a_step(StageRank& me);

}  // namespace steptime
