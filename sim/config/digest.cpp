#include "sim/config/digest.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <zlib.h>

#include <boost/uuid/detail/sha1.hpp>
#include <fmt/format.h>

namespace steptime {

std::string sha1_of(std::string_view text) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(text.data(), text.size());
  boost::uuids::detail::sha1::digest_type digest;
  hash.get_digest(digest);
  std::string digits;
  // Five words, or since Boost 1.86 twenty bytes.
  for (const auto part : digest)
    digits += fmt::format("{:0{}x}", part, 2 * sizeof part);
  return digits;
}

std::uint32_t crc32_of(std::string_view text, std::uint32_t before) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

}  // namespace steptime
