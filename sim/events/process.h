// A blocking program of simulated time, such as a framework's main thread, as a coroutine.
//
//   Process loop(MxnetRank& worker) {
//     co_await worker.push(key);      // another program, which runs to its end
//     co_await Pause{clock, 5us};     // time passes
//   }
//
// A program is lazy: it runs when it is awaited or started, and belongs to who holds it.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"

#include <coroutine>
#include <exception>
#include <utility>

namespace steptime {

class [[nodiscard]] Process {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    std::coroutine_handle<> caller = std::noop_coroutine();
    std::exception_ptr error{};

    Process get_return_object() { return Process(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Return {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(Handle self) noexcept { return self.promise().caller; }
      void await_resume() noexcept {}
    };
    Return final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };

  Process(Process&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Process& operator=(Process&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Process() {
    if (handle_) handle_.destroy();
  }

  /// Runs until the program first waits.
  void start() { handle_.resume(); }
  bool done() const { return handle_.done(); }
  /// Throws what ended the program, if anything did.
  void check() const {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
  }

  // Awaiting a program runs it.
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
    handle_.promise().caller = caller;
    return handle_;
  }
  void await_resume() const { check(); }

 private:
  explicit Process(Handle handle) : handle_(handle) {}
  Handle handle_;
};

/// co_await Pause{clock, d}: d passes.
struct Pause {
  Engine& clock;
  Duration length{};

  bool await_ready() const { return length == Duration{}; }
  void await_suspend(std::coroutine_handle<> program) const {
    clock.after(length, Phase::kNormal, [program] { program.resume(); });
  }
  void await_resume() const {}
};

}  // namespace steptime
