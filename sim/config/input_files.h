// The files that a command has read: it never writes over one of them, and its results name those
// that they were computed from, each with the digest of what it held.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace steptime {

/// Digests by names that do not depend on the folder that a command is run in: a file that is
/// shipped is "steptime:" and its name there, any other one its name seen from the config's folder.
using NamedDigests = std::map<std::string, std::string>;

/// Known by device and inode: a file has many names.
class InputFiles {
 public:
  /// Of the command that this thread works for: that of its innermost scope, else the process's.
  static InputFiles& all();
  /// A command of its own on this thread, beside others of the process.
  class Scope;
  void add(const struct stat& file);
  bool contains(const std::string& path) const;
  /// What is computed depends on the file at `path`, which held what has this digest.
  void note(const std::string& path, const std::string& digest);
  /// Of the files that were noted, named as seen from `config`. Throws InputError for one that was
  /// noted with two contents.
  NamedDigests noted(const std::string& config) const;
  /// How many were noted, two contents of a file twice. Grows only, until clear().
  std::size_t count() const { return count_; }
  /// For another command. `generation` says which one it is.
  void clear();
  std::uint64_t generation() const { return generation_; }

 private:
  mutable std::mutex mutex_;  ///< the threads of a sweep read files
  std::set<std::pair<dev_t, ino_t>> files_;
  std::map<std::string, std::string> digests_;  ///< by path
  std::string changed_;                         ///< the path of a file with two contents
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> generation_{next_generation()};
  static std::uint64_t next_generation();
};

class InputFiles::Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  InputFiles files_;
  InputFiles* outer_;
};

/// A file whose content a process keeps for all of its commands.
class KeptInput {
 public:
  KeptInput(std::string path, std::string digest)
      : path_(std::move(path)), digest_(std::move(digest)) {}
  /// The command at hand uses it. From any thread.
  void use() const;

 private:
  std::string path_;
  std::string digest_;
  mutable std::atomic<std::uint64_t> used_in_{0};  ///< generation
};

/// A file's name in NamedDigests, and the path of a file of such a name.
std::string input_name(const std::string& path, const std::string& config);
std::string input_path(std::string_view name, const std::string& config);

/// What may be a pipe: the program's own input, and `<(command)` of a shell.
bool is_stream(const std::string& path);

/// The whole file, which is not noted: for what no result depends on. Throws InputError when it
/// cannot be read.
std::string text_at(const std::string& path);

/// The files in a folder whose names end in `extension`, in the order of their names. Throws
/// InputError when it cannot be read.
std::vector<std::string> files_in(const std::string& folder, std::string_view extension);

}  // namespace steptime
