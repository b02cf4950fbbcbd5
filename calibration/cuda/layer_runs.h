// A layer table's layers on a GPU, by cuDNN and cuBLAS.
#pragma once
#include "calibration/compute.h"

#include <memory>
#include <string>

namespace steptime {

/// On GPU 0. The layers share their memory, as their values do not count, so that any batch fits
/// whose largest layer does. Precisions: float32 (no TF32), tf32, and with channels last float16
/// and bfloat16. Throws MissingError without a GPU, InputError for another precision.
std::unique_ptr<ComputeBackend> make_cudnn_backend(const std::string& precision);

}  // namespace steptime
