// Why ranks do not go on: the cycle in who waits for whom.
#pragma once
#include "sim/mxnet/communicators.h"
#include "sim/mxnet/mpi_rank.h"
#include "sim/mxnet/training_graph.h"

#include <memory>
#include <span>
#include <string>

namespace steptime {

/// One line: the collectives that ranks called in different orders, and a shortest cycle of waits,
/// naming ranks, tensors and calls. `now`: since when nothing happens.
std::string describe_deadlock(const Communicators& world,
                              std::span<const std::unique_ptr<MpiRank>> workers, Time now);

}  // namespace steptime
