// The event engine against an obvious one: a std::multimap, which keeps equal keys in the order of
// insertion.
#include "sim/events/engine.h"

#include <cstdint>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

constexpr int kPhases = 4;

/// What an event does when it runs: it writes its number down and adds `children` events, whose
/// delay and phase follow from its number.
struct Spec {
  int delay = 0;  ///< ps
  int phase = 0;
  int children = 0;
};
Spec child_of(int number, const Spec& parent) {
  return {number * 7 % 5, number * 3 % kPhases, parent.children - 1};
}

using Run = std::pair<int, std::int64_t>;  ///< number of the event, and when it ran

class Tested {
 public:
  void add(const Spec& spec) {
    const int number = static_cast<int>(ids_.size());
    specs_.push_back(spec);
    ids_.emplace_back();
    ids_.back() = engine_.after(Duration(spec.delay), static_cast<Phase>(spec.phase),
                                [this, number] { run(number); });
  }
  bool cancel(std::size_t number) { return engine_.cancel(ids_[number]); }
  bool step() { return engine_.step(); }
  std::size_t pending() const { return engine_.pending(); }
  std::uint64_t executed() const { return engine_.executed(); }
  std::size_t added() const { return ids_.size(); }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  void run(int number) {
    runs_.emplace_back(number, since_start(engine_.now()).count());
    const Spec spec = specs_[static_cast<std::size_t>(number)];
    for (int i = 0; i < spec.children; ++i)
      add(child_of(number, spec));
  }

  Engine engine_;
  std::vector<Spec> specs_;
  std::vector<EventId> ids_;
  std::vector<Run> runs_;
};

class Oracle {
 public:
  void add(const Spec& spec) {
    const int number = static_cast<int>(specs_.size());
    specs_.push_back(spec);
    events_.emplace(std::pair(now_ + spec.delay, spec.phase), number);
  }
  bool cancel(std::size_t number) {
    for (auto event = events_.begin(); event != events_.end(); ++event) {
      if (event->second == static_cast<int>(number)) {
        events_.erase(event);
        return true;
      }
    }
    return false;
  }
  bool step() {
    if (events_.empty()) return false;
    const auto [key, number] = *events_.begin();
    events_.erase(events_.begin());
    now_ = key.first;
    runs_.emplace_back(number, now_);
    const Spec spec = specs_[static_cast<std::size_t>(number)];
    for (int i = 0; i < spec.children; ++i)
      add(child_of(number, spec));
    return true;
  }
  std::size_t pending() const { return events_.size(); }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  std::int64_t now_ = 0;
  std::multimap<std::pair<std::int64_t, int>, int> events_;
  std::vector<Spec> specs_;
  std::vector<Run> runs_;
};

RC_GTEST_PROP(Engine, DoesWhatAMultimapDoes, ()) {
  Tested tested;
  Oracle oracle;
  const int commands = *rc::gen::inRange(0, 200);
  for (int i = 0; i < commands; ++i) {
    switch (*rc::gen::weightedElement<int>({{5, 0}, {2, 1}, {3, 2}})) {
      case 0: {
        const Spec spec{*rc::gen::inRange(0, 6), *rc::gen::inRange(0, kPhases),
                        *rc::gen::inRange(0, 3)};
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
  RC_ASSERT(tested.executed() == oracle.runs().size());
}

}  // namespace
}  // namespace steptime
