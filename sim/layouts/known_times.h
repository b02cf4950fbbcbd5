// A collective that remembers what it was asked: a layout's ranks exchange the same few sizes over
// and over, and what a library chooses for a size takes long to find.
#pragma once
#include "sim/collective/collective.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

class KnownTimes final : public Collective {
 public:
  explicit KnownTimes(std::shared_ptr<const Collective> of) : of_(std::move(of)) {}

  // Remembered, for any thread.
  Duration time(Bytes m) const override;
  std::vector<Stage> stages(Bytes m) const override;
  Duration startup() const override;

  std::optional<LinearCost> linear() const override { return of_->linear(); }
  std::string outside_domain(Bytes m) const override { return of_->outside_domain(m); }
  std::string choice(Bytes m) const override { return of_->choice(m); }
  std::int64_t thread_blocks(Bytes m) const override { return of_->thread_blocks(m); }
  std::optional<ErrorBound> error_bound() const override { return of_->error_bound(); }
  std::shared_ptr<const Collective> at(IntervalEnd end) const override { return of_->at(end); }
  Programs programs(Bytes m) const override { return of_->programs(m); }
  Operation operation() const override { return of_->operation(); }

 private:
  /// Of each table; who asks for more sizes has them found anew.
  static constexpr std::size_t kMost = 1024;

  std::shared_ptr<const Collective> of_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Duration> times_;
  mutable std::map<std::int64_t, std::vector<Stage>> stages_;
  mutable std::optional<Duration> startup_;
};

}  // namespace steptime
