// What a rank's memory holds while a step runs, by what it is for, and its peak.
#pragma once
#include "sim/core/error.h"
#include "sim/core/units.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace steptime {

enum class HeldFor : std::uint8_t {
  kWeights,
  kGradients,
  kOptimizer,
  kActivations,
  kLogits,
  kGathered,  ///< weights of other ranks
  kBuffers,   ///< what has come from other stages, and is not used yet
  kContext
};
inline constexpr std::size_t kHeldFor = 8;
inline constexpr std::array<std::string_view, kHeldFor> kNamesOfHeld{
    "weights", "gradients", "optimizer", "activations", "logits", "gathered", "buffers", "context"};

class RankMemory {
 public:
  using Parts = std::array<std::int64_t, kHeldFor>;

  void acquire(HeldFor what, Bytes bytes, Time now) {
    held_[static_cast<std::size_t>(what)] += bytes.count;
    total_ += bytes.count;
    if (total_ <= peak_) return;
    peak_ = total_;
    at_peak_ = held_;
    peak_at_ = now;
  }
  void release(HeldFor what, Bytes bytes) {
    std::int64_t& held = held_[static_cast<std::size_t>(what)];
    held -= bytes.count;
    total_ -= bytes.count;
    STEPTIME_CHECK(held >= 0, "what is released of a memory was held");
  }
  const Parts& held() const { return held_; }
  std::int64_t total() const { return total_; }
  std::int64_t peak() const { return peak_; }
  const Parts& at_peak() const { return at_peak_; }
  Time peak_at() const { return peak_at_; }

 private:
  Parts held_{};
  Parts at_peak_{};
  std::int64_t total_ = 0;
  std::int64_t peak_ = 0;
  Time peak_at_{};
};

}  // namespace steptime
