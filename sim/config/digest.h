// What tells one text from another: digests of files, and checksums of rows.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace steptime {

/// SHA-1 in hexadecimal digits, as sha1sum prints it.
std::string sha1_of(std::string_view text);

/// CRC-32 of `text` behind a text whose CRC-32 is `before`.
std::uint32_t crc32_of(std::string_view text, std::uint32_t before = 0);

}  // namespace steptime
