#include "sim/config/json.h"

#include "sim/core/error.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace {

constexpr int kMaxDepth = 64;

/// Line and column, both from 1, of a byte offset.
std::string position(std::string_view text, std::size_t offset) {
  // The offset counts from 1, so the byte itself lies behind `before`.
  const std::string_view before =
      text.substr(0, std::min(offset == 0 ? 0 : offset - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

/// The library's message without its "[json.exception...]" prefix and its own position.
std::string reason(const char* what) {
  std::string_view text = what;
  if (const auto at = text.find("- "); at != std::string_view::npos)
    text.remove_prefix(at + 2);
  else if (const auto end = text.find("] "); end != std::string_view::npos)
    text.remove_prefix(end + 2);
  std::string line;
  for (const char c : text)
    line += (c == '\n' || c == '\r' || c == '\t') ? ' ' : c;
  return line;
}

/// Non-ASCII and control bytes as "?", so that a message stays one readable line.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  const auto callback = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth >= kMaxDepth) {
      throw InputError(fmt::format("{}: nested deeper than {} levels", file, kMaxDepth));
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.empty()) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        throw InputError(
            fmt::format("{}: key \"{}\" stands twice in one object", file, printable(key)));
      }
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), callback);
  } catch (const Json::parse_error& e) {
    throw InputError(fmt::format("{}: {}: not JSON: {}", file, position(text, e.byte),
                                 printable(reason(e.what()))));
  } catch (const Json::exception& e) {
    throw InputError(fmt::format("{}: not JSON: {}", file, printable(reason(e.what()))));
  }
}

std::string read_file(const std::string& path) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) {
    throw InputError(fmt::format("{}: is a directory, expected a file", path));
  }
  // A device may have no end, and a pipe no beginning.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw InputError(fmt::format("{}: is no regular file", path));
  }
  if (const auto size = std::filesystem::file_size(path, error); !error && size > kMostBytes) {
    throw InputError(fmt::format("{}: has {} bytes, expected at most 2^30", path, size));
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    throw InputError(fmt::format("{}: cannot be read: {}", path,
                                 errno != 0 ? std::strerror(errno) : "unknown error"));
  }
  spdlog::debug("read {}, {} bytes", path, text.size());
  return text;
}

std::string brief(const Json& value) {
  constexpr std::size_t kMost = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = printable(value.dump(-1, ' ', true, Json::error_handler_t::replace));
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

std::string one_line(std::string text) {
  if (!is_utf8(text)) return printable(std::move(text));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

namespace {

/// Names an element of a list, never a key that is missing.
bool is_number(const std::string& key) {
  return !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Json* place(Json& root, const std::string& pointer) {
  std::vector<std::string> keys;
  try {
    for (Json::json_pointer rest(pointer); !rest.empty(); rest.pop_back()) {
      keys.push_back(rest.back());
    }
  } catch (const Json::parse_error&) {
    return nullptr;
  }
  Json* node = &root;
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    if (node->is_null()) *node = Json::object();
    if (node->is_array()) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(key->data(), key->data() + key->size(), index);
      if (error != std::errc{} || end != key->data() + key->size() || index >= node->size()) {
        return nullptr;
      }
      node = &(*node)[index];
    } else if (node->is_object() && (node->contains(*key) || !is_number(*key))) {
      node = &(*node)[*key];
    } else {
      return nullptr;
    }
  }
  return node;
}

std::string join_pointer(std::string_view pointer, std::string_view key) {
  std::string joined(pointer);
  joined += '/';
  for (const char c : key) {
    if (c == '~')
      joined += "~0";
    else if (c == '/')
      joined += "~1";
    else
      joined += (c < 0x20 || c > 0x7e) ? '?' : c;
  }
  return joined;
}

}  // namespace steptime
