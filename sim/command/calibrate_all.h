// `steptime calibrate all`: every measurement that this node can do, one after the other, and one
// profile of them.
#pragma once
#include "sim/command/cli.h"
#include "sim/core/error.h"

#include <cstdint>
#include <string>

namespace steptime {

struct AllRequest {
  std::string programs;    ///< folder of steptime; "": that of this program
  std::string profile;     ///< the file to write; traces of layers are written beside it
  std::int64_t ranks = 0;  ///< ranks that mpirun starts; 0: one per processor, at least two
  double seconds = 600;    ///< for all of it
  std::string model = "torch/resnet50";  ///< whose layers are timed
};

/// What cannot be measured here is left out, and its program says why. Throws MissingError when
/// nothing can.
Exit calibrate_all(const AllRequest& request, const Terminal& terminal);

}  // namespace steptime
