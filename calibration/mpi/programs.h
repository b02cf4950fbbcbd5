// The verbs of steptime-mpi: every rank runs them, rank 0 speaks.
#pragma once
#include "calibration/mpi/world.h"
#include "sim/command/cli.h"
#include "sim/core/error.h"

#include <span>
#include <string>

namespace steptime {

/// `steptime calibrate mpi`: measures the ranks and their links.
Exit calibrate(const MpiProcesses& world, std::span<const std::string> args,
               const Terminal& terminal);
/// `steptime replay CONFIG`: predicts, runs for real, compares.
Exit replay(const MpiProcesses& world, std::span<const std::string> args, const Terminal& terminal);
/// `steptime sweep CONFIG` under mpirun: the ranks share the points.
Exit sweep(const MpiProcesses& world, std::span<const std::string> args, const Terminal& terminal);

}  // namespace steptime
