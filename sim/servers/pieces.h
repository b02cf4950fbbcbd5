// What parameter servers hold: the part of every bucket that each of them has.
#pragma once
#include "sim/core/units.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace steptime {

/// A part [begin, end) of the parameters that are learnt.
struct ParameterRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The part of a bucket that one server holds.
struct Piece {
  std::int32_t server = 0;
  Bytes bytes;
  std::vector<ParameterRange> ranges;  ///< the learnt parameters that the piece stands for
};
using Pieces = std::vector<std::vector<Piece>>;  ///< the pieces of every bucket

}  // namespace steptime
