// What makes the samples of one step ready after those of the step before, as far ahead as it can.
// A main thread that asks for a batch which is not ready yet waits for it.
#pragma once
#include "sim/core/units.h"

#include <cstdint>

namespace steptime {

class InputPipeline {
 public:
  /// `each`: how long it takes for a step, counted from 0; 0: it never holds one up.
  explicit InputPipeline(Duration each = {}) : each_(each) {}

  Duration each() const { return each_; }
  Time ready(std::int64_t step) const { return base_ + (step - from_) * each_; }
  /// Whether it has been ahead so far, which steps of this length use up in the end.
  bool is_overtaken(Duration step) const { return step < each_ && from_ == 0; }
  /// That is used up in a step which has begun now.
  void use_up(std::int64_t step, Time now) {
    from_ = step;
    base_ = now;
  }

 private:
  Duration each_;
  std::int64_t from_ = 0;
  Time base_{};
};

}  // namespace steptime
