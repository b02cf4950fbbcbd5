// Why ranks do not go on: the cycle in who waits for whom.
#pragma once
#include "sim/mpi_world.h"
#include "sim/training_graph.h"
#include "sim/worker.h"

#include <memory>
#include <span>
#include <string>

namespace steptime {

/// One line: the collectives that ranks called in different orders, and a shortest cycle of waits,
/// naming ranks, tensors and calls. `now`: since when nothing happens.
std::string describe_deadlock(const MpiWorld& world, const TrainingGraph& graph,
                              std::span<const std::unique_ptr<Worker>> workers, Time now);

}  // namespace steptime
