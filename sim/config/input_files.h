// The files that a command has read, so that it never writes over one of them.
#pragma once
#include <mutex>
#include <set>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace steptime {

/// Of the process. Known by device and inode: a file has many names.
class InputFiles {
 public:
  static InputFiles& all();
  void add(const struct stat& file);
  bool contains(const std::string& path) const;
  void clear();

 private:
  mutable std::mutex mutex_;  ///< the threads of a sweep read files
  std::set<std::pair<dev_t, ino_t>> files_;
};

}  // namespace steptime
