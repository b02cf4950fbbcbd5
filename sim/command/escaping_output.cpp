#include "sim/command/escaping_output.h"

#include "sim/core/escaped.h"

#include <string>

namespace steptime {
namespace {

/// Without clearing the stream's errors, as rdbuf() does.
std::streambuf* replace_buffer(std::ostream& stream, std::streambuf* buffer) {
  const std::ios::iostate state = stream.rdstate();
  std::streambuf* const before = stream.rdbuf(buffer);
  stream.setstate(state);
  return before;
}

}  // namespace

EscapingOutput::EscapingOutput(std::ostream& stream)
    : stream_(stream), to_(replace_buffer(stream, this)) {}

EscapingOutput::~EscapingOutput() {
  replace_buffer(stream_, to_);
}

void EscapingOutput::is_data(std::ostream& stream) {
  if (auto* const buffer = dynamic_cast<EscapingOutput*>(stream.rdbuf())) buffer->is_data_ = true;
}

void EscapingOutput::write_raw(std::ostream& stream, std::string_view text) {
  auto* const buffer = dynamic_cast<EscapingOutput*>(stream.rdbuf());
  if (buffer == nullptr)
    stream << text;
  else
    buffer->to_->sputn(text.data(), static_cast<std::streamsize>(text.size()));
}

EscapingOutput::int_type EscapingOutput::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::streamsize EscapingOutput::xsputn(const char* text, std::streamsize size) {
  if (is_data_) return to_->sputn(text, size);
  const std::string shown = escaped({text, static_cast<std::size_t>(size)});
  const auto all = static_cast<std::streamsize>(shown.size());
  return to_->sputn(shown.data(), all) == all ? size : 0;
}

}  // namespace steptime
