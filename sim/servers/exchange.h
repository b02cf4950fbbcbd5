// Pushes to parameter servers and pulls from them: which part of a bucket goes where, when a server
// applies it, and which version of the parameters a client gets back.
#pragma once
#include "sim/events/engine.h"
#include "sim/servers/carrier.h"
#include "sim/servers/connections.h"
#include "sim/servers/learner.h"
#include "sim/servers/server_threads.h"
#include "sim/servers/training.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

class ExchangeUser {
 public:
  virtual ~ExchangeUser() = default;
  /// The servers have answered all pushes of a bucket, which the next step will pull.
  virtual void answered(std::int32_t client, std::size_t bucket) = 0;
  /// Rank 0 of a client has a bucket's values at `end`, which may lie ahead.
  virtual void exchanged(std::int32_t client, std::size_t bucket, When end) = 0;
  /// Where servers wait for all: a piece's pushes are added up at `end`. Whether the user will
  /// `answer_pushes` itself.
  virtual bool holds_answers(std::uint32_t /*slot*/, When /*end*/) { return false; }
  /// Whether the staleness of what a client pushes now is to be told.
  virtual bool counts(std::int32_t /*client*/) const { return true; }
  /// On the timeline, of a client's bucket in its present step; 0: none.
  virtual std::uint64_t flow(std::int32_t /*client*/, std::size_t /*bucket*/) const { return 0; }
};

class Exchange {
 public:
  /// `learner` and `timeline` may be null; all others must outlive the exchange. Throws InputError
  /// when the plan is too large.
  Exchange(const TrainingPlan& plan, Engine& engine, ParcelCarrier& carrier, ExchangeUser& user,
           Learner* learner, Timeline* timeline, const std::string& actor = "server");

  /// Client `c` pushes a bucket now, and pulls it when its servers' PullTime says.
  void push(std::int32_t c, std::size_t bucket);
  /// Client `c` asks for a bucket now.
  void pull(std::int32_t c, std::size_t bucket);
  /// Answers all clients' pushes of a piece at `end`, which may lie ahead.
  void answer_pushes(std::uint32_t slot, When end);
  /// The carrier delivers pushes now, or later as it says.
  void pushed(std::span<const Timed> parts);
  /// The carrier delivers `parts` of a pull at `in`, now or later.
  void pulled(std::int32_t c, std::size_t bucket, std::int32_t parts, When in);
  /// When a bucket was last pushed, and when a server first answered its pull; only with a
  /// timeline.
  Time push_sent(std::int32_t c, std::size_t bucket) const { return sent_[at(c, bucket)].push; }
  Time pull_sent(std::int32_t c, std::size_t bucket) const { return sent_[at(c, bucket)].pull; }

  std::int64_t messages() const { return messages_; }
  /// How many updates met a range changed that many times since their client had pulled it.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }
  /// Of the busiest server's thread.
  Duration most_busy() const { return threads_.most_busy(); }

 private:
  /// A piece with its state on the server.
  struct Slot {
    const Piece* piece;
    std::uint32_t bucket;
    std::uint32_t version;  ///< updates so far
    std::int64_t pushed;    ///< where servers wait for all: pushes of this step that are in
    Duration handling;      ///< of the server's thread, per push and pull
    Duration updating;      ///< of the server's thread
    /// Where servers wait for all: when the server was through with the latest of these pushes,
    /// which need not be the one that was told last.
    Held latest{};
    std::vector<std::int32_t> waiting{};  ///< clients that asked for the sum before it was ready
  };

  /// Answers that are missing, and when the last one came; of those to pushes, where all take the
  /// same time, when it left.
  struct Open {
    When last{};
    std::uint32_t missing = 0;
    void reach(When when) { last = later(last, when); }
    /// Whether these were the last ones.
    bool came(std::size_t parts) { return (missing -= static_cast<std::uint32_t>(parts)) == 0; }
  };
  struct Answer {
    When sent{};
    When in{};
  };
  struct Sent {
    Time push{};
    Time pull = Time::max();
  };

  std::size_t at(std::int32_t c, std::size_t bucket) const {
    return static_cast<std::size_t>(c) * plan_.pieces.size() + bucket;
  }
  std::size_t of(std::int32_t c, std::uint32_t slot) const {
    return static_cast<std::size_t>(c) * slots_.size() + slot;
  }
  /// On the timeline; a call for every message would be felt.
  std::uint64_t flow(std::int32_t c, std::size_t bucket) const {
    return threads_.are_drawn() ? user_.flow(c, bucket) : 0;
  }
  void fill(Parcel& parcel, std::int32_t c, std::uint32_t slot_index, bool is_push) const;
  void answer(std::int32_t c, std::uint32_t slot_index, When when);
  void answer_all(std::int32_t c, std::uint32_t first_slot, std::uint32_t behind);
  Duration latency(std::int32_t c, std::uint32_t slot_index) const {
    if (common_latency_) return *common_latency_;
    return carrier_.latency(c, slots_[slot_index].piece->server);
  }
  void received(std::int32_t c, std::uint32_t slot_index, When in);
  When latest_of(Slot& slot, When end, bool is_last);
  void apply_all(Slot& slot);
  void answer_push(std::int32_t c, std::uint32_t slot_index, When end);
  void ask_for(std::int32_t c, std::size_t bucket, When when);
  void ask_behind(std::int32_t c, std::uint32_t slot_index);
  void asked(std::int32_t c, std::uint32_t slot_index);
  When answer_in(When sent, Duration latency);
  When serve_pull(std::int32_t c, std::uint32_t slot_index, When when);
  void count_staleness(std::uint32_t staleness, std::int64_t updates);

  const TrainingPlan& plan_;
  Engine& engine_;
  ParcelCarrier& carrier_;
  ExchangeUser& user_;
  Learner* learner_;
  std::int64_t clients_;
  bool waits_for_all_;
  PullTime pull_time_;
  std::optional<Duration> common_latency_;
  Reason request_;  ///< of a message without bytes
  ServerThreads threads_;
  Connections connections_;  ///< only where requests queue behind pushes
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> first_slot_;  ///< of every bucket, and the end
  std::vector<Open> open_;                 ///< per client and bucket
  std::vector<std::uint32_t> seen_;  ///< version that a client pulled last, per client and slot
  std::vector<Sent> sent_;           ///< per client and bucket; only with a timeline
  Answer last_answer_;               ///< to a push
  std::vector<Parcel> parts_;        ///< scratch of a push
  std::vector<Timed> answers_;       ///< scratch
  std::int64_t messages_ = 0;
  std::vector<std::int64_t> staleness_;
};

}  // namespace steptime
