// What a run has one of: the clock and its programs. A program is a coroutine that blocks, reads as
// the framework's own thread does, and belongs to a named thread.
//
//   Task worker(World& world, Group& all) {
//     co_await world.at(world.engine.until(world.present(), 3ms, kernels));  // time that passes
//     co_await all.call(me, bytes);                                          // another program
//     co_await gradients.at_least(4);                                        // what others do
//   }
//
// Who decides and blocks is a program. What is under way by thousands is a record of a Group, of
// Servers or of an engine of operations, and costs no coroutine.
//
// Causes: present() is what ended now and let the program run. The event that wakes the program
// carries it, so that no program hands causes on.
//
// Order of one instant: the network; what completes; programs that become ready, in the order in
// which they were woken; decisions; what the network then settles; observers. A program that throws
// ends the run there and then. A run ends when nothing happens any more, or when only threads that
// serve are left. One that cannot progress is a failure: programs that go on for ever without time
// passing, or threads that serve and go on while all others wait.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

class World;
class Awaited;
class Network;
class Routes;
struct MessageOptions;

/// "worker 3", or "bucket 2 of client 1"; a number below 0 is left out.
struct Name {
  const char* what = "";
  std::int64_t number = -1;
  const char* of = "";
  std::int64_t of_number = -1;
  std::string text() const;
};

/// A program that was spawned, with those that it awaits.
struct Thread {
  Name name;
  const Awaited* waits_for = nullptr;  ///< without a time at which the wait ends; null: for a time
  std::int64_t needs = 0;              ///< how much of `waits_for` the thread waits for
  std::uint32_t waits = 0;             ///< so many so far that were not for a time
  bool serves = false;                 ///< waits for ever when nobody asks it any more
  Thread* before = nullptr;
  Thread* after = nullptr;
};

/// Anything that a program can wait for without knowing until when.
class Awaited {
 public:
  explicit Awaited(Name name) : name_(name) {}
  virtual ~Awaited() = default;
  const Name& name() const { return name_; }
  /// For whom who `needs` so much of it waits, in words.
  virtual std::string tell(std::int64_t needs) const = 0;

 private:
  Name name_;
};

/// The memory of coroutines, from free lists by size: a run that is under way allocates nothing.
class Frames {
 public:
  static void* take(std::size_t bytes);
  static void give(void* frame, std::size_t bytes);
};

/// A program, which is lazy: it runs when it is awaited or spawned.
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    Handle caller{};
    Thread* thread = nullptr;
    /// Where it was spawned; such a program ends by itself. Null: another one awaits it.
    World* world = nullptr;
    std::exception_ptr error{};

    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Return {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(Handle self) noexcept;
      void await_resume() noexcept {}
    };
    Return final_suspend() noexcept { return {}; }
    void return_void() {}
    /// Of a thread it ends the run, since others may point into its frame.
    void unhandled_exception() {
      if (world != nullptr) throw;
      error = std::current_exception();
    }
    static void* operator new(std::size_t bytes) { return Frames::take(bytes); }
    static void operator delete(void* frame, std::size_t bytes) { Frames::give(frame, bytes); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Awaiting a program runs it to its end.
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(Handle caller) {
    handle_.promise().caller = caller;
    handle_.promise().thread = caller.promise().thread;
    return handle_;
  }
  void await_resume() const {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
  }

 private:
  friend class World;
  explicit Task(Handle handle) : handle_(handle) {}
  Handle handle_;
};
/// A program that has been suspended.
using Suspended = Task::Handle;

class World {
 public:
  /// `causes`: what keeps them, and outlives the world; null: nobody does.
  explicit World(Causes* causes = nullptr);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  Engine engine;
  Time now() const { return engine.now(); }
  When present() { return engine.present(); }

  /// Makes the network of the run, once. `routes` must outlive all that happens on it.
  Network& connect(const Routes& routes, const MessageOptions& options);

  /// The program is a thread of its own from `when` on. `serves`: it waits for ever when nobody
  /// asks it any more, and that is no deadlock.
  void spawn(Name name, Task process, When when, bool serves = false);
  void spawn(Name name, Task process) { spawn(name, std::move(process), present()); }
  /// The same, but it runs now, until it first waits.
  void start(Name name, Task process);

  struct Until {
    World& world;
    When when;
    Phase phase;
    bool await_ready() const { return false; }
    void await_suspend(Suspended program) const { world.wake(program, when, phase); }
    void await_resume() const {}
  };
  /// Awaited: the program goes on then.
  Until at(When when, Phase phase = Phase::kNormal) { return {*this, when, phase}; }
  Until pause(Duration length, Reason reason) {
    return at(engine.until(present(), length, reason));
  }
  /// Awaited: the program goes on when all of this instant has happened.
  Until decide() { return at(present(), Phase::kSchedule); }
  /// Resumes a program then. For what programs wait for.
  EventId wake(Suspended program, When when, Phase phase = Phase::kNormal) {
    if (woken_) [[unlikely]]
      note_woken(program, when);
    return engine.at(when, phase, [program] { program.resume(); });
  }
  /// Resumes a program now, as the last thing that an event does.
  static void resume(Suspended program) { program.resume(); }

  /// Events and items at one instant, or a thousand a thread where these are more, that no run has
  /// which ends.
  static constexpr std::uint64_t kMostAtOnce = 10'000'000;
  /// Runs until nothing is left to happen. `report` hears now and then that it goes on. Throws
  /// ModelFailure when it cannot end.
  void run(const std::function<void()>& report = {});

  struct Stuck {
    std::string who;
    std::string why;
  };
  /// The threads that have not ended, in the order in which they were spawned, but for those that
  /// serve, and what each waits for.
  std::vector<Stuck> stuck() const;
  /// Throws ModelFailure when there are such threads: "... waits for ...", the first `most` of
  /// them.
  void expect_over(std::size_t most = 8) const;

 private:
  friend struct Task::promise_type::Return;
  struct Live : Thread {
    Suspended program;
  };
  Suspended adopt(Name name, Task& process, bool serves);
  void end(Live& live);
  bool run_batch();
  void expect_time_to_pass(std::uint64_t events);
  bool waits_for_service();
  void note_woken(Suspended program, When when);
  std::string waiting(std::size_t most) const;

  std::unique_ptr<Network> network_;
  Thread* first_ = nullptr;  ///< the one that was spawned last
  std::size_t others_ = 0;   ///< threads that do not serve
  std::size_t serving_ = 0;
  bool is_served_ = false;        ///< threads have ended, and only those that serve are left
  std::uint64_t idle_ = 0;        ///< events in which only such went on
  std::uint64_t last_waits_ = 0;  ///< waits of all others, before these
  /// Who is woken at this instant; only while the run is looked at.
  std::optional<std::vector<std::string>> woken_;
};

inline std::coroutine_handle<> Task::promise_type::Return::await_suspend(Handle self) noexcept {
  promise_type& me = self.promise();
  if (me.world == nullptr) return me.caller;
  me.world->end(*static_cast<World::Live*>(me.thread));
  return std::noop_coroutine();
}

}  // namespace steptime
