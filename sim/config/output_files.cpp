#include "sim/config/output_files.h"

#include "sim/config/input_files.h"
#include "sim/core/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCannot = "cannot be written";
constexpr const char* kSuffix = ".partial";  // of temporary files

/// The file that a link stands for. Throws InputError for what is not to be written.
std::string target_of(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw InputError(fmt::format("{}: {}: is a directory", path, kCannot));
  check_is_no_input(path);
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

/// The temporary files that are not whole yet.
struct Unfinished {
  std::mutex mutex;
  std::set<std::string> files;
};
Unfinished& unfinished() {
  static Unfinished all;
  return all;
}

/// Renaming over a device or a pipe would replace it.
bool is_replaceable(const std::string& path) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  return !fs::exists(status) || fs::is_regular_file(status);
}

}  // namespace

LockedFile::LockedFile(const std::string& path, std::string name) : name_(std::move(name)) {
  // Who held the lock may have renamed or removed the file in between: then there is another one.
  for (bool is_there = false; !is_there;) {
    check_is_no_input(path);
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (file_ < 0) fail(kCannot);
    struct stat opened {};
    struct stat now {};
    ::fstat(file_, &opened);
    if (!S_ISREG(opened.st_mode)) return;
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(file_);
      throw InputError(fmt::format("{}: another steptime is writing it", name_));
    }
    is_there = ::stat(path.c_str(), &now) == 0 && now.st_ino == opened.st_ino;
    if (!is_there) ::close(file_);
  }
}

LockedFile::~LockedFile() {
  if (file_ >= 0) ::close(file_);
}

void LockedFile::fail(const char* what) const {
  throw InputError(fmt::format("{}: {}: {}", name_, what, std::strerror(errno)));
}

void LockedFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file_, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail(kCannot);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

void LockedFile::write_at(std::size_t offset, std::string_view text) {
  const ssize_t size = ::pwrite(file_, text.data(), text.size(), static_cast<off_t>(offset));
  if (size != std::ssize(text)) fail(kCannot);
}

void LockedFile::resize(std::size_t bytes) {
  const auto end = static_cast<off_t>(bytes);
  if (::ftruncate(file_, end) != 0 || ::lseek(file_, end, SEEK_SET) != end) fail(kCannot);
}

void LockedFile::sync() {
  // Pipes, devices and some file systems know no such thing.
  if (::fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS && errno != ENOSYS)
    fail(kCannot);
}

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)),
      target_(target_of(path_)),
      temporary_(is_replaceable(target_) ? target_ + kSuffix : ""),
      file_(temporary_.empty() ? target_ : temporary_, path_) {
  if (temporary_.empty()) return;
  const std::lock_guard lock(unfinished().mutex);
  unfinished().files.insert(temporary_);
  file_.resize(0);
}

OutputFile::~OutputFile() {
  std::error_code ignored;
  const std::lock_guard lock(unfinished().mutex);
  unfinished().files.erase(target_ + kSuffix);
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void remove_unfinished_outputs() {
  // Whoever holds the lock may be the one that ends the program.
  const std::unique_lock lock(unfinished().mutex, std::try_to_lock);
  if (!lock) return;
  for (const std::string& file : unfinished().files)
    ::unlink(file.c_str());  // without any memory
}

void OutputFile::write(std::string_view text) {
  constexpr std::size_t kEnough = std::size_t{1} << 16;
  waiting_ += text;
  if (waiting_.size() < kEnough) return;
  file_.write(waiting_);
  waiting_.clear();
}

void OutputFile::commit() {
  file_.write(waiting_);
  waiting_.clear();
  if (temporary_.empty()) return;
  file_.sync();
  check_is_no_input(target_);  // which may have been read since
  std::error_code error;
  fs::rename(temporary_, target_, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary_, ignored);
    throw InputError(fmt::format("{}: {}: {}", path_, kCannot, error.message()));
  }
  temporary_.clear();
}

void check_is_no_input(const std::string& path) {
  if (InputFiles::all().contains(path))
    throw InputError(fmt::format("{}: is an input, which is not written over", path));
}

void create_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw InputError(fmt::format("{}: cannot be created: {}", path, error.message()));
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace steptime
