// The communication thread of a client: it hears when gradients exist, asks the schedule's policy
// what travels next, and has at most `streams` all-reduces under way at once. What else was sent
// waits for a stream, in order.
//
// Without a policy the buckets go in order, each when it is ready and a stream is free; that needs
// no event for a bucket's readiness. Where all-reduces slow the backward pass down, the sender
// knows how far that is, and tells its end.
#pragma once
#include "sim/events/engine.h"
#include "sim/servers/carrier.h"
#include "sim/servers/training.h"
#include "sim/step/pass_reasons.h"
#include "sim/step/schedule.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>

namespace steptime {

/// What the senders of a run have under way.
class SentMessages {
 public:
  /// Buckets that travel as one.
  struct Message {
    boost::container::small_vector<std::int32_t, 2> list;  ///< of the buckets
    Bytes bytes;
    When start{};         ///< of its all-reduce
    double slowdown = 1;  ///< of the backward pass meanwhile
    std::span<const std::int32_t> buckets() const { return {list.data(), list.size()}; }
  };
  std::uint32_t take() {
    if (free_.empty()) {
      messages_.emplace_back();
      return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    const std::uint32_t message = free_.back();
    free_.pop_back();
    return message;
  }
  void give_back(std::uint32_t message) { free_.push_back(message); }
  Message& operator[](std::uint32_t message) { return messages_[message]; }

 private:
  std::deque<Message> messages_;  ///< does not move those that stand
  std::vector<std::uint32_t> free_;
};

class Sender {
 public:
  using Message = SentMessages::Message;

  /// All must outlive the sender. Not to be moved.
  /// `computed` hears when a backward pass that all-reduces slow down began and is over.
  Sender(const TrainingPlan& plan, Engine& engine, Carrier& carrier, SentMessages& messages,
         std::int32_t client, std::function<void(Time, When)> computed = {});
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// A step whose buckets become ready at origin + factor x their time in the plan: with factor 0
  /// all at once. `middle`: the end of its forward pass.
  void begin_step(Time origin, double factor, When middle);
  /// When a bucket of the present step is ready, and when the one before it was, or the backward
  /// pass began.
  Time ready(std::size_t bucket) const;
  Time begin(std::size_t bucket) const { return bucket > 0 ? ready(bucket - 1) : middle_.time; }

  /// An all-reduce is over: its stream goes on. The message stands until it is given back.
  const Message& ended(std::uint32_t message);
  void give_back(std::uint32_t message) { messages_.give_back(message); }
  /// The policy hears that these buckets are back on all workers.
  void arrived(std::span<const std::int32_t> buckets);
  bool has_policy() const { return policy_ != nullptr; }

 private:
  void hear();
  void await_gradient();
  void await_end();
  void change_speed(double slowdown);
  Duration slowed(Message& message);
  void decide();
  void ask();
  void post(std::span<const std::int32_t> buckets);
  void send_next();
  void start(std::uint32_t message, When when);
  When is_ready(Time when, Duration alone);

  const TrainingPlan& plan_;
  Engine& engine_;
  Carrier& carrier_;
  SentMessages& messages_;
  std::int32_t client_;
  PassReasons backward_;
  Reason timer_;
  bool decides_ = false;  ///< at this instant
  std::unique_ptr<Policy> policy_;
  Time origin_{};
  double factor_ = 1;
  When middle_{};
  When last_ready_{};     ///< gradient; only without a policy
  std::size_t next_ = 0;  ///< the bucket that is ready next, or without a policy sent next
  std::int64_t under_way_ = 0;
  std::vector<std::uint32_t> waiting_;  ///< messages, for a stream; those before the next have gone
  std::size_t next_waiting_ = 0;
  std::optional<Time> wakes_{};
  // Where all-reduces slow the backward pass down:
  std::function<void(Time, When)> computed_;
  OverlapReasons overlap_;
  SharedCompute compute_;  ///< the present step, of the client's slowest worker
  bool computes_ = false;
  std::optional<EventId> gradient_{};
  std::optional<EventId> end_{};
};

}  // namespace steptime
