#include "sim/layouts/known_times.h"

#include <utility>

namespace steptime {

Duration KnownTimes::time(Bytes m) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = times_.find(m.count); known != times_.end()) return known->second;
  const Duration time = of_->time(m);
  if (times_.size() < kMost) times_.emplace(m.count, time);
  return time;
}

std::vector<Stage> KnownTimes::stages(Bytes m) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = stages_.find(m.count); known != stages_.end()) return known->second;
  std::vector<Stage> stages = of_->stages(m);
  if (stages_.size() < kMost) stages_.emplace(m.count, stages);
  return stages;
}

Duration KnownTimes::startup() const {
  const std::lock_guard lock(mutex_);
  if (!startup_) startup_ = of_->startup();
  return *startup_;
}

}  // namespace steptime
