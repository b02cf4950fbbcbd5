// The parameter of shardings by which the moving averages of batch normalisations have places.
#pragma once
#include "sim/config/config.h"

namespace steptime {

inline constexpr const char* kMovingAverages = "moving_averages";

inline Param moving_averages_param() {
  return {.key = kMovingAverages,
          .kind = Kind::kBoolean,
          .help = "those of batch normalisations have places, as in TensorFlow",
          .need = Need::kDefault,
          .fallback = false};
}

}  // namespace steptime
