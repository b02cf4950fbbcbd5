// What client 0 sent in the first step in which it exchanges, as a result tells it.
#pragma once
#include "sim/core/units.h"
#include "sim/servers/sender.h"
#include "sim/servers/training.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace steptime {

class FirstStep {
 public:
  /// `layers_wait`: the last of its buckets come in the next step, and it is the run's first.
  FirstStep(std::size_t buckets, bool layers_wait) : layers_wait_(layers_wait), ends_(buckets) {}

  /// An all-reduce of `sender` is over in the step that began at `start`, the first one or not.
  void sent(const Sender::Message& message, const Sender& sender, Time start, bool is_first) {
    if (layers_wait_ ? sent_ == ends_.size() : !is_first) return;
    sent_ += message.list.size();
    const Time origin = layers_wait_ ? Time{} : start;
    Time ready{};
    for (const std::int32_t bucket : message.buckets())
      ready = std::max(ready, sender.ready(static_cast<std::size_t>(bucket)));
    messages_.push_back({{message.list.begin(), message.list.end()},
                         ready - origin,
                         message.start.time - origin,
                         {}});
  }
  /// A bucket is back at `end`.
  void arrived(std::size_t bucket, Time end, Time start, bool is_first) {
    if (layers_wait_ ? arrived_ == ends_.size() : !is_first) return;
    ++arrived_;
    ends_[bucket] = end - (layers_wait_ ? Time{} : start);
  }
  /// Each bucket by itself where no client adds anything up.
  std::vector<TrainingTimes::Sent> messages() {
    for (std::size_t b = 0; sent_ == 0 && b < ends_.size(); ++b)
      messages_.push_back({{static_cast<std::int32_t>(b)}});
    for (TrainingTimes::Sent& message : messages_) {
      for (const std::int32_t bucket : message.buckets)
        message.end = std::max(message.end, ends_[static_cast<std::size_t>(bucket)]);
    }
    return std::move(messages_);
  }

 private:
  bool layers_wait_;
  std::vector<Duration> ends_;  ///< by bucket: when it was back
  std::size_t sent_ = 0;        ///< buckets
  std::size_t arrived_ = 0;
  std::vector<TrainingTimes::Sent> messages_;
};

}  // namespace steptime
