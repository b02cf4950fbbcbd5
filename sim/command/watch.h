// What the system tells a program while it works: signals, and that nobody reads its output any
// more. Both are heard within a second, whatever the program does then.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace steptime {

/// What a program that is ended because it does not end of its own says of its results; null: that
/// there are none; "": nothing, as the program has said what there is to say. The text must outlive
/// it.
void say_when_ended(const char* kept);

/// What is said where there is not enough memory, or where the system starts no further thread.
inline constexpr const char* kOutOfMemory = "out of memory: this run needs more than there is";
inline constexpr const char* kOutOfThreads =
    "the system starts no further thread: a limit of threads or of memory is reached";

/// Whether the system refused a thread.
inline bool is_out_of_threads(const std::system_error& e) {
  return e.code() == std::errc::resource_unavailable_try_again;
}

/// One in a program, at the start of its main().
class Watch {
 public:
  /// Descriptors of input, output and errors that are closed are opened on nothing, so that no
  /// other file gets their numbers. A file that may not grow further is an error like a full disk.
  /// Memory or threads that are missing end the program with one line and exit code 2 where no
  /// exception can say so: destructors of JSON values allocate, and other threads have no caller.
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Whether the output was closed from the start.
  bool has_no_output() const { return has_no_output_; }
  /// Set by SIGINT, SIGTERM and SIGHUP (but not under nohup), and when the output has no reader. A
  /// program that does not end then of its own is ended with exit code 130 or 141, without the
  /// files that it had begun.
  const std::atomic<bool>* interrupted() const;
  /// Set when the output has no reader.
  const std::atomic<bool>* closed() const;

 private:
  void look();

  std::terminate_handler before_;
  bool has_no_output_ = false;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ends_ = false;  ///< under the mutex
  std::thread thread_;
};

}  // namespace steptime
