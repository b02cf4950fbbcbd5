// A layer table's layers on a GPU, by cuDNN and cuBLAS.
#pragma once
#include "calibration/compute.h"

#include <memory>

namespace steptime {

/// On GPU 0. The layers share their memory, as their values do not count, so that any batch fits
/// whose largest layer does. Throws MissingError without a GPU.
std::unique_ptr<Backend> make_cudnn_backend();

}  // namespace steptime
