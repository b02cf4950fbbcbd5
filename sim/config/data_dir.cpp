#include "sim/config/data_dir.h"

#include <filesystem>
#include <sys/auxv.h>
#include <system_error>

namespace steptime {
namespace {

/// Without /proc, as in a bare chroot, by the name that it was started with.
std::filesystem::path program() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return path;
  const auto* name =
      reinterpret_cast<const char*>(getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
  if (name == nullptr) return {};
  path = std::filesystem::canonical(name, error);
  return error ? std::filesystem::path() : path;
}

std::filesystem::path find() {
  std::error_code error;
  auto installed = program().parent_path().parent_path() / "share" / "steptime";
  if (std::filesystem::exists(installed / "models", error)) return installed;
  return STEPTIME_SOURCE_DIR;
}

}  // namespace

const std::filesystem::path& data_dir() {
  static const std::filesystem::path dir = find();
  return dir;
}

}  // namespace steptime
