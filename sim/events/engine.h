// Discrete-event engine. Events run in (time, phase, insertion) order: a total order, so a run is
// the same for any compiler and any thread count.
#pragma once
#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/core/units.h"
#include "sim/events/event_queue.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace steptime {

enum class Phase : std::uint8_t {
  kComplete,  ///< work that ends frees its resource before anyone looks for one
  kNormal,
  kSchedule,  ///< decisions see everything that happened at this instant
  kObserve,
};

/// When an event runs, but for the order of insertion.
struct Moment {
  Time time{};
  Phase phase = Phase::kComplete;
  friend auto operator<=>(const Moment&, const Moment&) = default;
};

/// Names an event until it ran or was cancelled; afterwards it names nothing.
struct EventId {
  std::uint64_t order = 0;
  std::uint32_t slot = 0;
};

class Engine {
 public:
  /// An action is a small trivially copyable callable (a lambda over pointers and numbers): it is
  /// stored in a slab of cache lines, without an allocation per event.
  static constexpr std::size_t kActionBytes = 48;

  Time now() const { return now_; }
  std::size_t pending() const { return pending_; }
  std::uint64_t executed() const { return executed_; }
  /// Hash over time, phase and insertion number of every event that ran, in order.
  std::uint64_t fingerprint() const { return fingerprint_; }

  /// Runs `action` at `time`, which must not lie in the past.
  template <class Action>
  EventId at(Time time, Phase phase, Action action) {
    static_assert(std::is_trivially_copyable_v<Action> && sizeof(Action) <= kActionBytes);
    if (time < now_) [[unlikely]]
      refuse(time);
    const std::uint32_t slot = take_slot();
    Slot& s = slots_[slot];
    s.order = (static_cast<std::uint64_t>(phase) << kPhaseShift) | next_order_++;
    s.run = [](void* stored) { (*static_cast<Action*>(stored))(); };
    std::memcpy(s.action, &action, sizeof(Action));
    if (time == now_)
      push_due(phase, {s.order, slot});
    else
      later_.push({since_start(time).count(), s.order, slot});
    ++pending_;
    return {s.order, slot};
  }
  template <class Action>
  EventId after(Duration delay, Phase phase, Action action) {
    std::int64_t time = 0;
    if (__builtin_add_overflow(since_start(now_).count(), delay.count(), &time)) [[unlikely]]
      refuse(Time::min());
    return at(Time(Duration(time)), phase, action);
  }

  /// False when the event has run or was cancelled before.
  bool cancel(EventId id);

  /// Of the next event.
  std::optional<Moment> next();
  /// Runs the next event; false when none is left.
  bool step();
  /// Runs until no event is left.
  void run() {
    while (step()) {
    }
  }

 private:
  /// Throws RangeError for a time that left the range of simulated time: a sum of two times in it
  /// wraps around to a negative one.
  [[noreturn]] void refuse(Time time) const;

  static constexpr int kPhaseShift = 60;
  static constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  using Event = EventQueue::Event;  ///< order: phase, then insertion number
  /// An event of the present instant: a queue of each phase takes them without a sift.
  struct Due {
    std::uint64_t order;
    std::uint32_t slot;
  };
  struct DueQueue {
    std::vector<Due> events;
    std::size_t head = 0;
  };
  struct alignas(64) Slot {
    std::uint64_t order = kFree;
    void (*run)(void*) = nullptr;
    alignas(std::max_align_t) unsigned char action[kActionBytes];
  };

  std::uint32_t take_slot();
  void free_slot(std::uint32_t slot);
  void push_due(Phase phase, Due event) {
    due_[static_cast<std::size_t>(phase)].events.push_back(event);
    due_phases_ |= 1U << static_cast<unsigned>(phase);
  }
  /// The first event, be it cancelled or not; false when there is none.
  bool front(Event& first) const;
  /// Takes it out.
  void drop(const Event& first);

  // A cancelled event stays in it until it comes up; its order no longer matches its slot's.
  EventQueue later_;
  std::array<DueQueue, 4> due_;   ///< by phase
  std::uint32_t due_phases_ = 0;  ///< a bit for each queue that is not empty
  std::vector<Slot> slots_;
  std::uint32_t free_head_ = kNone;
  std::uint64_t next_order_ = 1;  ///< 0 is the order of an EventId that names nothing
  std::size_t pending_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t fingerprint_ = kFingerprintSeed;
  Time now_{};
};

}  // namespace steptime
