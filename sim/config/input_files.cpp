#include "sim/config/input_files.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kShipped = "steptime:";

fs::path whole(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return (error ? path : absolute).lexically_normal();
}

fs::path folder_of(const std::string& config) {
  return whole(config).parent_path();
}

thread_local InputFiles* innermost = nullptr;

[[noreturn]] void refuse_change(const std::string& path) {
  throw InputError(fmt::format("{}: was edited while it was in use", path));
}

}  // namespace

InputFiles& InputFiles::all() {
  static InputFiles of_process;
  return innermost != nullptr ? *innermost : of_process;
}

InputFiles::Scope::Scope() : outer_(innermost) {
  innermost = &files_;
}

InputFiles::Scope::~Scope() {
  innermost = outer_;
}

std::uint64_t InputFiles::next_generation() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
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

void InputFiles::note(const std::string& path, const std::string& digest) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = digests_.emplace(path, digest);
  if (!is_new && known->second == digest) return;
  if (!is_new) changed_ = path;
  ++count_;
}

NamedDigests InputFiles::noted(const std::string& config) const {
  const std::lock_guard lock(mutex_);
  if (!changed_.empty()) refuse_change(changed_);
  NamedDigests named;
  for (const auto& [path, digest] : digests_) {
    const auto [known, is_new] = named.emplace(input_name(path, config), digest);
    if (!is_new && known->second != digest) refuse_change(path);
  }
  return named;
}

void InputFiles::clear() {
  const std::lock_guard lock(mutex_);
  files_.clear();
  digests_.clear();
  changed_.clear();
  count_ = 0;
  generation_ = next_generation();
}

void KeptInput::use() const {
  InputFiles& files = InputFiles::all();
  const std::uint64_t now = files.generation();
  if (used_in_.load(std::memory_order_relaxed) == now) return;
  files.note(path_, digest_);
  used_in_.store(now, std::memory_order_relaxed);
}

std::string input_name(const std::string& path, const std::string& config) {
  const fs::path file = whole(path);
  const std::string shipped = file.lexically_relative(whole(data_dir())).generic_string();
  if (!shipped.empty() && !shipped.starts_with("..")) return std::string(kShipped) + shipped;
  return file.lexically_relative(folder_of(config)).generic_string();
}

std::string input_path(std::string_view name, const std::string& config) {
  if (name.starts_with(kShipped))
    return (data_dir() / name.substr(kShipped.size())).lexically_normal().string();
  return (folder_of(config) / name).lexically_normal().string();
}

bool is_stream(const std::string& path) {
  return path == "-" || path == "/dev/stdin" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

namespace {

/// Throws InputError for what is no file, or none that can be read whole.
void check_file(const std::string& path, int file, std::size_t most) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return;
  if (S_ISDIR(status.st_mode))
    throw InputError(fmt::format("{}: is a directory, expected a file", path));
  if (S_ISREG(status.st_mode)) {
    if (static_cast<std::size_t>(status.st_size) > most) {
      throw InputError(
          fmt::format("{}: has {} bytes, expected at most 2^30", path, status.st_size));
    }
    InputFiles::all().add(status);
  } else if (!is_stream(path)) {  // a device may have no end, and a pipe no beginning
    throw InputError(fmt::format("{}: is no regular file", path));
  }
}

}  // namespace

std::string text_at(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  const auto fail = [&] {
    throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  };
  // Without waiting for who writes a pipe.
  const int wait = is_stream(path) ? 0 : O_NONBLOCK;
  const int file =
      path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | wait);
  if (file < 0) fail();
  const std::unique_ptr<const int, void (*)(const int*)> closing(&file,
                                                                 [](const int* f) { ::close(*f); });
  check_file(path, file, kMostBytes);
  std::string text;
  std::vector<char> part(std::size_t{1} << 16);
  for (;;) {
    const ssize_t size = ::read(file, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail();
    if (size == 0) break;
    text.append(part.data(), static_cast<std::size_t>(size));
    if (text.size() > kMostBytes)
      throw InputError(fmt::format("{}: has more than 2^30 bytes", path));
  }
  spdlog::debug("read {}, {} bytes", path, text.size());
  return text;
}

std::vector<std::string> files_in(const std::string& folder, std::string_view extension) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() == extension) files.push_back(entry->path().string());
  }
  if (error) throw InputError(fmt::format("{}: cannot be read: {}", folder, error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace steptime
