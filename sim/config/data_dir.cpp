#include "sim/config/data_dir.h"

#include <filesystem>
#include <system_error>

namespace steptime {
namespace {

std::filesystem::path find() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    auto installed = program.parent_path().parent_path() / "share" / "steptime";
    if (std::filesystem::exists(installed / "models", error)) return installed;
  }
  return STEPTIME_SOURCE_DIR;
}

}  // namespace

const std::filesystem::path& data_dir() {
  static const std::filesystem::path dir = find();
  return dir;
}

}  // namespace steptime
