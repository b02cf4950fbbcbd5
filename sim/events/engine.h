// The clock: what happens in simulated time happens in the order of one engine, a total order, so
// that a run is the same for any compiler and any thread count. Nothing else advances time.
//
// At one instant come first the items of lanes, in the order of insertion (what is delivered has
// arrived before anyone acts on it), then events by phase, and within a phase in the order of
// insertion: what completes, what starts, decisions of one rank, those of all. When nothing of
// these is left, the lanes that asked for it settle, once: they see the whole instant. Observers
// come last, and see what settled. Whatever any of them adds to the same instant takes its place in
// this order, and what it unsettles is settled again before time moves on.
#pragma once
#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/core/units.h"
#include "sim/events/callback.h"
#include "sim/events/causes.h"
#include "sim/events/delivery_queue.h"
#include "sim/events/event_queue.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace steptime {

enum class Phase : std::uint8_t {
  kComplete,  ///< work that ends frees its resource before anyone looks for one
  kNormal,
  kSchedule,  ///< decisions see everything that happened at this instant
  kAgree,     ///< decisions for all ranks see what each one's own have led to
  kObserve,
};
inline constexpr std::size_t kPhases = 5;

/// When an event of the heap runs, but for the order of insertion.
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

[[noreturn]] void refuse_range();
/// Throws RangeError for a time beyond the range of simulated time.
inline Time time_after(Time time, Duration delay) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(since_start(time).count(), delay.count(), &sum)) [[unlikely]]
    refuse_range();
  return Time(Duration(sum));
}

class Lane;

class Engine {
 public:
  /// An action is a small trivially copyable callable (a lambda over pointers and numbers): it is
  /// stored in a slab of cache lines, without an allocation per event.
  static constexpr std::size_t kActionBytes = 48;

  /// `causes`: what keeps them, and outlives the engine; null: nobody does.
  explicit Engine(Causes* causes = nullptr) : causes_(causes) {}

  Time now() const { return now_; }
  /// Events that have neither run nor been cancelled; items of lanes do not count.
  std::size_t pending() const { return pending_; }
  bool has_items() const { return items_ != nullptr && !items_->empty(); }
  /// Events and items that ran.
  std::uint64_t executed() const { return executed_; }
  /// Hash over time, phase and insertion number of every event that ran, and over time, lane and
  /// index of every item, in order.
  std::uint64_t fingerprint() const { return fingerprint_; }

  /// Runs `action` at `time`, which must not lie in the past.
  template <class Action>
  EventId at(Time time, Phase phase, Action action) {
    const EventId event = add(time, phase, action);
    if (causes_ != nullptr) [[unlikely]]
      keep_cause(event.slot, until(present(), time, Reason{}));
    return event;
  }
  /// The same, with what led to that time.
  template <class Action>
  EventId at(When when, Phase phase, Action action) {
    const EventId event = add(when.time, phase, action);
    if (causes_ != nullptr) [[unlikely]]
      keep_cause(event.slot, when);
    return event;
  }
  template <class Action>
  EventId after(Duration delay, Phase phase, Action action) {
    return at(time_after(now_, delay), phase, action);
  }

  // Of causes; without them what these return has none.
  bool keeps_causes() const { return causes_ != nullptr; }
  /// Now, with what led to the event that runs.
  When present() {
    if (causes_ == nullptr) return When(now_);
    if (cause_.time != now_) [[unlikely]]  // an item of a lane that said nothing may run
      cause_ = causes_->until(cause_, now_, Reason{});
    return cause_;
  }
  /// What follows at this instant follows from `when`.
  void because(When when) { cause_ = when; }
  When until(When since, Time end, Reason reason) {
    if (causes_ == nullptr) [[likely]]
      return When(end);
    if (end < since.time) [[unlikely]]
      refuse(end);
    return causes_->until(since, end, reason);
  }
  When until(When since, Time end, const Stretches& stretches) {
    return causes_ == nullptr ? When(end) : causes_->until(since, end, stretches);
  }
  /// The same, for who keeps `since` as its own and only makes it longer: for the reason that it
  /// has, or else as above.
  When lengthen(When since, Time end, Reason reason) {
    if (causes_ == nullptr) [[likely]]
      return When(end);
    if (!Causes::lasts(since, reason) || end < since.time) [[unlikely]]
      return begin_another(since, end, reason);
    return causes_->lengthen(since, end);
  }
  When lengthen(When since, Duration length, Reason reason) {
    return lengthen(since, time_after(since.time, length), reason);
  }
  When until(When since, Duration length, Reason reason) {
    return until(since, time_after(since.time, length), reason);
  }
  Held hold(When when) {
    if (when.cause != 0) causes_->hold(when);
    return {when};
  }
  When release(Held held) {
    if (held.when.cause != 0) causes_->let_go(held.when);
    return held.when;
  }
  Reason reason(std::string_view cause, std::string_view resource) {
    return causes_ == nullptr ? Reason{} : causes_->reason(cause, resource);
  }
  Reason reason(const Stretches& stretches) {
    return causes_ == nullptr ? Reason{} : causes_->reason(stretches);
  }

  /// False when the event has run or was cancelled before.
  bool cancel(EventId id);

  /// Of the next event, items of lanes aside.
  std::optional<Moment> next();
  /// Runs the next event or item; false when none is left.
  bool step() { return run(1) == 1; }
  /// Runs until nothing is left.
  void run() { run(std::numeric_limits<std::uint64_t>::max()); }
  /// Runs at most so many events and items, and returns how many: fewer when nothing is left.
  std::uint64_t run(std::uint64_t most);

 private:
  friend class Lane;

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

  template <class Action>
  EventId add(Time time, Phase phase, Action action) {
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
  /// False when the event was cancelled.
  bool run_event(const Event& first);
  bool items_come_next();
  /// False when the item stood for nothing any more.
  bool run_item();
  void settle();
  When begin_another(When since, Time end, Reason reason);
  void keep_cause(std::uint32_t slot, When when) {
    if (slot >= slot_causes_.size()) slot_causes_.resize(slots_.size());
    slot_causes_[slot] = when.cause;
  }

  // What every event needs comes first: with many engines it is not in the cache.
  Time now_{};
  std::unique_ptr<DeliveryQueue> items_;  ///< none before there is a lane: most engines have none
  std::vector<Lane*> unsettled_;          ///< in the order in which they asked
  std::vector<Slot> slots_;
  std::uint32_t free_head_ = kNone;
  std::uint32_t due_phases_ = 0;  ///< a bit for each queue that is not empty
  std::uint64_t next_order_ = 1;  ///< 0 is the order of an EventId that names nothing
  std::size_t pending_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t fingerprint_ = kFingerprintSeed;
  Causes* causes_;
  // A cancelled event stays in it until it comes up; its order no longer matches its slot's.
  EventQueue later_;
  std::array<DueQueue, kPhases> due_;  ///< by phase
  std::vector<Lane*> lanes_;
  When cause_{};                      ///< what led to the event that runs now
  std::vector<CauseId> slot_causes_;  ///< by slot; none without causes
};

/// The events of a domain that runs ahead of an engine (run_ahead.h), and its own time. They are
/// few, and one array that stays in the cache holds them, in the engine's order but for decisions.
class EventsAhead {
 public:
  struct Event {
    Moment moment;
    CauseId led = 0;  ///< what led to the event
    Callback run;
  };

  Time now() const { return now_; }
  void add(const Event& event);
  bool empty() const { return events_.empty(); }
  /// Of the next event; there must be one.
  const Moment& next() const { return events_.back().moment; }
  /// Whether none is left at this time or before it.
  bool none_until(Time time) const { return empty() || next().time > time; }
  /// Takes out the next event: its time is now.
  Event take();
  /// Lets time pass to `end`, which no event lies before.
  void pass_to(Time end) { now_ = end; }

 private:
  Time now_{};
  std::vector<Event> events_;  ///< the next one last; a rank of many has some ten of them at most
};

/// Who has so many small events that they get a queue of their own in the engine, such as a
/// network: an item takes 8 bytes, and those of one instant share a list. An engine has up to 16
/// lanes; each must outlive what it has added.
class Lane {
 public:
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  Engine& engine() const { return engine_; }
  Time now() const { return engine_.now_; }

 protected:
  using Item = DeliveryQueue::Item;
  static constexpr int kIndexBits = 28;  ///< bits of an item's index; those above name the lane

  /// Throws InternalError when the engine has all its lanes.
  explicit Lane(Engine& engine);
  /// ran(item) at `time`, which must not lie in the past. `item.index` is less than 2^kIndexBits.
  void add(Time time, Item item) {
    if (time < engine_.now_) [[unlikely]]
      engine_.refuse(time);
    engine_.items_->push(time, {item.index | bits_, item.tag});
  }
  /// settle() at this instant; to be asked for once until it comes.
  void settle_later() { engine_.unsettled_.push_back(this); }

 private:
  friend class Engine;
  /// An item's time has come; false when it stands for nothing any more and leaves no mark.
  virtual bool ran(Item item) = 0;
  /// All of this instant has happened, and time moves on unless this adds to it.
  virtual void settle() = 0;

  Engine& engine_;
  std::uint32_t bits_;  ///< the lane's number, where an item has it
};

}  // namespace steptime
