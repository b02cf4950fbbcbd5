// The bytes of a file of any size, plain or gzip, one after the other, in constant memory.
#pragma once
#include "sim/core/limits.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct gzFile_s;

namespace steptime {

class ByteStream {
 public:
  /// Opens a file; gzip is recognised by its first bytes. `on_progress` is told the share that was
  /// read. Throws InputError.
  explicit ByteStream(const std::string& path, OnProgress on_progress = {});
  /// A text that stands in memory and must outlive the stream; `file` is for messages.
  ByteStream(std::string file, std::string_view text);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  bool at_end() { return next_ == end_ && !fill(); }
  /// Not at the end.
  char get() { return *next_++; }
  /// Up to `most` bytes; fewer only at the end.
  std::string read(std::size_t most);

  /// Everything up to here was understood. No value may be longer than kMostValue: a reader that
  /// keeps values whole would need memory without bound. Throws InputError.
  void mark() { mark_ = position(); }
  /// Bytes, unpacked, before the next one.
  std::uint64_t position() const { return filled_ - static_cast<std::uint64_t>(end_ - next_); }
  const std::string& file() const { return file_; }

  static constexpr std::uint64_t kMostValue = std::uint64_t{16} << 20;

 private:
  bool fill();

  std::string file_;
  OnProgress on_progress_;
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> gz_;
  double packed_size_ = 0;
  std::vector<char> buffer_;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t filled_ = 0;
  std::uint64_t mark_ = 0;
};

/// For readers that take iterators. The default is the end.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  ByteIterator() = default;
  explicit ByteIterator(ByteStream& stream) : stream_(&stream) { ++*this; }
  char operator*() const { return byte_; }
  ByteIterator& operator++() {
    if (stream_->at_end())
      stream_ = nullptr;
    else
      byte_ = stream_->get();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(const ByteIterator& other) const { return stream_ == other.stream_; }
  bool operator!=(const ByteIterator& other) const { return stream_ != other.stream_; }

 private:
  ByteStream* stream_ = nullptr;
  char byte_ = 0;
};

}  // namespace steptime
