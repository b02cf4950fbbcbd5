// A folder among the temporary ones, for files that other programs read and write.
#pragma once
#include "sim/core/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace steptime {

/// It goes away with its owner.
class ScratchFolder {
 public:
  /// Throws InputError.
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "steptime-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw InputError(fmt::format("{}: cannot be made: {}", name, std::strerror(errno)));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace steptime
