#include "sim/sweeps/values.h"

#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/core/random.h"
#include "sim/experiment/overrides.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::size_t kMostValues = 1'000'000;  // of one key

[[noreturn]] void fail(const Document& document, const std::string& pointer,
                       const std::string& message) {
  throw InputError(
      fmt::format("{}: {}: {}", document.file, join_pointer("/sweep", pointer), message));
}

/// A whole number as an integer where it fits: keys such as /cluster/nodes take no other.
Json number(double value) {
  constexpr double kInt64 = 0x1p63;
  const bool whole = std::abs(value) < kInt64 && value == std::floor(value);
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

/// A number, with its unit if it has one; "x2", a factor, is 2 of the unit "x".
struct Amount {
  double number = 0;
  std::string unit;      ///< "" for a bare number
  double one = 1;        ///< one of the unit, in the base unit
  std::size_t kind = 0;  ///< which kind of quantity it is: amounts of one kind can be compared
  static constexpr std::size_t kBytes = 2;

  double base() const { return number * one; }
  /// The same kind of amount, that many of the unit; of bytes a whole number.
  Json of(double count) const {
    if (kind == kBytes) {
      const double bytes = std::round(count * one);
      if (bytes / one != count) return fmt::format("{:.0f} B", bytes);
    }
    if (unit.empty()) return steptime::number(count);
    return unit == "x" ? fmt::format("x{}", count) : fmt::format("{} {}", count, unit);
  }
};

template <class Quantity>
std::optional<double> base_of(const std::string& text) {
  try {
    const Quantity quantity = parse_quantity<Quantity>(text);
    if constexpr (std::is_same_v<Quantity, Duration>) return to_seconds(quantity);
    if constexpr (std::is_same_v<Quantity, Bytes>) return static_cast<double>(quantity.count);
    if constexpr (std::is_same_v<Quantity, Bandwidth>) return quantity.bytes_per_second;
    if constexpr (std::is_same_v<Quantity, TimePerByte>) return quantity.seconds_per_byte;
  } catch (const InputError&) {
  }
  return std::nullopt;
}

std::optional<Amount> amount_in(const Json& json) {
  if (json.is_number()) return Amount{.number = json.get<double>(), .unit = ""};
  if (!json.is_string()) return std::nullopt;
  std::string_view text = json.get_ref<const std::string&>();
  const bool is_factor = text.starts_with('x');
  if (is_factor) text.remove_prefix(1);
  Amount amount;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (error != std::errc{} || !std::isfinite(amount.number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  amount.unit = text;
  if (is_factor) {
    if (!text.empty()) return std::nullopt;
    amount.unit = "x";
    return amount;
  }
  const std::string one = "1 " + amount.unit;
  for (const auto& base : {base_of<Duration>(one), base_of<Bytes>(one), base_of<Bandwidth>(one),
                           base_of<TimePerByte>(one)}) {
    ++amount.kind;
    if (!base) continue;
    amount.one = *base;
    return amount;
  }
  return std::nullopt;
}

double of_six_digits(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The values between two ends.
class Span {
 public:
  Span(const Document& document, const std::string& pointer, const Json& range)
      : document_(document),
        pointer_(pointer),
        wrapper_{{.key = "sweep", .kind = Kind::kObject}},
        level_{{.key = pointer, .kind = Kind::kObject}},
        config_(Config(std::make_shared<Document>(
                           Document{document.file, Json{{"sweep", Json{{pointer, range}}}}}),
                       wrapper_)
                    .object("sweep", level_)
                    .object(pointer, swept_range_params())),
        from_(amount("from")),
        to_(like_from("to").base() / from_.one) {
    if (from_.number > to_)
      fail(fmt::format("\"from\" {} is above \"to\" {}", text("from"), text("to")));
  }

  std::vector<Json> values() const {
    if (config_.has("random")) {
      if (config_.has("times") || config_.has("plus"))
        fail("\"random\" goes with neither \"times\" nor \"plus\"");
      return sample();
    }
    for (const char* key : {"scale", "seed"}) {
      if (config_.has(key)) fail(fmt::format("\"{}\" is of \"random\"", key));
    }
    if (config_.has("times") == config_.has("plus")) fail("expected either \"times\" or \"plus\"");
    return progression();
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    steptime::fail(document_, pointer_, message);
  }
  std::string text(const char* key) const {
    const Json& value = config_.raw(key);
    return value.is_string() ? brief(value) : value.dump();
  }

  Amount amount(const char* key) const {
    const Json& value = config_.raw(key);
    if (auto known = amount_in(value)) return *known;
    config_.fail(key, fmt::format("expected a number, a quantity with its unit or a factor such as "
                                  "\"x2\", got {}",
                                  brief(value)));
  }
  Amount like_from(const char* key) const {
    Amount other = amount(key);
    const bool is_alike = other.kind == from_.kind && (other.unit == "x") == (from_.unit == "x") &&
                          other.unit.empty() == from_.unit.empty();
    if (!is_alike) {
      config_.fail(key, fmt::format("expected a value such as \"from\" {}, got {}", text("from"),
                                    text(key)));
    }
    return other;
  }

  std::vector<Json> progression() const {
    const bool grows = config_.has("times");
    if (grows && from_.number <= 0) fail("\"from\" must be positive");
    double step = 0;
    if (grows) {
      step = config_.get<double>("times");
    } else {
      step = like_from("plus").base() / from_.one;
      if (!(step > 0)) config_.fail("plus", fmt::format("must be positive, got {}", text("plus")));
    }
    // A last value that rounding pushes past "to" is still meant: 0.1 + 2 * 0.1 > 0.3.
    const double limit = to_ + 1e-9 * std::abs(to_);
    std::vector<Json> values;
    double value = from_.number;
    for (std::size_t k = 1; value <= limit; ++k) {
      if (values.size() >= kMostValues) fail("more than a million values");
      const double at = std::min(value, to_);
      values.push_back(from_.of(at == std::round(at) ? at : of_six_digits(at)));
      const auto exponent = static_cast<double>(k);
      const double next =
          grows ? from_.number * std::pow(step, exponent) : from_.number + step * exponent;
      if (next <= value) fail("the step is too small to advance");
      value = next;
    }
    return values;
  }

  /// Each value depends on the seed, the pointer and its number only. Whole numbers between whole
  /// numbers, six digits otherwise.
  std::vector<Json> sample() const {
    const bool is_log = config_.get<std::string>("scale") == "log";
    if (is_log && from_.number <= 0) fail("\"from\" must be positive on a \"log\" scale");
    const bool is_whole =
        config_.raw("from").is_number_integer() && config_.raw("to").is_number_integer();
    std::uint64_t hash = kFingerprintSeed;
    for (const char c : pointer_)
      hash = mix(hash, static_cast<std::uint64_t>(c));
    const RandomStream stream(config_.get<std::int64_t>("seed"), Purpose::kSweep);
    std::vector<Json> values;
    for (std::int64_t i = 0; i < config_.get<std::int64_t>("random"); ++i) {
      const double drawn =
          stream.uniform(static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(i));
      const double value = is_log ? from_.number * std::pow(to_ / from_.number, drawn)
                                  : from_.number + (to_ - from_.number) * drawn;
      values.push_back(from_.of(is_whole ? std::round(value) : of_six_digits(value)));
    }
    return values;
  }

  const Document& document_;
  const std::string& pointer_;
  Params wrapper_;
  Params level_;
  Config config_;
  Amount from_;
  double to_;  ///< in the unit of `from_`
};

/// "x2" as twice the config's own value; any other value as it stands.
Json resolved_factor(const Document& document, const std::string& pointer, const Json& value,
                     const Json& own) {
  const auto factor = value.is_string() ? amount_in(value) : std::nullopt;
  if (!factor || factor->unit != "x") return value;
  if (own.is_null()) {
    fail(document, pointer,
         fmt::format("{} has nothing to multiply, as the config has no value there", brief(value)));
  }
  const auto amount = amount_in(own);
  return amount && amount->unit != "x" ? amount->of(amount->number * factor->number) : value;
}

/// The values in an object by their pointers. A list is one value.
Json flattened(const Json& object, const std::string& at = "") {
  Json flat = Json::object();
  for (const auto& [key, value] : object.items()) {
    const std::string pointer = (Json::json_pointer(at) / key).to_string();
    if (value.is_object() && !value.empty())
      flat.update(flattened(value, pointer));
    else
      flat[pointer] = value;
  }
  return flat;
}

/// Of objects with the same type, the parts that tell them apart.
std::vector<std::string> labels_of(const std::vector<Json>& values) {
  std::map<std::string, std::vector<Json>> by_type;  // flat, of the objects
  const auto type_of = [](const Json& object) {
    return object.contains("type") ? swept_value(object["type"]) : std::string();
  };
  for (const Json& value : values) {
    if (value.is_object() && !value.empty()) by_type[type_of(value)].push_back(flattened(value));
  }
  std::vector<std::string> labels;
  for (const Json& value : values) {
    std::string label;
    if (value.is_object() && !value.empty()) {
      label = type_of(value);
      const auto& others = by_type[label];
      const Json flat = flattened(value);
      for (const auto& [key, leaf] : flat.items()) {
        const bool is_common =
            std::all_of(others.begin(), others.end(), [&, &name = key, &own = leaf](const Json& o) {
              return o.contains(name) && o[name] == own;
            });
        if (is_common) continue;
        label +=
            fmt::format("{}{}={}", label.empty() ? "" : " ", swept_name(key), swept_value(leaf));
      }
    }
    labels.push_back(label.empty() ? swept_value(value) : label);
  }
  return labels;
}

bool has_label(const Json& value) {
  return value.is_object() && value.size() == 2 && value.contains("label") &&
         value.contains("value");
}

}  // namespace

const Params& swept_range_params() {
  static const Params params{
      {.key = "from",
       .help = "the first value, or the low end of a random sample: a number, a quantity, or a "
               "factor of what the file has, such as \"x0.5\""},
      {.key = "to", .help = "no value is beyond it; a whole number between whole numbers"},
      {.key = "times",
       .kind = Kind::kNumber,
       .help = "from one value to the next; this, or",
       .need = Need::kOptional,
       .range = {.low = 1, .low_is_allowed = false}},
      {.key = "plus", .help = "from one value to the next; this, or", .need = Need::kOptional},
      {.key = "random",
       .kind = Kind::kInteger,
       .help = "how many values are drawn, of six digits each; they depend on seed and key only",
       .need = Need::kOptional,
       .range = {.low = 1, .high = static_cast<double>(kMostValues)}},
      {.key = "scale",
       .kind = Kind::kText,
       .help = "of a random sample: on which values are drawn evenly",
       .need = Need::kDefault,
       .fallback = "linear",
       .words = {"linear", "log"}},
      {.key = "seed",
       .kind = Kind::kInteger,
       .help = "of a random sample",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 0, .high = 9e18}}};
  return params;
}

std::vector<SweptValue> swept_values(const Document& document, const std::string& pointer,
                                     const Json& values) {
  std::vector<Json> plain;
  if (values.is_object()) {
    plain = Span(document, pointer, values).values();
  } else if (values.is_array()) {
    plain = {values.begin(), values.end()};
  } else {
    fail(document, pointer,
         fmt::format("expected a list, {{\"from\", \"to\", \"times\" or \"plus\"}} or {{\"zip\"}}, "
                     "got {}",
                     brief(values)));
  }
  if (plain.empty()) fail(document, pointer, "expected at least one value, got an empty list");
  Json scratch = document.root;
  const Json* const own = place_in_experiment(scratch, pointer);
  std::vector<SweptValue> all;
  for (Json& value : plain) {
    SweptValue swept;
    if (has_label(value)) {
      if (!value["label"].is_string())
        fail(document, pointer,
             fmt::format("expected a text as \"label\", got {}", brief(value["label"])));
      swept.label = value["label"];
      swept.is_named = true;
      value = Json(value["value"]);
    }
    value = resolved_factor(document, pointer, value, own == nullptr ? Json() : *own);
    swept.value = value;
    all.push_back(std::move(swept));
  }
  const std::vector<std::string> labels = labels_of(plain);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_named) all[i].label = labels[i];
  }
  return all;
}

std::optional<double> place_on_axis(const Json& value) {
  const auto amount = amount_in(value);
  return amount ? std::optional(amount->base()) : std::nullopt;
}

std::string unit_on_axis(const Json& value) {
  const auto amount = amount_in(value);
  return amount ? amount->unit : "";
}

std::string swept_name(const std::string& pointer) {
  std::string name = pointer;
  if (name.ends_with("/type")) name.resize(name.size() - 5);
  return name.substr(name.rfind('/') + 1);
}

std::string swept_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("type")) return swept_value(value["type"]);
  return value.dump();
}

}  // namespace steptime
