// The finished points of a sweep as they come, in a file that outlives its writer: a head, which
// says what they are of and whether they are all, and a JSONL row each, in any order. Before the
// first row that was computed from a file stands a line with the file's name and digest. A sweep
// has one journal, or one for each of those that share its points.
//
// Every line ends in a checksum (CRC-32) of itself, of the head and of the names and digests before
// it: a row that was altered, or whose files are no longer said, is not taken.
#pragma once
#include "sim/config/input_files.h"
#include "sim/config/output_files.h"
#include "sim/sweeps/sweep.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace steptime {

/// What the rows of a journal are of. Journals of different ones never mix.
struct SweepIdentity {
  std::string name;          ///< name of the experiment
  std::int64_t points = 0;   ///< points that the whole sweep has
  std::uint64_t config = 0;  ///< fingerprint of the config, its --set values and --full
  std::string file{};        ///< the config's
};
SweepIdentity identity_of(const Sweep& sweep, const std::string& name, bool full);

/// Writes a journal. What is appended is on disk within a second, also where nothing follows.
class JournalWriter {
 public:
  /// `resumes`: continues the file from behind its last whole row. Throws InputError when another
  /// program writes it, when it is of something else, and when it has rows that are not resumed.
  JournalWriter(const std::string& path, const SweepIdentity& identity, bool resumes);
  ~JournalWriter();  ///< what was appended is written

  /// What rows that follow are computed from, beside what was said before. Throws InputError where
  /// that said otherwise. From any thread.
  void say_inputs(const NamedDigests& inputs);
  /// Whole rows. Throws InputError when they cannot be written. From any thread.
  void append(std::string_view rows);
  /// Whether append() would throw.
  bool is_broken() const { return is_broken_; }
  /// Writes what was appended, and throws InputError when something could not be written.
  void flush();
  /// Says in the file that it has all the points that it was to get.
  void complete();

 private:
  void write_out(std::unique_lock<std::mutex>& lock);
  void run();                        ///< what the thread does
  void wait(std::string_view line);  ///< with its checksum, among what is to be written

  LockedFile file_;
  std::size_t mark_ = 0;  ///< where the head says whether it is complete
  std::size_t size_ = 0;  ///< bytes of the file up to the end of its last whole row
  std::mutex writing_;
  std::mutex mutex_;  ///< guards all members below
  std::condition_variable wake_;
  std::string waiting_;
  std::uint32_t before_ = 0;  ///< checksum of the head and of what was said of inputs
  NamedDigests inputs_;       ///< digests of the inputs that the file names
  std::string error_;
  bool ends_ = false;
  std::atomic<bool> is_broken_{false};
  std::thread thread_;
};

/// What is done about a row that is not as it was written.
enum class Damage {
  kIsSimulatedAgain,  ///< and so is what follows it in the file, with a warning
  kIsRefused,
};

/// The finished points of one sweep, wherever their rows stand.
class FinishedPoints {
 public:
  /// Throws InputError for a file that is no journal, or of something else, or whose rows were
  /// computed from other contents of a file than those of the journals before it.
  void add(const std::string& path, const SweepIdentity& identity,
           Damage damage = Damage::kIsSimulatedAgain);
  std::int64_t size() const { return size_; }
  bool has(std::int64_t point) const;
  /// The points of `first`, `first + stride`, ... below `end` that are not there; `most` of them.
  std::vector<std::int64_t> missing(std::int64_t first, std::int64_t stride, std::int64_t end,
                                    std::size_t most) const;
  /// The rows of points from `first` to before `end`, those that are there, in order, without their
  /// checksums.
  void each(std::int64_t first, std::int64_t end,
            const std::function<void(std::string_view row)>& on_row) const;
  /// What they were computed from.
  NamedDigests inputs() const;
  /// Throws InputError that names the file when one of these holds something else now.
  void check_inputs(const std::string& config) const;

 private:
  /// Consecutive points whose rows stand one behind the other.
  struct Run {
    std::size_t file = 0;
    std::int64_t points = 0;
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  struct Input {
    std::string digest;
    std::size_t file = 0;  ///< the journal that says so
  };
  void add_input(const std::string& name, const std::string& digest);

  std::vector<std::string> files_;
  std::map<std::string, Input> inputs_;  ///< by name
  std::map<std::int64_t, Run> runs_;     ///< by the first point
  std::int64_t size_ = 0;
};

}  // namespace steptime
