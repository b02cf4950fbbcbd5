// Which layers a backward pass computes again instead of keeping what it needs of them. Implemented
// in schedulers/recomputation/, one file each.
#pragma once
#include "sim/config/registry.h"

#include <cstdint>

namespace steptime {

enum class Recomputed : std::uint8_t {
  kNothing,
  kAttention,  ///< scores, softmax and their sums of values
  kOperators,  ///< all but attention and every second product
  kLayer,      ///< all, from its input
};

class Recomputation {
 public:
  static constexpr const char* kNoun = "recompute";
  virtual ~Recomputation() = default;
  /// Of a layer of the model, counted from 0 without embedding and loss.
  virtual Recomputed of(std::int64_t layer) const = 0;
  /// The highest number of a layer that it names; -1: it names none.
  virtual std::int64_t highest() const { return -1; }
};
using Recomputations = Registry<Recomputation>;

}  // namespace steptime
