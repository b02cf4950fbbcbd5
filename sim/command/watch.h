// What the system tells a program while it works: signals, and that nobody reads its output any
// more. Both are heard within a second, whatever the program does then.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace steptime {

/// What a program that is ended because it does not end of its own says of its results; null: that
/// there are none; "": nothing, as the program has said what there is to say. The text must outlive
/// it.
void say_when_ended(const char* kept);

/// One in a program, at the start of its main().
class Watch {
 public:
  /// Descriptors of input, output and errors that are closed are opened on nothing, so that no
  /// other file gets their numbers. A file that may not grow further is an error like a full disk.
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

  bool has_no_output_ = false;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ends_ = false;  ///< under the mutex
  std::thread thread_;
};

}  // namespace steptime
