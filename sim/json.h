// Reading JSON text strictly: duplicate keys, trailing text and absurd nesting are input errors.
#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace steptime {

using Json = nlohmann::ordered_json;

/// Throws InputError "<file>: line L, column C: ..." for anything that is not one JSON value.
Json parse_json(std::string_view text, const std::string& file);

/// The whole file. Throws InputError when it cannot be read.
std::string read_file(const std::string& path);

/// A value as it stands in an error message: one line, cut when long.
std::string brief(const Json& value);

/// `pointer` with `key` appended, escaped as RFC 6901 asks.
std::string join_pointer(std::string_view pointer, std::string_view key);

}  // namespace steptime
