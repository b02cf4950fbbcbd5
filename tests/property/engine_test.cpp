// The engine, with its lanes, against an obvious one: a std::multimap, which keeps equal keys in
// the order of insertion.
#include "sim/events/engine.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <ostream>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

// Where an event stands within its instant: an item of a lane, or a phase of the heap.
constexpr int kItem = 0;
constexpr int kPlaces = 6;
constexpr int kObserve = 5;
constexpr Phase phase_of(int place) {
  return static_cast<Phase>(place - 1);
}
constexpr int kSettled = -1;  // in the place of a number in what ran

/// What an event does when it runs: it writes its number down, asks its lane to settle, and adds
/// `children` events, whose delay and place follow from its number.
struct Spec {
  int delay = 0;  ///< ps
  int place = 0;
  int lane = 0;
  int children = 0;
  bool settles = false;
};
Spec child_of(int number, const Spec& parent) {
  return {number * 7 % 5, number * 3 % kPlaces, number % 2, parent.children - 1, number % 3 == 0};
}

using Run = std::pair<int, std::int64_t>;  ///< number of the event, and when it ran

class Tested {
 public:
  void add(const Spec& spec) {
    const int number = static_cast<int>(ids_.size());
    specs_.push_back(spec);
    ids_.emplace_back();
    if (spec.place == kItem) {
      lanes_[static_cast<std::size_t>(spec.lane)].push(Duration(spec.delay), number);
    } else {
      ids_.back() = engine_.after(Duration(spec.delay), phase_of(spec.place),
                                  [this, number] { run(number); });
    }
  }
  bool cancel(std::size_t number) { return engine_.cancel(ids_[number]); }
  bool step() { return engine_.step(); }
  std::size_t pending() const { return engine_.pending(); }
  std::uint64_t executed() const { return engine_.executed(); }
  std::size_t added() const { return ids_.size(); }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  class TestedLane final : public Lane {
   public:
    TestedLane(Engine& engine, Tested& tested) : Lane(engine), tested_(tested) {}
    void push(Duration delay, int number) {
      add(now() + delay, {static_cast<std::uint32_t>(number), 0});
    }
    void unsettle() {
      if (!std::exchange(is_unsettled_, true)) settle_later();
    }

   private:
    bool ran(Item item) override {
      tested_.run(static_cast<int>(item.index));
      return true;
    }
    void settle() override {
      is_unsettled_ = false;
      tested_.note(kSettled);
    }
    Tested& tested_;
    bool is_unsettled_ = false;
  };

  void note(int number) { runs_.emplace_back(number, since_start(engine_.now()).count()); }
  void run(int number) {
    note(number);
    const Spec spec = specs_[static_cast<std::size_t>(number)];
    if (spec.settles) lanes_[static_cast<std::size_t>(spec.lane)].unsettle();
    for (int i = 0; i < spec.children; ++i)
      add(child_of(number, spec));
  }

  Engine engine_;
  std::array<TestedLane, 2> lanes_{TestedLane{engine_, *this}, TestedLane{engine_, *this}};
  std::vector<Spec> specs_;
  std::vector<EventId> ids_;
  std::vector<Run> runs_;
};

class Oracle {
 public:
  void add(const Spec& spec) {
    const int number = static_cast<int>(specs_.size());
    specs_.push_back(spec);
    events_.emplace(std::pair(now_ + spec.delay, spec.place), number);
  }
  bool cancel(std::size_t number) {
    for (auto event = events_.begin(); event != events_.end(); ++event) {
      if (event->second == static_cast<int>(number) && event->first.second != kItem) {
        events_.erase(event);
        return true;
      }
    }
    return false;
  }
  bool step() {
    const auto first = events_.begin();
    if (first == events_.end() || first->first >= std::pair(now_, kObserve)) settle();
    if (first == events_.end()) return false;
    const auto [key, number] = *first;
    events_.erase(first);
    now_ = key.first;
    runs_.emplace_back(number, now_);
    ++executed_;
    const Spec spec = specs_[static_cast<std::size_t>(number)];
    if (spec.settles) is_unsettled_[static_cast<std::size_t>(spec.lane)] = true;
    for (int i = 0; i < spec.children; ++i)
      add(child_of(number, spec));
    return true;
  }
  std::size_t pending() const {
    return static_cast<std::size_t>(
        std::count_if(events_.begin(), events_.end(),
                      [](const auto& event) { return event.first.second != kItem; }));
  }
  std::uint64_t executed() const { return executed_; }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  void settle() {
    for (bool& unsettled : is_unsettled_) {
      if (std::exchange(unsettled, false)) runs_.emplace_back(kSettled, now_);
    }
  }

  std::int64_t now_ = 0;
  std::multimap<std::pair<std::int64_t, int>, int> events_;  ///< by time and place
  std::array<bool, 2> is_unsettled_{};
  std::vector<Spec> specs_;
  std::vector<Run> runs_;
  std::uint64_t executed_ = 0;
};

Spec arbitrary_spec() {
  return {*rc::gen::inRange(0, 6), *rc::gen::inRange(0, kPlaces), *rc::gen::inRange(0, 2),
          *rc::gen::inRange(0, 3), *rc::gen::arbitrary<bool>()};
}

RC_GTEST_PROP(Engine, DoesWhatAMultimapDoes, ()) {
  Tested tested;
  Oracle oracle;
  const int commands = *rc::gen::inRange(0, 200);
  for (int i = 0; i < commands; ++i) {
    switch (*rc::gen::weightedElement<int>({{5, 0}, {2, 1}, {3, 2}})) {
      case 0: {
        const Spec spec = arbitrary_spec();
        tested.add(spec);
        oracle.add(spec);
        break;
      }
      case 1:
        if (tested.added() > 0) {
          const auto number = *rc::gen::inRange<std::size_t>(0, tested.added());
          RC_ASSERT(tested.cancel(number) == oracle.cancel(number));
        }
        break;
      default:
        RC_ASSERT(tested.step() == oracle.step());
    }
    RC_ASSERT(tested.pending() == oracle.pending());
  }
  while (oracle.step())
    RC_ASSERT(tested.step());
  RC_ASSERT_FALSE(tested.step());
  RC_ASSERT(tested.runs() == oracle.runs());
  RC_ASSERT(tested.executed() == oracle.executed());
}

/// Runs these events, none of which adds others, and returns what ran.
std::vector<Run> runs_of(const std::vector<Spec>& specs, const std::vector<std::size_t>& order) {
  Tested tested;
  for (const std::size_t which : order)
    tested.add(specs[which]);
  while (tested.step()) {
  }
  std::vector<Run> runs = tested.runs();
  for (auto& [number, time] : runs) {  // numbers are those of insertion
    if (number != kSettled) number = static_cast<int>(order[static_cast<std::size_t>(number)]);
  }
  return runs;
}

// Metamorphic: the place within an instant decides before the order of insertion does, so that
// events of different places may be inserted in any order.
RC_GTEST_PROP(Engine, InsertionsAtDifferentPlacesMayBePermuted, ()) {
  std::vector<Spec> specs;
  for (int i = *rc::gen::inRange(0, 60); i > 0; --i) {
    specs.push_back(arbitrary_spec());
    specs.back().children = 0;
    specs.back().lane = 0;
  }
  std::vector<std::size_t> order(specs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<Run> expected = runs_of(specs, order);
  std::array<int, kPlaces> first{};  // an order of the places
  for (int& place : first)
    place = *rc::gen::inRange(0, 1000);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return first[static_cast<std::size_t>(specs[a].place)] <
           first[static_cast<std::size_t>(specs[b].place)];
  });
  RC_ASSERT(runs_of(specs, order) == expected);
}

// Metamorphic: where nothing else completes, an item of a lane and an event that completes are one.
RC_GTEST_PROP(Engine, TheLaneIsAsGoodAsTheHeap, ()) {
  constexpr int kComplete = 1;
  std::vector<Spec> items;
  for (int i = *rc::gen::inRange(0, 60); i > 0; --i) {
    items.push_back(arbitrary_spec());
    items.back().children = 0;
    if (items.back().place == kComplete) items.back().place = kItem;
  }
  std::vector<Spec> events = items;
  for (Spec& event : events)
    event.place = std::max(event.place, kComplete);
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  RC_ASSERT(runs_of(events, order) == runs_of(items, order));
}

}  // namespace
}  // namespace steptime
