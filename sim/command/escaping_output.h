// Output for people: text of files in it is escaped() (sim/core/escaped.h).
#pragma once
#include <ostream>
#include <streambuf>
#include <string_view>

namespace steptime {

/// While it lives, what is written to a stream is escaped.
class EscapingOutput final : public std::streambuf {
 public:
  explicit EscapingOutput(std::ostream& stream);
  ~EscapingOutput() override;
  EscapingOutput(const EscapingOutput&) = delete;
  EscapingOutput& operator=(const EscapingOutput&) = delete;

  /// What is written to the stream from now on is data for programs, which stays as it is. Does
  /// nothing where the stream does not escape.
  static void is_data(std::ostream& stream);
  /// Writes `text` as it is.
  static void write_raw(std::ostream& stream, std::string_view text);

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override { return to_->pubsync(); }

 private:
  std::ostream& stream_;
  std::streambuf* to_;
  bool is_data_ = false;
};

}  // namespace steptime
