#include "sim/mxnet/communicators.h"

#include "sim/collective/message_time.h"
#include "sim/core/error.h"
#include "sim/mxnet/decided_calls.h"
#include "sim/mxnet/served_calls.h"

#include <algorithm>
#include <utility>

namespace steptime {
namespace {

constexpr std::int64_t kPayloads = 3;

}  // namespace

Communicators::Communicators(World& world, const TrainingGraph& graph, const Ways& ways,
                             std::int32_t ranks, std::int32_t count, Listener& listener)
    : world_(world),
      graph_(graph),
      ways_(ways),
      count_(count),
      ranks_of_each_(ways.served == nullptr
                         ? ranks
                         : ranks / static_cast<std::int32_t>(ways.served->aggregation.clients)),
      planned_(graph, ways.links) {
  const Machine* machine = nullptr;
  if (ways.played) {
    auto made = std::make_unique<Machine>(*ways.played->cluster);
    machine = made.get();
    routes_ = std::move(made);
  } else {
    routes_ = std::make_unique<TimedLinks>(1);
  }
  if (ways.served == nullptr) {
    network_ =
        &world.connect(*routes_, ways.played ? ways.played->cluster->messages : MessageOptions{});
    if (ways.gpus != nullptr && machine != nullptr) ways.gpus->slow_links_of(*network_, *machine);
  }
  for (std::int32_t i = 0; i < count + ranks / ranks_of_each_; ++i) {
    Group& group = groups_.emplace_back(
        world, Name{"communicator", i},
        static_cast<std::size_t>(i < count ? ranks : ranks_of_each_), medium(i));
    group.watch(&told_.emplace_back(*this, group, i < count ? &listener : nullptr));
  }
  if (const Decided& by = ways.decided; by.policy) {
    others_ = std::make_unique<DecidedCalls>(world, by.policy(), by.buckets, medium_of_messages(),
                                             ranks, listener);
  }
  if (ways.served != nullptr)
    others_ =
        std::make_unique<ServedCalls>(world, *ways.served, ranks, listener, *ways.steps, ways.gpus);
}

const Callee& Communicators::callee(std::int32_t rank, std::int32_t key) {
  if (is_of_others(key)) return *others_;
  return of(rank, key);
}

/// They travel one after another, and meet nothing.
std::unique_ptr<Medium> Communicators::medium_of_messages() {
  const Collective& collective = *ways_.decided.collective;
  if (ways_.played) return slowed(played_medium());
  return slowed(std::make_unique<AloneMedium>(
      world_, collective, [&collective](Bytes bytes) { return collective.time(bytes); }, nullptr));
}

std::unique_ptr<Medium> Communicators::slowed(std::unique_ptr<Medium> medium) {
  return ways_.gpus != nullptr ? ways_.gpus->slowed(std::move(medium)) : std::move(medium);
}

std::unique_ptr<Medium> Communicators::played_medium() {
  return std::make_unique<MessageMedium>(world_, *network_, *ways_.played->collective,
                                         ways_.played->cluster->reduction, std::vector<Endpoint>{});
}

std::unique_ptr<Medium> Communicators::medium(std::int32_t communicator) {
  if (ways_.real != nullptr) return ways_.real->medium(world_.engine, communicator);
  if (communicator >= count_) {
    const Duration time = ways_.barrier;
    return std::make_unique<AloneMedium>(
        world_, planned_, [time](Bytes) { return time; },
        [time](Bytes) { return PlayedParts{.startup = time}; });
  }
  if (ways_.served != nullptr) return std::make_unique<NoMedium>(world_);
  if (ways_.played) return slowed(played_medium());
  return slowed(std::make_unique<FlowMedium>(world_, *network_, planned_, links_));
}

std::uint64_t Communicators::call(std::int32_t rank, Subject subject, When when, Callback returns) {
  if (is_of_others(subject.key)) return others_->call(rank, subject, when, returns);
  const auto member =
      static_cast<std::size_t>(subject.key == kBarrier ? rank % ranks_of_each_ : rank);
  Group& group = of(rank, subject.key);
  Engine& engine = world_.engine;
  if (!engine.keeps_causes()) return group.launch(member, call_for(subject), when.time, returns);
  told_[static_cast<std::size_t>(number_of(rank, subject.key))].called(group.calls(member), when);
  const When present = engine.present();
  const std::uint64_t number = group.launch(member, call_for(subject), when.time, returns);
  engine.because(present);  // of who else goes on now
  return number;
}

/// Steps above keys above payloads, so that none is mistaken for another.
Group::Subject Communicators::call_for(Subject subject) const {
  if (subject.key == kBarrier) return {Bytes{0}, 0};
  const auto keys = static_cast<std::int64_t>(graph_.keys.size());
  return {
      graph_.keys[static_cast<std::size_t>(subject.key)].bytes,
      (subject.step * keys + subject.key) * kPayloads + static_cast<std::int64_t>(subject.payload)};
}

Communicators::Subject Communicators::subject_of(const Group::Subject& call) const {
  const auto keys = static_cast<std::int64_t>(graph_.keys.size());
  const std::int64_t place = call.number / kPayloads;
  return {static_cast<std::int32_t>(place % keys), place / keys,
          static_cast<Payload>(call.number % kPayloads)};
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
  if (others_ != nullptr) others_->expect_over();
}

std::vector<Communicators::Stuck> Communicators::stuck() const {
  std::vector<Stuck> all;
  if (others_ != nullptr) all = others_->stuck();
  for (std::int32_t i = 0; i < std::ssize(groups_); ++i) {
    const std::int32_t first = i < count_ ? 0 : (i - count_) * ranks_of_each_;
    for (const auto& [member, number, subject] : groups_[static_cast<std::size_t>(i)].open()) {
      all.push_back({first + static_cast<std::int32_t>(member), i, number,
                     i < count_ ? subject_of(subject) : Subject{}});
    }
  }
  return all;
}

Communicators::Planned::Planned(const TrainingGraph& graph, Pairs links) : links_(links) {
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
  return {{.where = links_, .startup = cost->second.startup, .work = cost->second.work}};
}

Duration Communicators::Planned::time(Bytes m) const {
  const Stage only = stages(m).front();
  return only.startup + only.work;
}

void Communicators::Told::called(std::int64_t call, When when) {
  const auto place = static_cast<std::size_t>(call - began_);
  if (place == last_.size())
    last_.push_back(when);
  else
    last_[place] = later(last_[place], when);
}

/// Because of the last one to call it, who may have run ahead of the clock; or of what ran on the
/// communicator before it.
void Communicators::Told::began(std::int64_t call, Bytes) {
  Engine& engine = all_.world_.engine;
  if (engine.keeps_causes()) {
    if (last_.front().time == engine.now()) engine.because(last_.front());
    last_.pop_front();
    ++began_;
  }
  if (listener_ != nullptr) listener_->collective_started(all_.subject_of(group_.subject(call)));
}

void Communicators::Told::ended(std::int64_t call, Bytes, Time) {
  if (listener_ != nullptr) listener_->collective_ended(all_.subject_of(group_.subject(call)));
}

}  // namespace steptime
