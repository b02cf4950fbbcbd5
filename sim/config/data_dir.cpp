#include "sim/config/data_dir.h"

#include <dlfcn.h>
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

/// The shared library that this code stands in, as a Python module; empty in a program.
std::filesystem::path library() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&data_dir), &found) == 0) return {};
  const std::filesystem::path path = found.dli_fname;
  return path.extension() == ".so" ? path : std::filesystem::path();
}

std::filesystem::path find() {
  std::error_code error;
  const auto has_data = [&](const std::filesystem::path& share) {
    return std::filesystem::exists(share / "models", error);
  };
  // A package of Python's has its data inside, Debian's has them in /usr.
  auto folder = std::filesystem::absolute(library(), error).parent_path();
  for (; !error && folder.has_relative_path(); folder = folder.parent_path()) {
    if (has_data(folder / "share/steptime")) return folder / "share/steptime";
  }
  const auto installed = program().parent_path().parent_path() / "share/steptime";
  return has_data(installed) ? installed : STEPTIME_SOURCE_DIR;
}

}  // namespace

const std::filesystem::path& data_dir() {
  static const std::filesystem::path dir = find();
  return dir;
}

}  // namespace steptime
