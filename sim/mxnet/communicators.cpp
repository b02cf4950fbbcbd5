#include "sim/mxnet/communicators.h"

#include "sim/collective/message_time.h"
#include "sim/core/error.h"

#include <algorithm>
#include <utility>

namespace steptime {

Communicators::Communicators(World& world, const TrainingGraph& graph, const Ways& ways,
                             std::int32_t ranks, std::int32_t count, Listener& listener)
    : world_(world), graph_(graph), ways_(ways), count_(count), planned_(graph) {
  if (ways.played)
    routes_ = std::make_unique<Machine>(*ways.played->cluster);
  else
    routes_ = std::make_unique<TimedLinks>(1);
  network_ =
      &world.connect(*routes_, ways.played ? ways.played->cluster->messages : MessageOptions{});
  for (std::int32_t i = 0; i <= count; ++i) {
    Group& group = groups_.emplace_back(world, Name{"communicator", i},
                                        static_cast<std::size_t>(ranks), medium(i));
    if (i < count) group.watch(&told_.emplace_back(*this, group, listener));
  }
}

std::unique_ptr<Medium> Communicators::medium(std::int32_t communicator) {
  if (ways_.real != nullptr) return ways_.real->medium(world_.engine, communicator);
  if (communicator == count_) {
    return std::make_unique<AloneMedium>(
        world_, planned_, [time = ways_.barrier](Bytes) { return time; }, nullptr);
  }
  if (!ways_.played) return std::make_unique<FlowMedium>(world_, *network_, planned_, links_);
  return std::make_unique<MessageMedium>(world_, *network_, *ways_.played->collective,
                                         ways_.played->cluster->reduction, std::vector<Endpoint>{});
}

/// Keys above steps, so that neither is mistaken for the other.
Group::Subject Communicators::call_for(Subject subject) const {
  if (subject.key == kBarrier) return {Bytes{0}, 0};
  const auto keys = static_cast<std::int64_t>(graph_.keys.size());
  return {graph_.keys[static_cast<std::size_t>(subject.key)].bytes,
          subject.step * keys + subject.key};
}

Communicators::Subject Communicators::subject_of(const Group::Subject& call) const {
  const auto keys = static_cast<std::int64_t>(graph_.keys.size());
  return {static_cast<std::int32_t>(call.number % keys), call.number / keys};
}

double Communicators::play_cost() const {
  if (!ways_.played) return 0;
  double cost = 0;
  for (const GradientKey& key : graph_.keys)
    cost += steptime::play_cost(ways_.played->collective->programs(key.bytes), *routes_);
  return cost;
}

void Communicators::expect_over() const {
  for (const Group& group : groups_)
    group.medium().expect_over();
}

std::vector<Communicators::Stuck> Communicators::stuck() const {
  std::vector<Stuck> all;
  for (std::int32_t i = 0; i <= count_; ++i) {
    for (const auto& [rank, number, subject] : groups_[static_cast<std::size_t>(i)].open()) {
      all.push_back({static_cast<std::int32_t>(rank), i, number,
                     i == count_ ? Subject{} : subject_of(subject)});
    }
  }
  return all;
}

Communicators::Planned::Planned(const TrainingGraph& graph) {
  for (const GradientKey& key : graph.keys)
    costs_.emplace_back(key.bytes.count, key.cost);
  const auto smaller = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(costs_.begin(), costs_.end(), smaller);
}

std::vector<Stage> Communicators::Planned::stages(Bytes m) const {
  const auto cost =
      std::lower_bound(costs_.begin(), costs_.end(), m.count,
                       [](const auto& each, std::int64_t bytes) { return each.first < bytes; });
  STEPTIME_CHECK(cost != costs_.end() && cost->first == m.count, "a key's size is in the plan");
  return {{.startup = cost->second.startup, .work = cost->second.work}};
}

Duration Communicators::Planned::time(Bytes m) const {
  const Stage only = stages(m).front();
  return only.startup + only.work;
}

void Communicators::Told::began(std::int64_t call, Bytes) {
  listener_.collective_started(all_.subject_of(group_.subject(call)));
}

void Communicators::Told::ended(std::int64_t call, Bytes, Time) {
  listener_.collective_ended(all_.subject_of(group_.subject(call)));
}

}  // namespace steptime
