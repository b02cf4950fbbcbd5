#include "sim/config/input_files.h"

#include <string>

namespace steptime {

InputFiles& InputFiles::all() {
  static InputFiles files;
  return files;
}

void InputFiles::add(const struct stat& file) {
  const std::lock_guard lock(mutex_);
  files_.emplace(file.st_dev, file.st_ino);
}

bool InputFiles::contains(const std::string& path) const {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return false;
  const std::lock_guard lock(mutex_);
  return files_.contains({file.st_dev, file.st_ino});
}

void InputFiles::clear() {
  const std::lock_guard lock(mutex_);
  files_.clear();
}

}  // namespace steptime
