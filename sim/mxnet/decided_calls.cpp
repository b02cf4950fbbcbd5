#include "sim/mxnet/decided_calls.h"

#include "sim/core/error.h"

#include <algorithm>

namespace steptime {

DecidedCalls::DecidedCalls(World& world, std::unique_ptr<Policy> policy,
                           std::span<const Bucket> buckets, std::unique_ptr<Medium> medium,
                           std::int32_t ranks, CallListener& listener)
    : world_(world),
      ranks_(static_cast<std::size_t>(ranks)),
      listener_(listener),
      messages_(world, {"messages of a policy"}, 1, std::move(medium)),
      decider_(world, messages_, std::move(policy), buckets),
      calls_(buckets.size()) {
  messages_.watch(this);
}

std::uint64_t DecidedCalls::call(std::int32_t rank, CallSubject subject, When when,
                                 Callback returns) {
  Calls& calls = calls_for(subject.key);
  STEPTIME_CHECK(calls.made.empty() || calls.step == subject.step,
                 "a key is handed over again when its calls have returned");
  calls.step = subject.step;
  calls.last = calls.made.empty() ? when : later(calls.last, when);
  calls.made.emplace_back(rank, returns);
  if (calls.made.size() < ranks_) return static_cast<std::uint64_t>(subject.key);
  world_.engine.at(calls.last, Phase::kNormal, [this, bucket = key_of(subject.key)] {
    decider_.ready(bucket);  // a key has the place from the end that its bucket has from the start
  });
  return static_cast<std::uint64_t>(subject.key);
}

/// A message may be any other keys', and take any time.
Time DecidedCalls::returns_not_before(std::uint64_t key) const {
  return std::max(calls_[key].last.time, world_.now());
}

void DecidedCalls::began(std::int64_t message, Bytes) {
  for (const std::int32_t bucket : decider_.sent(message)) {
    const std::int32_t key = key_of(bucket);
    listener_.collective_started({key, calls_for(key).step});
  }
}

void DecidedCalls::ended(std::int64_t message, Bytes, Time) {
  const std::vector<std::int32_t> buckets = decider_.take(message);
  decider_.arrived(buckets);
  const When present = world_.engine.present();
  for (const std::int32_t bucket : buckets) {
    const std::int32_t key = key_of(bucket);
    const Calls over = std::exchange(calls_for(key), {});
    listener_.collective_ended({key, over.step});
    for (const auto& [rank, returns] : over.made) {
      world_.engine.because(present);
      returns();
    }
  }
}

std::vector<StuckCall> DecidedCalls::stuck() const {
  std::vector<StuckCall> all;
  for (std::size_t key = 0; key < calls_.size(); ++key) {
    const Calls& calls = calls_[key];
    for (const auto& [rank, unused] : calls.made)
      all.push_back({rank, 0, calls.step, {static_cast<std::int32_t>(key), calls.step}});
  }
  return all;
}

}  // namespace steptime
