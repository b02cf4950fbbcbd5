// JSON's text piece by piece, for what is written millions of times: the same text as from a Json.
#pragma once
#include "sim/config/json.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/compile.h>
#include <fmt/format.h>

namespace steptime {

/// A finite number, in as few digits as give it back.
inline void append_number(std::string& text, double value) {
  // Digits cost 0.2 us, and many of a sweep's numbers stand in many of its rows.
  struct Known {
    std::uint64_t bits = 0;
    std::uint8_t length = 0;  ///< 0: none known
    char digits[31];          ///< -1.2345678901234567e-308 has 24
  };
  static thread_local std::array<Known, 256> all{};
  const auto bits = std::bit_cast<std::uint64_t>(value);
  Known& known = all[(bits * 0x9e3779b97f4a7c15U) >> 56];  // Fibonacci hashing
  if (known.bits != bits || known.length == 0) {
    const char* const end = fmt::format_to(known.digits, FMT_COMPILE("{}"), value);
    known.length = static_cast<std::uint8_t>(end - known.digits);
    known.bits = bits;
  }
  text.append(known.digits, known.length);
}
inline void append_number(std::string& text, std::int64_t value) {
  const fmt::format_int digits(value);
  text.append(digits.data(), digits.size());
}

/// A text in quotes; few need an escape.
inline void append_text(std::string& text, std::string_view value) {
  std::uint8_t odd = 0;
  for (const char each : value) {  // to the end, so that many characters are looked at at once
    const auto c = static_cast<std::uint8_t>(each);
    odd |= c < 0x20 || c >= 0x7f || c == '"' || c == '\\' ? 1 : 0;
  }
  if (odd != 0) {
    text += Json(value).dump();
    return;
  }
  text += '"';
  text += value;
  text += '"';
}

}  // namespace steptime
