// The communication thread of a client: it hears when gradients exist, asks the schedule's policy
// what travels next, and has at most `streams` all-reduces under way at once. What else was sent
// waits for a stream, in order.
//
// Without a policy the buckets go in order, each when it is ready and a stream is free; that needs
// no event for a bucket's readiness.
#pragma once
#include "sim/events/engine.h"
#include "sim/servers/carrier.h"
#include "sim/servers/training.h"
#include "sim/step/schedule.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace steptime {

class Sender {
 public:
  /// Buckets that travel as one.
  struct Message {
    std::vector<std::int32_t> buckets;
    Bytes bytes;
    When start{};  ///< of its all-reduce
  };

  /// All must outlive the sender. Not to be moved.
  Sender(const TrainingPlan& plan, Engine& engine, Carrier& carrier, std::int32_t client);
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// A step whose buckets become ready at origin + factor x their time in the plan: with factor 0
  /// all at once. `middle`: the end of its forward pass.
  void begin_step(Time origin, double factor, When middle);
  /// When a bucket of the present step is ready.
  Time ready(std::size_t bucket) const;

  /// An all-reduce is over: its stream goes on. The message stands until it is given back.
  const Message& ended(std::uint32_t message);
  void give_back(std::uint32_t message) { free_.push_back(message); }
  /// The policy hears that these buckets are back on all workers.
  void arrived(std::span<const std::int32_t> buckets);
  bool has_policy() const { return policy_ != nullptr; }

 private:
  void hear();
  void decide();
  void ask();
  std::uint32_t take();
  void post(std::vector<std::int32_t> buckets);
  void send_next();
  void start(std::uint32_t message, When when);
  When is_ready(std::size_t bucket);

  const TrainingPlan& plan_;
  Engine& engine_;
  Carrier& carrier_;
  std::int32_t client_;
  std::unique_ptr<Policy> policy_;
  Time origin_{};
  double factor_ = 1;
  When middle_{};
  Reason backward_;
  Reason timer_;
  std::size_t next_ = 0;  ///< the bucket that is ready next, or without a policy sent next
  std::int64_t under_way_ = 0;
  std::deque<Message> messages_;  ///< does not move those that stand
  std::vector<std::uint32_t> free_;
  std::deque<std::uint32_t> waiting_;  ///< for a stream
  bool decides_ = false;               ///< at this instant
  std::optional<Time> wakes_{};
};

}  // namespace steptime
