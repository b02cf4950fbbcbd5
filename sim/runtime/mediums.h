// What the collectives of a group go through: their closed form alone, their closed form on links
// that others use, too, or their messages.
#pragma once
#include "sim/collective/collective.h"
#include "sim/collective/collective_player.h"
#include "sim/collective/stage_reasons.h"
#include "sim/core/units.h"
#include "sim/network/network.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace steptime {

/// Collectives that meet nothing on their links: each is one time, known when it starts.
class AloneMedium final : public Medium {
 public:
  using TimeOf = std::function<Duration(Bytes)>;
  using PartsOf = std::function<PlayedParts(Bytes)>;
  /// `time`: of a collective by itself. `parts`: what that passes for, where it is the time of
  /// messages; null: a closed form. `collective` must outlive the medium.
  AloneMedium(World& world, const Collective& collective, TimeOf time, PartsOf parts);
  void start(Bytes bytes, Callback done) override;
  Duration least(Bytes bytes) const override { return time_(bytes); }

 private:
  World& world_;
  const Collective& collective_;
  TimeOf time_;
  PartsOf parts_;
  StageReasons reasons_;
};

/// Ports that carry one thing after another, and that a collective takes all of for a while.
class TakenPorts {
 public:
  virtual ~TakenPorts() = default;
  /// Takes them for `work`, for a reason, from `at` on and as soon as all of them are free; returns
  /// the end.
  virtual When take(Duration work, When at, Reason reason) = 0;
};

/// Links of which only collectives know: their bandwidth is no matter, as work on them is told by
/// its time.
class TimedLinks final : public Routes {
 public:
  explicit TimedLinks(std::int64_t count) : count_(count) {}
  std::vector<Channel> channels() const override {
    return std::vector<Channel>(static_cast<std::size_t>(count_), {{1e9}, {}});
  }
  Endpoint endpoints() const override { return static_cast<Endpoint>(count_); }
  void route(Endpoint, Endpoint, std::vector<ChannelId>&) const override {}

 private:
  std::int64_t count_;
};

/// The links of a group at analytic fidelity, which several groups may share.
struct GroupLinks {
  Network::Loads in_node{};        ///< all that the links inside nodes carry is a flow on these
  Network::Loads between_nodes{};  ///< and on these between nodes
  /// Sum over the flows inside nodes, each by itself, ps, which may pass int64.
  double worked_in_node = 0;
  double worked_between_nodes = 0;
  /// Where messages with servers use the same ports: taken in turn with them; null: flows.
  TakenPorts* taken_in_node = nullptr;
  TakenPorts* taken_between_nodes = nullptr;
  /// Where a collective that is known by its time only works, once it has started up; none: it
  /// takes its time, one after another, whatever else is under way.
  std::optional<Pairs> known_by_time{};
};

/// A collective's stages there: of one that is known by its time only, one if that works on links.
std::vector<Stage> stages_on(const GroupLinks& links, const Collective& collective, Bytes bytes);

/// Collectives in closed form: a start-up for each stage, and then a flow on the links, which it
/// shares with all others there; or these in turn. One that is known by its time only takes that,
/// one after another.
class FlowMedium final : public Medium, private MessageSink {
 public:
  /// All must outlive the medium.
  FlowMedium(World& world, Network& network, const Collective& collective, GroupLinks& links);
  void start(Bytes bytes, Callback done) override;
  Duration least(Bytes bytes) const override { return collective_.time(bytes); }

 private:
  struct Flight {
    const std::vector<Stage>* stages = nullptr;
    std::size_t next = 0;
    Callback done;
    Held begun{};
  };
  const std::vector<Stage>& stages(Bytes bytes);
  void go_on(std::size_t place);
  void work(std::size_t place);
  void delivered(const Message& message) override;

  World& world_;
  Network& network_;
  const Collective& collective_;
  GroupLinks& links_;
  StageReasons reasons_;
  Reason sharing_in_node_;
  Reason sharing_between_nodes_;
  When serial_free_{};
  std::map<std::int64_t, std::vector<Stage>> stages_;  ///< by bytes: a group sends a few sizes
  std::vector<Flight> flights_;
  std::vector<std::size_t> free_;
};

/// Collectives as their messages, which share links with all else on the network.
class MessageMedium final : public Medium, private CollectiveUser {
 public:
  /// `placement`: the endpoint of each member. All references must outlive the medium.
  MessageMedium(World& world, Network& network, const Collective& collective, TimePerByte reduction,
                std::vector<Endpoint> placement);
  void start(Bytes bytes, Callback done) override;
  void expect_over() const override;

 private:
  struct Flight {
    Programs programs;
    std::unique_ptr<CollectivePlayer> player;  ///< null: the place is free
    Held begun{};
    Callback done;
  };
  void over(std::int32_t place) override;

  World& world_;
  Network& network_;
  const Collective& collective_;
  TimePerByte reduction_;
  std::vector<Endpoint> placement_;
  StageReasons reasons_;
  std::deque<Flight> flights_;
  std::vector<std::int32_t> free_;
};

/// Of a group of one: its collectives take no time, and are over at once.
class NoMedium final : public Medium {
 public:
  explicit NoMedium(World& world) : world_(world) {}
  void start(Bytes, Callback done) override {
    world_.engine.at(world_.present(), Phase::kComplete, [done] { done(); });
  }

 private:
  World& world_;
};

}  // namespace steptime
