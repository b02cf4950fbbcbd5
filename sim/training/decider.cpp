#include "sim/training/decider.h"

#include <utility>

namespace steptime {

Decider::Decider(World& world, Group& group, std::unique_ptr<Policy> policy,
                 std::span<const Bucket> buckets)
    : world_(world),
      group_(group),
      policy_(std::move(policy)),
      buckets_(buckets),
      timer_(world.engine.reason("coordinator waits for its time", "coordinator")),
      come_(buckets.size()) {}

void Decider::ready(std::int32_t bucket) {
  std::size_t& come = come_[static_cast<std::size_t>(bucket)];
  if (++come < group_.size()) return;
  come = 0;
  policy_->ready(bucket, world_.now());
  decide();
}

void Decider::arrived(std::span<const std::int32_t> buckets) {
  policy_->arrived(buckets, world_.now());
  decide();
}

void Decider::decide() {
  if (std::exchange(decides_, true)) return;
  world_.engine.at(world_.now(), Phase::kAgree, [this] {
    decides_ = false;
    ask();
  });
}

void Decider::ask() {
  for (auto next = policy_->next(world_.now()); !next.empty(); next = policy_->next(world_.now())) {
    Bytes bytes{};
    for (const std::int32_t bucket : next)
      bytes += buckets_[static_cast<std::size_t>(bucket)].bytes;
    sent_.push_back({std::move(next)});
    for (std::size_t member = 0; member < group_.size(); ++member)
      group_.launch(member, bytes);
  }
  const std::optional<Time> wake = policy_->wake();
  if (!wake || wake == wakes_) return;
  wakes_ = wake;
  world_.engine.at(world_.engine.until(world_.present(), *wake, timer_), Phase::kComplete, [this] {
    wakes_.reset();
    decide();
  });
}

std::vector<std::int32_t> Decider::take(std::int64_t call) {
  Sent& sent = sent_[static_cast<std::size_t>(call - first_)];
  std::vector<std::int32_t> buckets = std::move(sent.buckets);
  sent.is_over = true;
  for (; !sent_.empty() && sent_.front().is_over; ++first_)
    sent_.pop_front();
  return buckets;
}

}  // namespace steptime
