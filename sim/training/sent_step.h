// What client 0 sent in a step in which it exchanges, as a result tells it.
#pragma once
#include "sim/core/units.h"
#include "sim/training/plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

class SentStep {
 public:
  explicit SentStep(std::size_t buckets) : now_{.ends = std::vector<Duration>(buckets)} {}

  /// Client 0 begins another step at `start`.
  void begin(Time start) {
    start_ = start;
    now_.sent.clear();
    now_.ends.assign(now_.ends.size(), {});
  }
  /// An all-reduce of these buckets, which were ready at `ready`, began at `start` and is over.
  void sent(std::span<const std::int32_t> buckets, Time ready, Time start) {
    if (stays_) return;
    now_.sent.push_back({{buckets.begin(), buckets.end()}, ready - start_, start - start_, {}});
  }
  /// A bucket is back at `end`.
  void arrived(std::size_t bucket, Time end) { now_.ends[bucket] = end - start_; }
  /// The step is over: it is told unless another one is that exchanges more, or is to stay.
  void over(bool exchanges) {
    if (stays_ || (exchanged_ && !exchanges)) return;
    told_ = now_;
    exchanged_ = exchanges;
  }
  /// No other step is told from now on, if there is one that exchanges.
  void stay() { stays_ = exchanged_; }

  /// Each bucket by itself where no client adds anything up.
  std::vector<TrainingTimes::Sent> messages() const {
    std::vector<TrainingTimes::Sent> messages = told_.sent;
    for (std::size_t b = 0; told_.sent.empty() && b < told_.ends.size(); ++b)
      messages.push_back({{static_cast<std::int32_t>(b)}});
    for (TrainingTimes::Sent& message : messages) {
      for (const std::int32_t bucket : message.buckets)
        message.end = std::max(message.end, told_.ends[static_cast<std::size_t>(bucket)]);
    }
    return messages;
  }

 private:
  struct Step {
    std::vector<TrainingTimes::Sent> sent{};
    std::vector<Duration> ends;  ///< by bucket: when it was back
  };
  Time start_{};
  Step now_;
  Step told_{};
  bool exchanged_ = false;  ///< in the step that is told
  bool stays_ = false;
};

}  // namespace steptime
