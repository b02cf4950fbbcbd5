// What a rank's memory holds while a step runs, by what it is for, and its peak.
#pragma once
#include "sim/core/error.h"
#include "sim/core/units.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

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

/// Its peak is the most that is held from one instant to a later one: what is released at an
/// instant has room for what is acquired at it, in whatever order the two are said.
class RankMemory {
 public:
  using Parts = std::array<std::int64_t, kHeldFor>;
  struct Peak {
    std::int64_t bytes = 0;
    Parts parts{};
    Time since{};
  };

  /// Hears what is held from one instant to a later one, once that is over.
  void tell(std::function<void(std::int64_t bytes, Time since)> listener) {
    listener_ = std::move(listener);
  }
  /// The step is over.
  void end() {
    if (listener_) listener_(total_, since_);
  }

  void acquire(HeldFor what, Bytes bytes, Time now) {
    if (bytes.count == 0) return;
    reach(now);
    held_[static_cast<std::size_t>(what)] += bytes.count;
    total_ += bytes.count;
  }
  void release(HeldFor what, Bytes bytes, Time now) {
    if (bytes.count == 0) return;
    reach(now);
    std::int64_t& held = held_[static_cast<std::size_t>(what)];
    held -= bytes.count;
    total_ -= bytes.count;
    STEPTIME_CHECK(held >= 0, "what is released of a memory was held");
  }
  /// What is negative is released.
  void add(const Parts& parts, Time now) {
    for (std::size_t what = 0; what < kHeldFor; ++what) {
      if (parts[what] > 0) acquire(static_cast<HeldFor>(what), {parts[what]}, now);
      if (parts[what] < 0) release(static_cast<HeldFor>(what), {-parts[what]}, now);
    }
  }
  const Parts& held() const { return held_; }
  std::int64_t total() const { return total_; }
  Peak peak() const { return total_ > peak_.bytes ? Peak{total_, held_, since_} : peak_; }

 private:
  void reach(Time now) {
    if (now == since_) return;
    if (total_ > peak_.bytes) peak_ = {total_, held_, since_};
    end();
    since_ = now;
  }

  Parts held_{};
  std::int64_t total_ = 0;
  Time since_{};  ///< when it last changed
  Peak peak_{};   ///< up to then
  std::function<void(std::int64_t bytes, Time since)> listener_;
};

}  // namespace steptime
