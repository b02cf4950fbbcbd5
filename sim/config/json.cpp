#include "sim/config/json.h"

#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "sim/config/list_index.h"
#include "sim/core/error.h"
#include "sim/core/escaped.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::size_t kMaxDepth = 64;

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

namespace {

/// Builds the value, knowing at every moment where it is. Linear in the text, unlike the library's
/// parser with a callback, which looks at all elements of a list at the end of each.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view text, const std::string& file) : text_(text), file_(file) {}
  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(value); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    Level& level = levels_.back();
    level.key = key;
    if (!level.keys.insert(key).second) fail("stands twice in one object");
    return true;
  }

  bool parse_error(std::size_t byte, const std::string& token, const Json::exception& e) override {
    if (dynamic_cast<const Json::out_of_range*>(&e) != nullptr)
      fail(fmt::format("{} is more than a number can hold", printable(token)));
    throw InputError(fmt::format("{}: {}: not JSON: {}", file_, position(text_, byte),
                                 printable(reason(e.what()))));
  }

 private:
  struct Level {
    Json* value;
    std::string key{};  ///< key of the member whose value is being read
    std::set<std::string> keys{};
  };

  [[noreturn]] void fail(const std::string& message) const {
    std::string pointer;
    for (const Level& level : levels_) {
      // The value of a level that is open has been added to the one above.
      const bool is_open = &level != &levels_.back();
      pointer = join_pointer(pointer, level.value->is_object()
                                          ? level.key
                                          : fmt::format("{}", level.value->size() - is_open));
    }
    throw InputError(fmt::format("{}: {}: {}", file_, pointer.empty() ? "/" : pointer, message));
  }

  /// Returns where it stands now; until its parent is closed, no neighbour moves it.
  Json* add(Json value) {
    if (levels_.empty()) return &(root_ = std::move(value));
    Json& parent = *levels_.back().value;
    if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    // Known to be new, so that the object need not look for it.
    return &parent.get_ref<Json::object_t&>()
                .emplace_back(levels_.back().key, std::move(value))
                .second;
  }
  bool put(Json value) {
    add(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (levels_.size() >= kMaxDepth) fail(fmt::format("nested deeper than {} levels", kMaxDepth));
    Json* const added = add(std::move(value));
    levels_.push_back({added});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  Json root_;
  std::vector<Level> levels_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  // The library takes the first NUL for the end.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    throw InputError(fmt::format("{}: {}: not JSON: a NUL byte", file, position(text, nul + 1)));
  }
  Builder builder(text, file);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

std::string read_file(const std::string& path) {
  std::string text = text_at(path);
  if (!is_stream(path)) InputFiles::all().note(path, sha1_of(text));
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
  return escaped(text);
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
      const auto index = list_index(*key);
      if (!index || *index >= node->size()) return nullptr;
      node = &(*node)[*index];
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
