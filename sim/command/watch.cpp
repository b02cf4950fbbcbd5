#include "sim/command/watch.h"

#include "sim/config/output_files.h"
#include "sim/core/error.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

namespace steptime {
namespace {

std::atomic<bool> interrupted_flag{false};
std::atomic<bool> closed_flag{false};
std::atomic<const char*> kept_text{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  if (signal == SIGPIPE) closed_flag = true;
  interrupted_flag = true;
}

std::terminate_handler default_handler = nullptr;

/// std::terminate: an exception is on its way out of a destructor or of a thread.
void on_terminate() {
  static std::atomic_flag is_ending;
  while (is_ending.test_and_set())  // another thread's, too: it ends the program
    ::pause();
  const char* why = nullptr;
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    why = kOutOfMemory;
  } catch (const std::system_error& e) {
    if (is_out_of_threads(e)) why = kOutOfThreads;
  } catch (...) {  // a bug, which the default handler names
  }
  if (why == nullptr) return default_handler();
  remove_unfinished_outputs();
  for (const char* part : {"steptime: ", why, "\n"})
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, part, std::strlen(part));
  ::_exit(static_cast<int>(Exit::kBadInput));
}

/// Opens a descriptor on nothing when it is closed. Returns whether it was.
bool fill(int descriptor, int mode) {
  if (::fcntl(descriptor, F_GETFD) != -1) return false;
  const int opened = ::open("/dev/null", mode);  // the lowest that is free, so this one
  return opened == descriptor;
}

}  // namespace

void say_when_ended(const char* kept) {
  kept_text = kept;
}

Watch::Watch() : before_(std::set_terminate(on_terminate)) {
  default_handler = before_;
  fill(STDIN_FILENO, O_RDONLY);
  has_no_output_ = fill(STDOUT_FILENO, O_RDONLY);
  fill(STDERR_FILENO, O_WRONLY);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE})
    std::signal(signal, on_signal);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  thread_ = std::thread([this] { look(); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  end_.notify_one();  // or else each run would last until the end of a pause
  thread_.join();
  std::set_terminate(before_);
}

const std::atomic<bool>* Watch::interrupted() const {
  return &interrupted_flag;
}
const std::atomic<bool>* Watch::closed() const {
  return &closed_flag;
}

void Watch::look() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(20);
  constexpr auto kGrace = std::chrono::milliseconds(800);
  auto heard = Clock::time_point::max();
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, kPause, [this] { return ends_; })) {
    // A pipe whose reader has gone says so before anything is written to it.
    pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    if (::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) {
      closed_flag = true;
      interrupted_flag = true;
    }
    if (!interrupted_flag) continue;
    const auto now = Clock::now();
    if (heard == Clock::time_point::max()) heard = now;
    if (now - heard < kGrace) continue;
    remove_unfinished_outputs();
    if (closed_flag) ::_exit(static_cast<int>(Exit::kOutputClosed));
    const char* const kept = kept_text;
    const std::string what = kept == nullptr ? "no result before the end" : kept;
    const std::string said = what.empty() ? "" : fmt::format("steptime: interrupted: {}\n", what);
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, said.data(), said.size());
    ::_exit(static_cast<int>(Exit::kInterrupted));
  }
}

}  // namespace steptime
