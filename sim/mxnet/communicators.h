// The communicators of the ranks of a run, and what their all-reduces go through. Key k travels on
// communicator k modulo their number; barriers have one of their own, each client of servers one.
//
// What is in flight on several communicators shares links: at analytic fidelity start-ups overlap,
// and the work that follows shares one link, as if all ran on the same links; at message fidelity
// messages meet on the links of one network; or other programs take part, for real.
// Source: 000 section 2.2.
#pragma once
#include "sim/collective/collective.h"
#include "sim/core/units.h"
#include "sim/mxnet/rank_calls.h"
#include "sim/mxnet/rank_gpus.h"
#include "sim/mxnet/training_graph.h"
#include "sim/network/cluster.h"
#include "sim/network/machine.h"
#include "sim/runtime/group.h"
#include "sim/runtime/mediums.h"
#include "sim/runtime/world.h"
#include "sim/step/schedule.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// All-reduces that other programs take part in, for real, while the clock of one rank keeps pace
/// with that on the wall.
class RealCollectives {
 public:
  virtual ~RealCollectives() = default;
  /// Of a communicator; the last one's is for barriers.
  virtual std::unique_ptr<Medium> medium(Engine& clock, std::int32_t communicator) = 0;
  /// Runs each event at its time on the wall, and what its mediums were given when it is through;
  /// returns when nothing is left to happen.
  virtual void run(Engine& clock) = 0;
};

class ClientSteps;
struct TrainingPlan;

class Communicators {
 public:
  static constexpr std::int32_t kBarrier = CallSubject::kBarrier;
  using Subject = CallSubject;
  using Listener = CallListener;
  using Stuck = StuckCall;
  struct Played {
    const Cluster* cluster = nullptr;
    const Collective* collective = nullptr;  ///< made of messages
  };
  /// Who decides what is reduced next, and what its messages are.
  struct Decided {
    std::function<std::unique_ptr<Policy>()> policy{};  ///< null: ranks reduce key by key
    std::span<const Bucket> buckets{};
    const Collective* collective = nullptr;
  };
  struct Ways {
    Duration barrier{};  ///< how long one takes, which moves no data
    /// The links that keys travel on, as far as causes tell.
    Pairs links = Pairs::kBetweenNodes;
    std::optional<Played> played{};  ///< none: what keys cost in the graph
    RealCollectives* real = nullptr;
    Decided decided{};
    /// The run whose servers ranks meet at; null: they reduce among themselves.
    const TrainingPlan* served = nullptr;
    RankGpus* gpus = nullptr;      ///< beside which keys travel; null: neither slows the other down
    ClientSteps* steps = nullptr;  ///< which steps the clients of these servers play
  };

  /// All references must outlive this. Throws PlacedError when the cluster has no route between two
  /// workers.
  Communicators(World& world, const TrainingGraph& graph, const Ways& ways, std::int32_t ranks,
                std::int32_t count, Listener& listener);

  std::int32_t ranks() const { return static_cast<std::int32_t>(groups_.front().size()); }
  /// Of what a rank calls for the key.
  std::int32_t number_of(std::int32_t rank, std::int32_t key) const {
    return key == kBarrier ? count_ + rank / ranks_of_each_ : key % count_;
  }
  Group& of(std::int32_t rank, std::int32_t key) {
    return groups_[static_cast<std::size_t>(number_of(rank, key))];
  }
  /// Who answers a rank's call for the key.
  const Callee& callee(std::int32_t rank, std::int32_t key);
  const std::string& name(std::int32_t key) const {
    return graph_.keys[static_cast<std::size_t>(key)].name;
  }
  /// A rank's next call on the communicator of its key, as Group::launch.
  std::uint64_t call(std::int32_t rank, Subject subject, When when, Callback returns);
  /// About how many messages of two links each an all-reduce of every key would be.
  double play_cost() const;
  /// When nothing is under way any more: throws InternalError for a collective that is not over.
  void expect_over() const;

  /// What the links to servers have carried in so many seconds, for one of so many steps.
  std::vector<LinkUse> links_to_servers(double seconds, double steps) const {
    return others_ == nullptr ? std::vector<LinkUse>() : others_->links(seconds, steps);
  }

  const Servers* servers() const { return others_ == nullptr ? nullptr : others_->servers(); }

  /// Calls that did not return, by communicator, number and rank.
  std::vector<Stuck> stuck() const;

 private:
  class Planned final : public Collective {
   public:
    Planned(const TrainingGraph& graph, Pairs links);
    Duration time(Bytes m) const override;
    Duration startup() const override { return {}; }
    std::vector<Stage> stages(Bytes m) const override;

   private:
    std::vector<std::pair<std::int64_t, AllReduceCost>> costs_;  ///< by bytes
    Pairs links_;
  };
  class Told final : public Group::Watch {
   public:
    Told(const Communicators& all, const Group& group, Listener* listener)
        : all_(all), group_(group), listener_(listener) {}
    /// By whom causes are kept for: a member's call of that number.
    void called(std::int64_t call, When when);
    void began(std::int64_t call, Bytes bytes) override;
    void ended(std::int64_t call, Bytes bytes, Time start) override;

   private:
    const Communicators& all_;
    const Group& group_;
    Listener* listener_;  ///< null: nobody asks
    std::int64_t began_ = 0;
    std::deque<When> last_;  ///< the latest call of each of those that have not begun, for causes
  };

  bool is_of_others(std::int32_t key) const { return others_ != nullptr && key != kBarrier; }
  Group::Subject call_for(Subject subject) const;
  Subject subject_of(const Group::Subject& call) const;
  std::unique_ptr<Medium> medium(std::int32_t communicator);
  std::unique_ptr<Medium> medium_of_messages();
  std::unique_ptr<Medium> played_medium();
  /// Beside what ranks compute.
  std::unique_ptr<Medium> slowed(std::unique_ptr<Medium> medium);

  World& world_;
  const TrainingGraph& graph_;
  Ways ways_;
  std::int32_t count_;
  std::int32_t ranks_of_each_;  ///< client
  Planned planned_;
  std::unique_ptr<Routes> routes_;
  Network* network_ = nullptr;
  GroupLinks links_{.in_node = {{0}}, .between_nodes = {{0}}};
  std::deque<Group> groups_;
  std::deque<Told> told_;
  std::unique_ptr<KeyCalls> others_;  ///< who answers in place of the groups of keys; may be null
};

}  // namespace steptime
