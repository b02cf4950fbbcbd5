// Pushes and pulls of a training run. All clients meet at the servers; or first in their nodes,
// whose hosts then meet, as clients of their own, at servers beyond:
//
//   push of every worker -> sum in the node -> copy to the host -> push -> pull -> copy to where
//   the sum was -> values to every worker
//
// piece by piece: the pieces of a node do not wait for each other. Sums on the host need no copies.
// A host's thread handles what it sends and receives in the order in which it comes, and a push
// leaves when the thread is through with it.
//
// Where a thread issues pushes and pulls, nothing of a bucket is sent before its push, and nothing
// comes back, nor is asked for beyond the node, before its pull.
#pragma once
#include "sim/events/rank_timeline.h"
#include "sim/servers/exchange.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace steptime {

class TwoLevelExchange {
 public:
  /// `learner` and `timeline` may be null; all others must outlive the exchange. Throws InputError
  /// when the plan is too large.
  TwoLevelExchange(const TrainingPlan& plan, Engine& engine, Carrier& carrier, ExchangeUser& user,
                   Learner* learner, Timeline* timeline);
  ~TwoLevelExchange();

  /// Client `c` has a bucket to push now, in a step of its that began at `start`.
  void push(std::int32_t c, std::size_t bucket, Time start);
  /// Client `c` asks for a bucket now.
  void pull(std::int32_t c, std::size_t bucket);
  /// The carrier delivers pushes now, or later as it says.
  void pushed(std::span<const Timed> parts);
  /// The carrier delivers `parts` of a pull at `in`, now or later.
  void pulled(std::int32_t c, std::size_t bucket, std::int32_t parts, When in);
  /// When a worker's bucket was last pushed, and when a server first answered its pull; only with a
  /// timeline.
  Time push_sent(std::int32_t c, std::size_t bucket) const;
  Time pull_sent(std::int32_t c, std::size_t bucket) const;

  std::int64_t messages() const;
  /// How many updates met a range changed that many times since their client had pulled it.
  const std::vector<std::int64_t>& staleness() const { return last().staleness(); }
  /// Of the busiest thread of the servers.
  Duration most_busy() const { return last().most_busy(); }

 private:
  class Node;
  class Beyond;
  /// Of a piece in a node.
  struct Slot {
    std::size_t bucket;
    std::int32_t server;
    Bytes bytes;
  };

  Node& node_of(std::int32_t client) const {
    return *nodes_[static_cast<std::size_t>(client / per_node_)];
  }
  const Exchange& last() const;
  /// When what is ready at `when` is issued.
  When issued(When when, Time issue) {
    return engine_.until(when, std::max(when.time, issue), issues_);
  }
  template <class Action>
  void at(When when, Action action) {
    engine_.at(later(engine_.present(), when), Phase::kNormal, action);
  }

  const TrainingPlan& plan_;
  Engine& engine_;
  Carrier& carrier_;
  ExchangeUser& user_;
  Reason issues_;
  TrainingPlan in_node_;  ///< where there are servers beyond: of one node
  TrainingPlan between_;  ///< of the servers beyond
  std::int32_t per_node_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Node>>
      nodes_;  ///< one of all clients, or with servers beyond several
  std::unique_ptr<Beyond> beyond_;
};

}  // namespace steptime
