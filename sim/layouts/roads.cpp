#include "sim/layouts/roads.h"

#include "sim/config/config.h"
#include "sim/layouts/link_timetable.h"
#include "sim/layouts/shared_links.h"
#include "sim/network/adapters.h"
#include "sim/network/kernel_links.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/runtime/mediums.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

namespace steptime {
namespace {

/// One for each collective of a group that it has.
std::unique_ptr<Group> make_group(
    World& world, Name name, std::size_t members, const GroupCosts& costs,
    const std::function<std::unique_ptr<Medium>(const Collective&)>& medium) {
  std::unique_ptr<Group> group;
  for (const Collective* collective : costs.all()) {
    if (group == nullptr)
      group = std::make_unique<Group>(world, name, members, medium(*collective));
    else
      group->add(medium(*collective));
  }
  return group;
}

class ClosedRoads final : public LayoutRoads {
 public:
  ClosedRoads(World& world, const LayoutPlan& plan)
      : LayoutRoads(world, plan, plan.group(GroupKind::kPipeline, 0)),
        world_(world),
        plan_(plan),
        links_(plan) {
    if (links_.channels() == 0) return;
    routes_.emplace(links_.channels());
    network_ = &world.connect(*routes_, {});
  }

  std::vector<std::int32_t> programs() const override {
    return plan_.layout.group(0, std::array{Dimension::kPipeline});
  }

  Seat seat(std::int32_t rank, GroupKind kind) override {
    const std::int32_t place = plan_.place(rank);
    const bool is_of_ends = kind == GroupKind::kEnds;
    auto& group = groups_[{kind, is_of_ends ? 0 : place}];
    if (group == nullptr) {
      const bool shares = !are_alone(rank, kind);
      GroupLinks* const links =
          shares ? &made_.emplace_back(links_.of_group(place, kind)) : nullptr;
      const Name name =
          is_of_ends ? Name{"first and last rank"} : Name{name_of(kind).data(), -1, "rank", place};
      std::vector<std::int32_t> ranks{rank};
      if (is_of_ends) ranks = plan_.group(kind, 0);
      group = make_group(world_, name, ranks.size(), plan_.costs(kind), [&](const Collective& c) {
        return slowed(medium(c, links), plan_.costs(kind).pair(c), ranks);
      });
    }
    return {group.get(), is_of_ends && place > 0 ? 1u : 0u};
  }

  std::unique_ptr<Medium> neighbour(std::int32_t rank, bool back) override {
    const std::int32_t place = plan_.place(rank);
    const std::int32_t next = next_to(plan_.layout, place, back);
    const Hop& hop = plan_.hop(back ? next : place);
    GroupLinks* const links = links_.is_hop_alone(place, back)
                                  ? nullptr
                                  : &made_.emplace_back(links_.of_hop(place, back));
    return slowed(medium(*hop.send, links), hop.pair(),
                  std::array{rank, programs()[static_cast<std::size_t>(next)]});
  }

  bool are_alone(std::int32_t rank, GroupKind kind) const override {
    return links_.are_alone(plan_.place(rank), kind);
  }

  bool are_among_own(std::int32_t rank, GroupKind kind) const override {
    return links_.are_among_own(plan_.place(rank), kind);
  }

  void passed(std::int32_t rank, const Segment& segment) override {
    Passed*& passed = passed_of_[&segment];
    if (passed == nullptr)
      passed = &passed_.emplace_back(Passed{links_.work_of(plan_.place(rank), segment)});
    ++passed->times;
  }

  std::vector<double> carried() const override {
    std::vector<double> worked(static_cast<std::size_t>(links_.channels()));
    for (const Passed& segment : passed_) {
      for (const auto& [channel, work] : segment.work)
        worked[channel] += work * segment.times;
    }
    const auto add = [&worked](const Network::Loads& loads, double work) {
      for (const Network::Load& load : loads)
        worked[load.channel] += work;
    };
    for (const GroupLinks& links : made_) {
      add(links.in_node, links.worked_in_node);
      add(links.between_nodes, links.worked_between_nodes);
    }
    return worked;
  }

  Time shared_since() const override {
    return network_ == nullptr ? Time::max() : network_->shared_since();
  }

  double busiest(double seconds, std::span<const double> carried) const override {
    return busiest_of(carried, seconds);
  }

 private:
  std::unique_ptr<Medium> medium(const Collective& collective, GroupLinks* links) {
    if (links != nullptr)
      return std::make_unique<FlowMedium>(world_, *network_, collective, *links);
    return std::make_unique<AloneMedium>(
        world_, collective, [&collective](Bytes bytes) { return collective.time(bytes); }, nullptr);
  }

  World& world_;
  const LayoutPlan& plan_;
  SharedLinks links_;
  std::optional<TimedLinks> routes_;
  Network* network_ = nullptr;  ///< null: nothing shares a link
  std::deque<GroupLinks> made_;
  std::map<std::pair<GroupKind, std::int32_t>, std::unique_ptr<Group>> groups_;
  struct Passed {
    SharedLinks::Work work;
    double times = 0;
  };
  std::deque<Passed> passed_;  ///< segments, in the order in which ranks passed them first
  std::unordered_map<const Segment*, Passed*> passed_of_;
};

/// Messages from each of some ranks to one other, all at once.
class SendMedium final : public Medium, private MessageSink {
 public:
  struct Pair {
    std::int32_t from;
    std::int32_t to;
  };
  SendMedium(Network& network, std::vector<Pair> pairs)
      : network_(network), pairs_(std::move(pairs)) {}

  void start(Bytes bytes, Callback done) override {
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(under_way_.size()));
      under_way_.emplace_back();
    }
    const std::int32_t place = free_.back();
    free_.pop_back();
    under_way_[static_cast<std::size_t>(place)] = {pairs_.size(), done};
    for (const Pair& pair : pairs_) {
      network_.send(
          {.sink = this, .from = pair.from, .to = pair.to, .bytes = bytes.count, .sender = place});
    }
  }

 private:
  struct Sent {
    std::size_t left = 0;
    Callback done;
  };
  void delivered(const Message& message) override {
    Sent& sent = under_way_[static_cast<std::size_t>(message.sender)];
    if (--sent.left > 0) return;
    free_.push_back(message.sender);
    const Callback done = sent.done;
    done();
  }

  Network& network_;
  std::vector<Pair> pairs_;
  std::vector<Sent> under_way_;
  std::vector<std::int32_t> free_;
};

/// Routes of a machine with a second endpoint for each worker: endpoint n + i of n workers is
/// worker i with software that reaches only a share of the adapters' bandwidth. Its messages to
/// other nodes also cross a channel of that share at the adapter of each end. Reductions at such an
/// endpoint do not wait for those at the worker's own.
class AdaptersOfSlowSoftware final : public Routes {
 public:
  /// Both must outlive it.
  AdaptersOfSlowSoftware(const Machine& machine, const Cluster& cluster, double share)
      : machine_(machine),
        cluster_(cluster),
        share_(share),
        first_(machine.channel_count()),
        adapters_(cluster.nodes * adapters_of(cluster)) {}
  std::vector<Channel> channels() const override {
    std::vector<Channel> channels = machine_.channels();
    Channel channel{cluster_.network.bandwidth, {}, cluster_.fifo_ports};
    channel.bandwidth.bytes_per_second *= share_;
    channels.insert(channels.end(), static_cast<std::size_t>(2 * adapters_), channel);
    return channels;
  }
  Endpoint endpoints() const override { return 2 * machine_.endpoints(); }
  void route(Endpoint from, Endpoint to, std::vector<ChannelId>& path) const override {
    const Endpoint workers = machine_.endpoints();
    if (from < workers) return machine_.route(from, to, path);
    from -= workers;
    to -= workers;
    machine_.route(from, to, path);
    if (from / cluster_.gpus_per_node == to / cluster_.gpus_per_node) return;
    path.push_back(static_cast<ChannelId>(first_ + adapter(from)));
    path.push_back(static_cast<ChannelId>(first_ + adapters_ + adapter(to)));
  }

 private:
  /// Number of the worker's adapter among those of all nodes.
  std::int64_t adapter(Endpoint worker) const {
    return worker / cluster_.gpus_per_node * adapters_of(cluster_) +
           adapter_of(cluster_, worker % cluster_.gpus_per_node);
  }

  const Machine& machine_;
  const Cluster& cluster_;
  double share_;
  std::int64_t
      first_;  ///< First channel of the software: those out of adapters, then those into them.
  std::int64_t adapters_;
};

/// Every rank has a program, and every group its messages.
class MessageRoads final : public LayoutRoads {
 public:
  MessageRoads(World& world, const LayoutPlan& plan)
      : LayoutRoads(world, plan, plan.group(GroupKind::kAll, 0)),
        world_(world),
        plan_(plan),
        machine_(*plan.cluster),
        slow_software_(machine_, *plan.cluster, plan.states->share_of_adapters()),
        has_slow_software_(plan.states->share_of_adapters() < 1),
        network_(world.connect(
            has_slow_software_ ? static_cast<const Routes&>(slow_software_) : machine_,
            plan.cluster->messages)),
        kernel_links_(network_, machine_, plan.cluster->intra_node_beside_kernels) {}

  std::vector<std::int32_t> programs() const override { return plan_.group(GroupKind::kAll, 0); }

  Seat seat(std::int32_t rank, GroupKind kind) override {
    const std::vector<std::int32_t> ranks = plan_.group(kind, rank);
    auto& group = groups_[{kind, ranks.front()}];
    if (group == nullptr) {
      const Name name{name_of(kind).data(), -1, "rank", ranks.front()};
      const Collective* const send = plan_.costs(kind).send.get();
      std::vector<Endpoint> endpoints = ranks;
      if (kind == GroupKind::kShards && has_slow_software_) {
        for (Endpoint& endpoint : endpoints)
          endpoint += machine_.endpoints();
      }
      group = make_group(
          world_, name, ranks.size(), plan_.costs(kind),
          [&](const Collective& c) -> std::unique_ptr<Medium> {
            return slowed(&c == send ? sends(endpoints) : plays(c, endpoints), {c, c}, ranks);
          });
    }
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
    return {group.get(), static_cast<std::size_t>(at - ranks.begin())};
  }

  std::unique_ptr<Medium> neighbour(std::int32_t rank, bool back) override {
    Coordinates at = plan_.layout.coordinates(rank);
    std::int32_t& place = at[static_cast<std::size_t>(Dimension::kPipeline)];
    const Hop& hop = plan_.hop(back ? next_to(plan_.layout, place, true) : place);
    place = next_to(plan_.layout, place, back);
    const std::int32_t to = plan_.layout.rank(at);
    return slowed(std::make_unique<SendMedium>(network_, std::vector<SendMedium::Pair>{{rank, to}}),
                  {*hop.send, *hop.send}, std::array{rank, to});
  }

  bool are_alone(std::int32_t, GroupKind) const override { return false; }
  bool are_among_own(std::int32_t, GroupKind) const override { return false; }
  void passed(std::int32_t, const Segment&) override {}
  std::int64_t messages() const override { return network_.messages_delivered(); }
  double busiest(double seconds, std::span<const double>) const override {
    double most = 0;
    for (const LinkUse& link : links(seconds))
      most = std::max(most, link.busy);
    return most;
  }
  std::vector<LinkUse> links(double seconds) const override {
    return link_uses(*plan_.cluster, machine_, network_, {.seconds = seconds});
  }

 private:
  void set_kernels(std::int32_t rank, bool run) override {
    if (plan_.overlap->slows_links()) kernel_links_.set(rank, run);
  }
  std::unique_ptr<Medium> plays(const Collective& collective, std::vector<Endpoint> endpoints) {
    return std::make_unique<MessageMedium>(world_, network_, collective, plan_.cluster->reduction,
                                           std::move(endpoints));
  }
  /// From each to the next one, around a ring.
  std::unique_ptr<Medium> sends(std::span<const Endpoint> endpoints) {
    std::vector<SendMedium::Pair> pairs;
    for (std::size_t i = 0; i < endpoints.size(); ++i)
      pairs.push_back({endpoints[i], endpoints[(i + 1) % endpoints.size()]});
    return std::make_unique<SendMedium>(network_, std::move(pairs));
  }

  World& world_;
  const LayoutPlan& plan_;
  Machine machine_;
  AdaptersOfSlowSoftware slow_software_;
  bool has_slow_software_;
  Network& network_;
  KernelLinks kernel_links_;
  std::map<std::pair<GroupKind, std::int32_t>, std::unique_ptr<Group>> groups_;
};

}  // namespace

LayoutRoads::LayoutRoads(World& world, const LayoutPlan& plan,
                         std::span<const std::int32_t> programs)
    : world_(world), plan_(plan) {
  if (plan.overlap == nullptr) return;
  for (const std::int32_t rank : programs)
    gpus_.try_emplace(rank, world, [this, rank](bool run) { set_kernels(rank, run); });
}

std::unique_ptr<Medium> LayoutRoads::slowed(std::unique_ptr<Medium> medium,
                                            Overlap::Pair collective,
                                            std::span<const std::int32_t> ranks) {
  if (plan_.overlap == nullptr) return medium;
  std::vector<ComputingGpu*> gpus;
  for (const std::int32_t rank : ranks) {
    ComputingGpu* const one = gpu(rank);
    if (std::find(gpus.begin(), gpus.end(), one) == gpus.end()) gpus.push_back(one);
  }
  return std::make_unique<SlowedMedium>(
      world_, std::move(medium),
      [collective, &plan = plan_](Bytes bytes) {
        return plan.overlap->beside(collective, bytes, plan.work.multiprocessors);
      },
      std::move(gpus));
}

const RoadKind& closed_forms() {
  class ClosedForms final : public RoadKind {
    std::unique_ptr<LayoutRoads> make(World& world, const LayoutPlan& plan) const override {
      return std::make_unique<ClosedRoads>(world, plan);
    }
    bool knows_times() const override { return true; }
  };
  static const ClosedForms kind;
  return kind;
}

const RoadKind& messages_on_links() {
  class Messages final : public RoadKind {
    std::unique_ptr<LayoutRoads> make(World& world, const LayoutPlan& plan) const override {
      return std::make_unique<MessageRoads>(world, plan);
    }
    bool knows_times() const override { return false; }
    /// Every exchange must be made of messages.
    void check(const LayoutPlan& plan, const Config& strategy) const override {
      for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kShards,
                                   GroupKind::kReplicas, GroupKind::kEnds}) {
        const GroupCosts& costs = plan.costs(kind);
        if (plan.group(kind, 0).size() == 1) continue;
        for (const auto& collective :
             {costs.all_reduce, costs.reduce_scatter, costs.all_gather, costs.all_to_all}) {
          if (!collective->programs({1}).empty()) continue;
          strategy.fail("aggregation",
                        "its collective is known by its time only; fidelity \"message\" expects "
                        "one that is made of messages, such as {\"collective\": \"ring\"}");
        }
      }
    }
  };
  static const Messages kind;
  return kind;
}

}  // namespace steptime
