#include "sim/step/schedule.h"

#include <string>

namespace steptime {

Param granularity_param() {
  return {.key = "granularity",
          .kind = Kind::kText,
          .help = "\"layer\": a layer's tensors travel together, as in Caffe",
          .need = Need::kDefault,
          .fallback = "tensor",
          .words = {"tensor", "layer"}};
}

Granularity read_granularity(const Config& config) {
  return config.get<std::string>("granularity") == "layer" ? Granularity::kLayer
                                                           : Granularity::kTensor;
}

}  // namespace steptime
