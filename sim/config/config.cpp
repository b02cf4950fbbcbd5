#include "sim/config/config.h"

#include "sim/config/word_list.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

template class std::vector<steptime::Param>;

namespace steptime {
namespace {

/// A pointer's key may be as long as a file.
std::string where(const std::string& file, const std::string& pointer) {
  constexpr std::size_t kMost = 300;
  if (pointer.size() <= kMost) return fmt::format("{}: {}", file, pointer.empty() ? "/" : pointer);
  std::size_t end = kMost;
  while ((static_cast<unsigned char>(pointer[end]) & 0xc0) == 0x80)  // within a character
    --end;
  return fmt::format("{}: {}...", file, std::string_view(pointer).substr(0, end));
}

std::vector<std::string> keys_of(const Params& params) {
  std::vector<std::string> keys;
  for (const Param& p : params)
    keys.push_back(p.key);
  return keys;
}

/// What a value of this kind looks like, for "expected ...".
std::string_view expectation(Kind kind) {
  switch (kind) {
    case Kind::kTime:
      return "a time as a string with its unit";
    case Kind::kBytes:
      return "a size as a string with its unit";
    case Kind::kBandwidth:
      return "a bandwidth as a string with its unit";
    case Kind::kTimePerByte:
      return "a time per byte as a string with its unit";
    case Kind::kInteger:
      return "a whole number";
    case Kind::kNumber:
      return "a number";
    case Kind::kBoolean:
      return "true or false";
    case Kind::kText:
      return "a string";
    case Kind::kPath:
      return "a file name";
    case Kind::kObject:
      return "an object";
    case Kind::kList:
      return "a list";
    case Kind::kAny:
      return "a value";
  }
  return "a value";
}

void check_word(const Config& config, std::string_view key, const std::string& text,
                const std::vector<std::string>& words) {
  if (!words.empty() && std::find(words.begin(), words.end(), text) == words.end())
    config.fail(key, unknown_word(text, words));
}

std::string range_text(const Param& param) {
  const Range& range = param.range;
  const auto number = [&](double bound) {
    if (param.kind == Kind::kTime) return fmt::format("{} s", bound);
    return param.kind == Kind::kInteger ? fmt::format("{:.0f}", bound) : fmt::format("{}", bound);
  };
  if (range.low == 0 && std::isinf(range.high)) {
    return range.low_is_allowed ? "must not be negative" : "must be positive";
  }
  const std::string low =
      (range.low_is_allowed ? "must be at least " : "must be more than ") + number(range.low);
  return std::isinf(range.high) ? low : low + " and at most " + number(range.high);
}

bool inside(const Range& range, double value) {
  return (range.low_is_allowed ? value >= range.low : value > range.low) && value <= range.high;
}

double base_value(Duration d) {
  return to_seconds(d);
}
double base_value(Bytes b) {
  return static_cast<double>(b.count);
}
double base_value(Bandwidth b) {
  return b.bytes_per_second;
}
double base_value(TimePerByte t) {
  return t.seconds_per_byte;
}

}  // namespace

Config::Config(const std::shared_ptr<const Document>& document, const Params& params)
    : Config(document, &document->root, "", params) {}

Config::Config(std::shared_ptr<const Document> document, const Json* node, std::string pointer,
               const Params& params)
    : document_(std::move(document)), node_(node), pointer_(std::move(pointer)), params_(&params) {
  if (!node_->is_object()) {
    throw InputError(fmt::format("{}: expected an object, got {}", where(document_->file, pointer_),
                                 brief(*node_)));
  }
  for (const auto& [key, unused] : node_->items()) {
    if (std::any_of(params.begin(), params.end(),
                    [&name = key](const Param& p) { return p.key == name || p.key == "*"; })) {
      continue;
    }
    const std::vector<std::string> known = keys_of(params);
    const std::string guess = closest(key, known);
    throw InputError(fmt::format(
        "{}: unknown key{}; known: {}", where(document_->file, join_pointer(pointer_, key)),
        guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess), listed(known)));
  }
}

namespace {

const std::shared_ptr<const Document>& nothing() {
  static const auto document = std::make_shared<const Document>(Document{"", Json::object()});
  return document;
}

}  // namespace

Config::Config(const Params& params) : Config(nothing(), params) {}

const Param& Config::param(std::string_view key) const {
  const auto found = std::find_if(params_->begin(), params_->end(),
                                  [&](const Param& p) { return p.key == key || p.key == "*"; });
  STEPTIME_CHECK(found != params_->end(), fmt::format("{}{} is not declared", pointer_, key));
  return *found;
}

const Json& Config::value(const Param& param, std::string_view key) const {
  if (const auto found = node_->find(key); found != node_->end()) return *found;
  if (param.need == Need::kRequired) fail(key, "required but missing");
  STEPTIME_CHECK(param.need == Need::kDefault, std::string(key) + " is read without has()");
  return param.fallback;
}

bool Config::has(std::string_view key) const {
  (void)param(key);
  return node_->contains(key);
}

const Json& Config::raw(std::string_view key) const {
  return value(param(key), key);
}

void Config::fail(std::string_view key, std::string_view message) const {
  const std::string pointer = key.empty() ? pointer_ : join_pointer(pointer_, key);
  throw InputError(fmt::format("{}: {}", where(document_->file, pointer), message));
}

template <class T>
T Config::get(std::string_view key) const {
  const Param& p = param(key);
  const Json& json = value(p, key);
  if (!json.is_string()) {
    fail(key, fmt::format("expected {}, got {}", expectation(p.kind), brief(json)));
  }
  T quantity;
  try {
    quantity = parse_quantity<T>(json.get_ref<const std::string&>());
  } catch (const InputError& e) {
    fail(key, e.what());
  }
  if (!inside(p.range, base_value(quantity))) {
    fail(key, fmt::format("{}, got {}", range_text(p), brief(json)));
  }
  return quantity;
}
template Duration Config::get<Duration>(std::string_view) const;
template Bytes Config::get<Bytes>(std::string_view) const;
template Bandwidth Config::get<Bandwidth>(std::string_view) const;
template TimePerByte Config::get<TimePerByte>(std::string_view) const;

template <>
double Config::get<double>(std::string_view key) const {
  const Param& p = param(key);
  const Json& json = value(p, key);
  if (!json.is_number()) {
    fail(key, fmt::format("expected {}, got {}", expectation(p.kind), brief(json)));
  }
  const auto number = json.get<double>();
  if (!inside(p.range, number)) {
    fail(key, fmt::format("{}, got {}", range_text(p), brief(json)));
  }
  return number;
}

template <>
std::int64_t Config::get<std::int64_t>(std::string_view key) const {
  const Param& p = param(key);
  const Json& json = value(p, key);
  if (!json.is_number_integer()) {
    fail(key, fmt::format("expected {}, got {}", expectation(p.kind), brief(json)));
  }
  // Ranges lie inside int64, so a number beyond int64 is out of range too.
  if (!inside(p.range, json.get<double>())) {
    fail(key, fmt::format("{}, got {}", range_text(p), brief(json)));
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > kMost) {
    fail(key, fmt::format("expected {}, got {}", expectation(p.kind), brief(json)));
  }
  return json.get<std::int64_t>();
}

template <>
bool Config::get<bool>(std::string_view key) const {
  const Json& json = value(param(key), key);
  if (!json.is_boolean()) fail(key, fmt::format("expected true or false, got {}", brief(json)));
  return json.get<bool>();
}

template <>
std::string Config::get<std::string>(std::string_view key) const {
  const Param& p = param(key);
  const Json& json = value(p, key);
  if (!json.is_string()) {
    fail(key, fmt::format("expected {}, got {}", expectation(p.kind), brief(json)));
  }
  auto text = json.get<std::string>();
  check_word(*this, key, text, p.words);
  if (p.kind == Kind::kPath) {
    if (text.empty() || text.find('\0') != std::string::npos) {
      fail(key, fmt::format("expected a file name, got {}", brief(json)));
    }
    return (std::filesystem::path(document_->file).parent_path() / text)
        .lexically_normal()
        .string();
  }
  return text;
}

std::string Config::text_of(std::string_view key) const {
  const auto path = get<std::string>(key);
  try {
    return read_file(path);
  } catch (const InputError& e) {
    fail(key, e.what());
  }
}

Config Config::through(const Params& params) const {
  return {document_, node_, pointer_, params};
}

Config Config::defaults(std::string_view key, const Params& params) const {
  return Config(document_, &nothing()->root, join_pointer(pointer_, key), params);
}

Config Config::object(std::string_view key, const Params& params) const {
  const Param& p = param(key);
  return {document_, &value(p, key), join_pointer(pointer_, key), params};
}

std::vector<Config> Config::objects(std::string_view key, const Params& params) const {
  const Json& list = raw(key);
  if (!list.is_array()) fail(key, fmt::format("expected a list, got {}", brief(list)));
  std::vector<Config> all;
  all.reserve(list.size());
  const std::string pointer = join_pointer(pointer_, key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    all.push_back(Config(document_, &list[i], fmt::format("{}/{}", pointer, i), params));
  }
  return all;
}

const Params& any_keys() {
  static const Params params{{.key = "*", .kind = Kind::kAny}};
  return params;
}

Json with_defaults(const Json& object, const Params& params) {
  Json full = Json::object();
  for (const Param& p : params) {
    if (const auto found = object.find(p.key); found != object.end())
      full[p.key] = *found;
    else if (p.need == Need::kDefault &&
             std::ranges::none_of(p.unless, [&](const auto& key) { return object.contains(key); }))
      full[p.key] = p.fallback;
  }
  return full;
}

void Config::check_values() const {
  for (const auto& [key, unused] : node_->items()) {
    if (!has(key)) continue;
    switch (param(key).kind) {
      case Kind::kTime:
        get<Duration>(key);
        break;
      case Kind::kBytes:
        get<Bytes>(key);
        break;
      case Kind::kBandwidth:
        get<Bandwidth>(key);
        break;
      case Kind::kTimePerByte:
        get<TimePerByte>(key);
        break;
      case Kind::kInteger:
        get<std::int64_t>(key);
        break;
      case Kind::kNumber:
        get<double>(key);
        break;
      case Kind::kBoolean:
        get<bool>(key);
        break;
      case Kind::kText:
      case Kind::kPath:
        get<std::string>(key);
        break;
      case Kind::kObject:
        if (raw(key).is_string() && !param(key).words.empty())
          check_word(*this, key, raw(key).get<std::string>(), param(key).words);
        else if (param(key).choice.empty() || !raw(key).is_string())
          object(key, any_keys());
        break;
      case Kind::kList:
      case Kind::kAny:
        break;
    }
  }
}

}  // namespace steptime
