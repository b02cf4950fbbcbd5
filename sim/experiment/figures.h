// Every key that a result can have: its unit, what it is and how it is computed. `run`, `sweep`,
// `reproduce`, `list`, JSON, CSV and tables are views of this table, so that a key means the same
// and stands at the same place in all of them.
#pragma once
#include "sim/config/json.h"
#include "sim/experiment/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace steptime {

/// Of results: another one where a key changes what it means, or goes. CHANGELOG.md says which.
inline constexpr std::int64_t kResultFormat = 1;

struct Figure {
  std::string_view key;
  std::string_view unit;  ///< "" for a ratio, a text or a list
  std::string_view help;
  /// One of these is set, or `text` and `raw`. Each gives nothing (nullopt, "", null) where the run
  /// has no such value.
  std::optional<double> (*number)(const Result&) = nullptr;
  std::optional<std::int64_t> (*integer)(const Result&) = nullptr;
  std::string (*text)(const Result&) = nullptr;
  /// Two numbers: a list in JSON, two columns in CSV.
  std::optional<Interval> (*interval)(const Result&) = nullptr;
  /// In JSON only. `details` may be null.
  Json (*list)(const Result&, const Details* details) = nullptr;
  /// Appends JSON's text, or nothing: for what sweeps write millions of times. In JSON only, unless
  /// `text` is set, too.
  void (*raw)(std::string& json, const Result&) = nullptr;
};

/// In the order in which they are written.
std::span<const Figure> figures();

/// [{"cause", "resource", "seconds"}]
Json causes_json(std::span<const Cause> causes);

/// As a number, whichever it is; nothing for a text or a list.
std::optional<double> value_of(const Figure& figure, const Result& result);

/// How a table for people shows a figure: value x factor with so many decimals.
struct Shown {
  std::string_view key;
  std::string_view name;  ///< what the table calls its line or column
  double factor = 1;
  int decimals = 0;
  std::string_view unit = "";  ///< behind the number, where the name does not have it
};

/// "" where the run has no such value, but "never" for a target that a run which learns missed.
std::string shown(const Shown& how, const Result& result);

}  // namespace steptime
