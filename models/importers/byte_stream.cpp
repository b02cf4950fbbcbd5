#include "models/importers/byte_stream.h"

#include "sim/config/json.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <zlib.h>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::size_t kBuffer = std::size_t{256} << 10;

/// A device may have no end, and a pipe no beginning to return to. A path that names nothing
/// passes: opening it tells why.
void check_regular_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw InputError(fmt::format("{}: is no regular file", path));
  }
}

}  // namespace

ByteStream::ByteStream(const std::string& path, OnProgress on_progress)
    : file_(path), on_progress_(std::move(on_progress)), gz_(nullptr, gzclose_r), buffer_(kBuffer) {
  check_regular_file(path);
  errno = 0;
  gz_.reset(gzopen(path.c_str(), "rb"));
  if (gz_ == nullptr) {
    throw InputError(fmt::format("{}: cannot be read: {}", path,
                                 errno != 0 ? std::strerror(errno) : "out of memory"));
  }
  gzbuffer(gz_.get(), kBuffer);
  std::error_code ignored;
  packed_size_ = static_cast<double>(std::filesystem::file_size(path, ignored));
}

ByteStream::ByteStream(std::string file, std::string_view text)
    : file_(std::move(file)),
      gz_(nullptr, gzclose_r),
      next_(text.data()),
      end_(text.data() + text.size()),
      filled_(text.size()) {}

ByteStream::~ByteStream() = default;

bool ByteStream::fill() {
  if (gz_ == nullptr) return false;
  if (filled_ - mark_ > kMostValue) {
    throw InputError(
        fmt::format("{}: byte {}: a value of more than {} MiB", file_, mark_, kMostValue >> 20));
  }
  if (on_progress_ && packed_size_ > 0)
    on_progress_(std::min(1.0, static_cast<double>(gzoffset(gz_.get())) / packed_size_));
  const int count = gzread(gz_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int error = Z_OK;
  const char* reason = gzerror(gz_.get(), &error);
  if (count < 0 || (error != Z_OK && error != Z_STREAM_END)) {
    throw InputError(fmt::format("{}: byte {}: damaged or cut short: {}", file_,
                                 filled_ + static_cast<std::uint64_t>(std::max(count, 0)),
                                 error == Z_ERRNO       ? std::strerror(errno)
                                 : error == Z_BUF_ERROR ? "unexpected end of the gzip data"
                                                        : one_line(reason)));
  }
  next_ = buffer_.data();
  end_ = next_ + count;
  filled_ += static_cast<std::uint64_t>(count);
  return count > 0;
}

std::string ByteStream::read(std::size_t most) {
  std::string bytes;
  while (bytes.size() < most && !at_end()) {
    const auto count = std::min(most - bytes.size(), static_cast<std::size_t>(end_ - next_));
    bytes.append(next_, count);
    next_ += count;
  }
  return bytes;
}

}  // namespace steptime
