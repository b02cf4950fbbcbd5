// The work of a transformer on one rank: see models/transformer_work.cpp.
#pragma once
#include "models/device.h"
#include "models/roofline.h"
#include "models/transformer.h"
#include "sim/workload/model_work.h"

#include <cstdint>

namespace steptime {

/// A micro-batch of a replica.
struct MicroBatch {
  std::int64_t samples = 1;
  std::int64_t sequence = 1;  ///< tokens of a sample
};

/// `cut` must divide the shape. Throws std::overflow_error when a layer takes longer than any trace
/// may.
ModelWork transformer_work(const TransformerShape& shape, const MicroBatch& batch,
                           const ModelCut& cut, const Device& device, const Training& training);

}  // namespace steptime
