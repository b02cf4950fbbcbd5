#include "sim/command/output.h"

#include "sim/core/error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace steptime {

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  std::error_code error;
  // Renaming over a link or a device would replace it instead of writing to what it stands for.
  const auto status = std::filesystem::symlink_status(path_, error);
  const bool replaceable =
      !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  temporary_ = replaceable ? path_ + ".partial" : path_;
  if (std::filesystem::is_directory(path_, error)) {
    throw InputError(fmt::format("{}: cannot be written: is a directory", path_));
  }
  file_ = std::fopen(temporary_.c_str(), "wb");
  if (file_ == nullptr) fail("cannot be written");
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  discard();
}

void OutputFile::discard() const {
  std::error_code ignored;
  if (temporary_ != path_) std::filesystem::remove(temporary_, ignored);
}

void OutputFile::fail(const char* what) const {
  throw InputError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail("cannot be written");
}

void OutputFile::flush() {
  if (std::fflush(file_) != 0) fail("cannot be written");
}

void OutputFile::commit() {
  flush();
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail("cannot be written");
  std::error_code error;
  if (temporary_ != path_) std::filesystem::rename(temporary_, path_, error);
  if (error) {
    discard();
    throw InputError(fmt::format("{}: cannot be written: {}", path_, error.message()));
  }
}

void create_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw InputError(fmt::format("{}: cannot be created: {}", path, error.message()));
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace steptime
