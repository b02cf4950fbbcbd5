#include "sim/config/output_files.h"

#include "sim/config/input_files.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <optional>
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
std::string target_of(const std::string& path, const OutputKind& kind) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw InputError(fmt::format("{}: {}: is a directory", path, kCannot));
  check_output(path, kind);
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

/// Both ends of a file, each as long as a mark may be away from it.
struct FileEnds {
  std::string first, last;
};

/// Of a regular file; nothing of what is none.
std::optional<FileEnds> ends_of(const std::string& path) {
  constexpr std::size_t kMost = 4096;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  FileEnds ends;
  struct stat status {};
  const bool is_regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto read = [&](std::string& text, off_t from) {
    text.resize(kMost);
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(0, ::pread(file, text.data(), text.size(), from))));
  };
  if (is_regular) {
    read(ends.first, 0);
    read(ends.last, std::max<off_t>(0, status.st_size - static_cast<off_t>(kMost)));
  }
  ::close(file);
  return is_regular ? std::optional(std::move(ends)) : std::nullopt;
}

[[noreturn]] void refuse_other(const std::string& path, const OutputKind& kind) {
  throw InputError(fmt::format("{}: expected no file yet, or {}; another file is not written over",
                               path, kind.name));
}

/// Throws InputError when a file at `path` is not the beginning of one of the kind. What a program
/// that was killed has left may end anywhere.
void check_begun(const std::string& path, const OutputKind& kind) {
  const auto ends = ends_of(path);
  if (ends && !ends->first.starts_with(kind.start.substr(0, ends->first.size())))
    refuse_other(path, kind);
}

}  // namespace

LockedFile::LockedFile(const std::string& path, std::string name, const OutputKind& kind)
    : name_(std::move(name)) {
  constexpr const char* kNoReader = "is a pipe that nobody reads";
  // Who held the lock may have renamed or removed the file in between: then there is another one.
  for (bool is_there = false; !is_there;) {
    check_is_no_input(path);
    check_begun(path, kind);
    // Without waiting for who reads a pipe.
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (file_ < 0 && errno == ENXIO)
      throw InputError(fmt::format("{}: {}: {}", name_, kCannot, kNoReader));
    if (file_ < 0) fail(kCannot);
    ::fcntl(file_, F_SETFL, ::fcntl(file_, F_GETFL) & ~O_NONBLOCK);
    struct stat opened {};
    struct stat now {};
    ::fstat(file_, &opened);
    if (!S_ISREG(opened.st_mode)) {
      if (kind.start.empty()) return;
      ::close(file_);
      throw InputError(fmt::format("{}: {}: is no regular file", path, kCannot));
    }
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

OutputFile::OutputFile(std::string path, const OutputKind& kind)
    : path_(std::move(path)),
      kind_(kind),
      target_(target_of(path_, kind)),
      temporary_(is_replaceable(target_) ? target_ + kSuffix : ""),
      file_(temporary_.empty() ? target_ : temporary_, path_,
            temporary_.empty() ? OutputKind{} : kind) {
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
  check_output(target_, kind_);  // which may have been read or made since
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

void check_output(const std::string& path, const OutputKind& kind) {
  check_is_no_input(path);
  if (kind.start.empty()) return;
  const auto ends = ends_of(path);
  std::error_code error;
  if (!ends && fs::is_regular_file(path, error)) refuse_other(path, kind);  // it cannot be read
  if (!ends || ends->first.empty()) return;
  const bool has_mark = ends->first.find(kind.mark) != std::string::npos ||
                        ends->last.find(kind.mark) != std::string::npos;
  if (!ends->first.starts_with(kind.start) || !has_mark) refuse_other(path, kind);
}

void check_regular_output(const std::string& path, const OutputKind& kind) {
  check_output(path, kind);
  check_begun(path + kSuffix, kind);
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    throw InputError(fmt::format("{}: {}: is no regular file", path, kCannot));
}

void create_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw InputError(fmt::format("{}: cannot be created: {}", path, error.message()));
}

void write_file(const std::string& path, std::string_view text, const OutputKind& kind) {
  OutputFile file(path, kind);
  file.write(text);
  file.commit();
}

}  // namespace steptime
