#include "sim/mxnet/played_collectives.h"

#include "sim/collective/message_time.h"
#include "sim/core/error.h"

#include <algorithm>
#include <utility>

namespace steptime {

PlayedCollectives::PlayedCollectives(Engine& clock, const TrainingGraph& graph,
                                     const Cluster& cluster, const Collective& collective)
    : clock_(clock),
      graph_(graph),
      cluster_(cluster),
      collective_(collective),
      machine_(cluster),
      network_(clock, machine_, cluster.messages) {}

void PlayedCollectives::start(std::int32_t key, Callback done) {
  if (starting_.empty()) clock_.at(clock_.now(), Phase::kSchedule, [this] { start_all(); });
  const bool is_new = starting_.emplace(key, done).second;
  STEPTIME_CHECK(is_new, "an all-reduce of a key starts twice at one instant");
}

void PlayedCollectives::start_all() {
  for (const auto& [key, done] : std::exchange(starting_, {})) {
    const auto free = std::find_if(flights_.begin(), flights_.end(),
                                   [](const Flight& flight) { return flight.player == nullptr; });
    const auto place = static_cast<std::int32_t>(free - flights_.begin());
    if (free == flights_.end()) flights_.emplace_back();
    Flight& flight = flights_[static_cast<std::size_t>(place)];
    flight = {std::make_unique<CollectivePlayer>(network_, programs(key), cluster_.reduction),
              done};
    flight.player->tell(*this, place);
    flight.player->start_at(clock_.now());
  }
}

void PlayedCollectives::over(std::int32_t place) {
  Flight& flight = flights_[static_cast<std::size_t>(place)];
  flight.player.reset();
  const Callback done = flight.done;  // which may start others
  done();
}

void PlayedCollectives::expect_over() const {
  for (const Flight& flight : flights_) {
    if (flight.player != nullptr) flight.player->expect_over(&collective_);
  }
}

const Programs& PlayedCollectives::programs(std::int32_t key) {
  const Bytes bytes = graph_.keys[static_cast<std::size_t>(key)].bytes;
  const auto [known, is_new] = programs_.try_emplace(bytes.count);
  if (is_new) known->second = collective_.programs(bytes);
  return known->second;
}

double PlayedCollectives::play_cost() const {
  double cost = 0;
  for (const GradientKey& key : graph_.keys)
    cost += steptime::play_cost(collective_.programs(key.bytes), machine_);
  return cost;
}

}  // namespace steptime
