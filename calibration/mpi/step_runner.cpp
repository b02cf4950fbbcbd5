#include "calibration/mpi/step_runner.h"

#include "calibration/disturbance.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace steptime {
namespace {

Clock::duration real(Duration d) {
  return std::chrono::ceil<Clock::duration>(d);
}

void compute_until(Clock::time_point deadline, ComputeAs how) {
  if (how == ComputeAs::kSleep) return std::this_thread::sleep_until(deadline);
  static thread_local volatile double sum = 0;
  while (Clock::now() < deadline) {
    for (int i = 0; i < 1000; ++i)
      sum = sum + 1;
  }
}

}  // namespace

StepRunner::StepRunner(const MpiProcesses& world, AllReduce& all_reduce, const Schedule& schedule,
                       StepPlan plan, ComputeAs compute)
    : world_(world),
      all_reduce_(all_reduce),
      plan_(std::move(plan)),
      compute_(compute),
      policy_(schedule.policy(plan_.buckets)) {}

double StepRunner::run() {
  ready_ = 0;
  told_ = 0;
  world_.barrier();
  const auto start = Clock::now();
  std::thread communication([&] {
    if (policy_ != nullptr)
      communicate_as_decided();
    else
      communicate_in_order();
    if (has_run_) waited_s_ += thread_wait_s();  // a thread's waits begin with it
  });
  compute(start);
  communication.join();
  has_run_ = true;
  return world_.most(std::chrono::duration<double>(Clock::now() - start).count());
}

void StepRunner::compute(Clock::time_point start) {
  const Duration whole = plan_.forward + plan_.backward;
  for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
    compute_until(start + real(plan_.after_backward ? whole : plan_.buckets[b].ready), compute_);
    const std::lock_guard lock(mutex_);
    ready_ = b + 1;
    changed_.notify_one();
  }
  compute_until(start + real(whole), compute_);
}

void StepRunner::wait_until_ready(std::size_t buckets) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_ >= buckets; });
}

void StepRunner::communicate_in_order() {
  for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
    wait_until_ready(b + 1);
    all_reduce_.run(plan_.buckets[b].bytes.count);
  }
}

Time StepRunner::now() const {
  return Time(Duration(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - epoch_).count() * 1000));
}

/// What the policy sends next, as soon as it has an answer.
std::vector<std::int32_t> StepRunner::decide() {
  std::unique_lock lock(mutex_);
  const auto has_news = [&] { return told_ < ready_; };
  for (std::optional<Time> wake;;) {
    // Who asked to be woken means that very instant; a clock has gone past it.
    const Time at = wake ? std::min(*wake, now()) : now();
    for (; told_ < ready_; ++told_)
      policy_->ready(static_cast<std::int32_t>(told_), at);
    std::vector<std::int32_t> buckets = policy_->next(at);
    if (!buckets.empty()) return buckets;
    wake = policy_->wake();
    if (wake)
      changed_.wait_until(lock, epoch_ + real(since_start(*wake)), has_news);
    else
      changed_.wait(lock, has_news);
    if (has_news()) wake.reset();
  }
}

void StepRunner::send(std::span<const std::int32_t> buckets) {
  std::int64_t bytes = 0;
  for (const std::int32_t b : buckets) {
    // Rank 0 decided by its own gradients; this rank's may be late.
    wait_until_ready(static_cast<std::size_t>(b) + 1);
    bytes += plan_.buckets[static_cast<std::size_t>(b)].bytes.count;
  }
  all_reduce_.run(bytes);
}

void StepRunner::communicate_as_decided() {
  for (std::size_t sent = 0; sent < plan_.buckets.size();) {
    std::vector<std::int32_t> buckets;
    if (world_.is_first()) buckets = decide();
    world_.share(buckets);
    send(buckets);
    sent += buckets.size();
    if (world_.is_first()) policy_->arrived(buckets, now());
  }
}

}  // namespace steptime
