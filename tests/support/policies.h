// A policy on one stream whose messages take a time that the test says: what the executor does with
// it, without an executor.
#pragma once
#include "sim/step/schedule.h"
#include "tests/support/config_text.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// Buckets of one unit each, with these sizes, ready at these times (of the run, in the order of
/// readiness).
struct PolicyRun {
  struct Sent {
    std::vector<std::int32_t> buckets;
    Time start{};
    Time end{};
  };

  using Made = std::function<std::unique_ptr<Policy>(std::span<const Bucket>)>;
  PolicyRun(const std::string& schedule, std::vector<std::int64_t> sizes,
            std::vector<Duration> ready_after, std::function<Duration(Bytes)> time)
      : PolicyRun([&](auto of) { return make<Schedule>(schedule)->policy(of); }, std::move(sizes),
                  std::move(ready_after), std::move(time)) {}
  PolicyRun(const Made& made, std::vector<std::int64_t> sizes, std::vector<Duration> ready_after,
            std::function<Duration(Bytes)> time)
      : ready(std::move(ready_after)) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      buckets.push_back({.first_unit = static_cast<std::int32_t>(i),
                         .units = 1,
                         .bytes = {sizes[i]},
                         .ready = ready[i]});
    const auto policy = made(buckets);
    play(*policy, time);
  }

  std::vector<std::size_t> counts() const {
    std::vector<std::size_t> all;
    for (const Sent& each : sent)
      all.push_back(each.buckets.size());
    return all;
  }
  std::vector<std::int32_t> order() const {
    std::vector<std::int32_t> all;
    for (const Sent& each : sent)
      all.insert(all.end(), each.buckets.begin(), each.buckets.end());
    return all;
  }
  Bytes bytes(const Sent& of) const {
    Bytes sum{};
    for (const std::int32_t bucket : of.buckets)
      sum += buckets[static_cast<std::size_t>(bucket)].bytes;
    return sum;
  }

  std::vector<Bucket> buckets;
  std::vector<Duration> ready;
  std::vector<Sent> sent;  ///< in the order in which the stream took them

 private:
  void play(Policy& policy, const std::function<Duration(Bytes)>& time) {
    Time now{};
    std::size_t next_ready = 0;
    std::size_t taken = 0;  // of `sent`, by the stream, the one under way included
    bool is_busy = false;
    for (;;) {
      if (is_busy && sent[taken - 1].end == now) {
        is_busy = false;
        policy.arrived(sent[taken - 1].buckets, now);
      }
      for (; next_ready < buckets.size() && since_start(now) == ready[next_ready]; ++next_ready)
        policy.ready(static_cast<std::int32_t>(next_ready), now);
      for (auto answer = policy.next(now); !answer.empty(); answer = policy.next(now))
        sent.push_back({std::move(answer)});
      if (!is_busy && taken < sent.size()) {
        Sent& first = sent[taken++];
        first.start = now;
        first.end = now + time(bytes(first));
        is_busy = true;
      }
      std::optional<Time> next = policy.wake();
      const auto consider = [&](Time at) { next = std::min(next.value_or(at), at); };
      if (is_busy) consider(sent[taken - 1].end);
      if (next_ready < buckets.size()) consider(Time(ready[next_ready]));
      if (!next) return;
      now = *next;
    }
  }
};

}  // namespace steptime
