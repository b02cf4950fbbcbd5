#include "sim/runtime/mediums.h"

#include <algorithm>
#include <utility>

namespace steptime {

AloneMedium::AloneMedium(World& world, const Collective& collective, TimeOf time, PartsOf parts)
    : world_(world),
      collective_(collective),
      time_(std::move(time)),
      parts_(std::move(parts)),
      reasons_(world.engine) {}

void AloneMedium::start(Bytes bytes, Callback done) {
  const PlayedParts parts = parts_ ? parts_(bytes) : PlayedParts{};
  const When end = reasons_.end(world_.engine, world_.present(), collective_, bytes, time_(bytes),
                                parts_ ? &parts : nullptr);
  world_.engine.at(end, Phase::kComplete, [done] { done(); });
}

FlowMedium::FlowMedium(World& world, Network& network, const Collective& collective,
                       GroupLinks& links)
    : world_(world),
      network_(network),
      collective_(collective),
      links_(links),
      reasons_(world.engine),
      sharing_in_node_(
          world.engine.reason("sharing with other collectives", StageReasons::kInNodeLinks)),
      sharing_between_nodes_(world.engine.reason("sharing with other collectives",
                                                 StageReasons::kBetweenNodesLinks)) {}

std::vector<Stage> stages_on(const GroupLinks& links, const Collective& collective, Bytes bytes) {
  std::vector<Stage> stages = collective.stages(bytes);
  if (!stages.empty() || !links.known_by_time) return stages;
  const Duration whole = collective.time(bytes);
  const Duration startup = std::min(whole, collective.startup());
  return {{.where = *links.known_by_time, .startup = startup, .work = whole - startup}};
}

const std::vector<Stage>& FlowMedium::stages(Bytes bytes) {
  const auto [at, is_new] = stages_.try_emplace(bytes.count);
  if (is_new) at->second = stages_on(links_, collective_, bytes);
  return at->second;
}

void FlowMedium::start(Bytes bytes, Callback done) {
  const std::vector<Stage>& stages = this->stages(bytes);
  if (stages.empty()) {
    Engine& engine = world_.engine;
    serial_free_ = engine.until(later(engine.present(), serial_free_), collective_.time(bytes),
                                reasons_.alone());
    engine.at(serial_free_, Phase::kComplete, [done] { done(); });
    return;
  }
  if (free_.empty()) {
    free_.push_back(flights_.size());
    flights_.emplace_back();
  }
  const std::size_t flight = free_.back();
  free_.pop_back();
  flights_[flight] = {&stages, 0, done};
  go_on(flight);
}

/// To the start-up of the next stage.
void FlowMedium::go_on(std::size_t place) {
  Flight& flight = flights_[place];
  if (flight.next == flight.stages->size()) {
    const Callback done = flight.done;
    free_.push_back(place);
    return done();
  }
  const Stage& stage = (*flight.stages)[flight.next];
  Engine& engine = world_.engine;
  engine.at(engine.until(engine.present(), stage.startup, reasons_.startup(stage)),
            Phase::kComplete, [this, place] { work(place); });
}

void FlowMedium::work(std::size_t place) {
  Flight& flight = flights_[place];
  const Stage& stage = (*flight.stages)[flight.next++];
  const bool in_node = stage.where == Pairs::kInNode;
  Engine& engine = world_.engine;
  TakenPorts* const taken = in_node ? links_.taken_in_node : links_.taken_between_nodes;
  if (taken != nullptr) {
    engine.at(taken->take(stage.work, engine.present(), reasons_.work(stage)), Phase::kComplete,
              [this, place] { go_on(place); });
    return;
  }
  flight.begun = engine.hold(engine.present());
  (in_node ? links_.worked_in_node : links_.worked_between_nodes) +=
      static_cast<double>(stage.work.count());
  network_.start(in_node ? links_.in_node : links_.between_nodes, stage.work,
                 {.sink = this, .sender = static_cast<std::int32_t>(place)});
}

void FlowMedium::delivered(const Message& message) {
  const auto place = static_cast<std::size_t>(message.sender);
  Flight& flight = flights_[place];
  const Stage& stage = (*flight.stages)[flight.next - 1];
  Engine& engine = world_.engine;
  const When begun = engine.release(flight.begun);
  const Time alone = std::min(engine.now(), begun.time + stage.work);
  const When worked = engine.until(begun, alone, reasons_.work(stage));
  const Reason sharing = stage.where == Pairs::kInNode ? sharing_in_node_ : sharing_between_nodes_;
  engine.at(engine.until(worked, engine.now(), sharing), Phase::kComplete,
            [this, place] { go_on(place); });
}

MessageMedium::MessageMedium(World& world, Network& network, const Collective& collective,
                             TimePerByte reduction, std::vector<Endpoint> placement)
    : world_(world),
      network_(network),
      collective_(collective),
      reduction_(reduction),
      placement_(std::move(placement)),
      reasons_(world.engine) {}

void MessageMedium::start(Bytes bytes, Callback done) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::int32_t>(flights_.size()));
    flights_.emplace_back();
  }
  const std::int32_t place = free_.back();
  free_.pop_back();
  Flight& flight = flights_[static_cast<std::size_t>(place)];
  flight = {collective_.programs(bytes), nullptr, world_.engine.hold(world_.present()), done};
  flight.player = std::make_unique<CollectivePlayer>(network_, flight.programs, reduction_,
                                                     std::span<const Endpoint>(placement_), nullptr,
                                                     world_.engine.keeps_causes());
  flight.player->tell(*this, place);
  flight.player->start_at(world_.now());
}

void MessageMedium::over(std::int32_t place) {
  Flight& flight = flights_[static_cast<std::size_t>(place)];
  Engine& engine = world_.engine;
  if (engine.keeps_causes()) {
    engine.because(
        reasons_.end_of_played(engine, engine.release(flight.begun), flight.player->parts()));
  }
  flight.player.reset();
  free_.push_back(place);
  const Callback done = flight.done;
  done();
}

void MessageMedium::expect_over() const {
  for (const Flight& flight : flights_) {
    if (flight.player != nullptr) flight.player->expect_over(&collective_);
  }
}

}  // namespace steptime
