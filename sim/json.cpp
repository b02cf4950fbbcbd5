#include "sim/json.h"

#include "sim/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr int kMaxDepth = 64;

/// Line and column, both from 1, of a byte offset.
std::string place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
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
    if (depth > kMaxDepth) {
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
    throw InputError(fmt::format("{}: {}: not JSON: {}", file, place(text, e.byte),
                                 printable(reason(e.what()))));
  } catch (const Json::exception& e) {
    throw InputError(fmt::format("{}: not JSON: {}", file, printable(reason(e.what()))));
  }
}

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InputError(fmt::format("{}: is a directory, expected a file", path));
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    throw InputError(fmt::format("{}: cannot be read: {}", path,
                                 errno != 0 ? std::strerror(errno) : "unknown error"));
  }
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
