// Two sets of results beside each other: which figures differ by more than a tolerance, and whether
// that is for the worse.
#pragma once
#include "sim/config/json.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// A result, and what tells it from the others of its set.
struct ResultRow {
  std::string id;      ///< its file, if there may be several, and its place in the sweep
  std::string label;   ///< the same, short
  Json figures;        ///< by key; of a point that failed only "error"
  std::string file{};  ///< it was read from
};

/// The results in a file that `run --format json`, `sweep --format json` or `jsonl` or `pin` wrote,
/// or in all such files of a folder. Throws InputError for anything else, such as the table beside
/// a sweep's results, for a pin of another version, and for two results of one place.
std::vector<ResultRow> read_results(const std::string& path);

/// The text of a pin: results, one a line.
std::string pin_text(std::span<const std::string> rows);

enum class Verdict { kBetter, kWorse, kChanged };

struct Difference {
  std::string row;  ///< the result's label
  std::string key;  ///< "" where a result is missing, is new, or fails in one of the sets
  Json before;      ///< null where there is none
  Json after;
  /// Change of a number in per cent; none where `before` is 0 or no number.
  std::optional<double> change_pct;
  Verdict verdict = Verdict::kChanged;
};

/// How far a figure may be off and count as the same, in per cent of what it was.
struct Tolerances {
  double others_pct = 0.1;
  std::map<std::string, double> pct;  ///< by key
};

struct Comparison {
  std::size_t rows = 0;  ///< results that both sets have
  std::size_t figures = 0;
  std::vector<Difference> differences;

  std::size_t count(Verdict verdict) const;
};

/// Numbers, and the status of a result's domain. More time is worse and more speed is
/// better; of other figures a difference is a change. A result that is missing in `after`, or that
/// fails only there, is worse. `keys`: only these, if any. Throws InputError for a key that no
/// result has.
Comparison compare(std::span<const ResultRow> before, std::span<const ResultRow> after,
                   const Tolerances& tolerances, std::span<const std::string> keys);

/// For people, with a summary in the last line.
std::string comparison_table(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);
Json comparison_json(const Comparison& comparison);
/// JUnit's XML: a test case for each result of `after`, which fails where something is worse.
std::string comparison_junit(const Comparison& comparison, std::span<const ResultRow> after);

}  // namespace steptime
