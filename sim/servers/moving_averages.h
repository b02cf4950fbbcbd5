// What a sharding of tensors (sim/servers/sharding.h) may have besides: places for the two moving
// averages of a batch normalisation, as keys behind its tensors. They have no gradients, but take a
// turn, or a server's room.
#pragma once
#include "sim/config/config.h"

namespace steptime {

class MovingAverages {
 public:
  explicit MovingAverages(bool have_places) : have_places_(have_places) {}
  virtual ~MovingAverages() = default;
  bool have_places() const { return have_places_; }

  /// The parameter that says so.
  static Param param() {
    return {.key = kKey,
            .kind = Kind::kBoolean,
            .help = "those of batch normalisations have places, as in TensorFlow",
            .need = Need::kDefault,
            .fallback = false};
  }
  static constexpr const char* kKey = "moving_averages";

 private:
  bool have_places_;
};

}  // namespace steptime
