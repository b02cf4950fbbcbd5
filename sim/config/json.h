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

/// Control bytes, and what is not UTF-8, as "?": a message stays one readable line.
std::string one_line(std::string text);
bool is_utf8(const std::string& text);

/// The value at `pointer`, with missing objects on the way created; an index must exist. Null when
/// the pointer names no place.
Json* place(Json& root, const std::string& pointer);

/// `pointer` with `key` appended, escaped as RFC 6901 asks.
std::string join_pointer(std::string_view pointer, std::string_view key);

}  // namespace steptime
