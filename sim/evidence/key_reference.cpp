#include "sim/evidence/key_reference.h"

#include "sim/config/config.h"
#include "sim/config/registry.h"
#include "sim/evidence/claim_keys.h"
#include "sim/evidence/markdown.h"
#include "sim/evidence/published_rows.h"
#include "sim/experiment/figures.h"
#include "sim/experiment/keys.h"
#include "sim/network/read_cluster.h"
#include "sim/sweeps/values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr const char* kHead =
    R"(# Keys of experiments and results

Written by `steptime schema --format markdown` from the tables that read experiments and write
results; a test compares. `steptime schema` has the same as JSON Schema, for editors, and
`steptime check FILE` validates a file.

An experiment is one JSON file. Where a key takes a time, a size, a bandwidth or a time per byte, its
value is text with a unit, and a bare number is refused. SI prefixes are powers of 1000, `Ki`, `Mi` and
`Gi` of 1024; `b` is a bit and `B` a byte: `"45.26 us"`, `"5 min"`, `"25 MiB"`, `"10 Gbps"`,
`"1.25 GB/s"`, `"0.857 ns/B"`. Sizes may be counted in values: `"16 Mi float32"` is 64 MiB. Paths are
relative to the file that names them.

What has a `"type"` is chosen by name: `{"type": "fixed-buckets", "capacity": "4 MiB"}`, or only
`"fixed-buckets"` where all else has its default. On the command line `--set /pointer=value` replaces a
value or adds one. A key inside an object that the file leaves out changes that key of its default or of
the preset's, or chooses the one type that has it: `--set /workload/overlap/blocks=4`. `null` takes out
what the file has there: `--set /sweep=null`.

What the models behind the keys do, and which papers go by a number, says [models.md](models.md).
)";

constexpr const char* kSweep =
    R"(
## Sweeps

The keys of `sweep` are JSON pointers into the experiment. The values of one are a list, such as `[4, 8]`
or `["wfbp", {"type": "fixed-buckets", "capacity": "4 MiB"}]`; factors of what the file has there,
`["x0.5", "x2"]`; or one of the objects below, such as `{"from": "10 Gbps", "to": "400 Gbps", "times": 2}`.
An object in a list may have a name for tables: `{"label": "small", "value": {...}}`. `null` stands for the config
without what it says there: `[null, {...}]`. Keys whose values stand in `{"zip": ...}` advance together. Points
are numbered with the last key varying fastest.

)";

/// "from 1 to 1000000", "above 0" or "".
std::string range_text(const Range& range) {
  std::string text;
  if (std::isfinite(range.low))
    text += fmt::format("{} {:.10g}", range.low_is_allowed ? "from" : "above", range.low);
  if (std::isfinite(range.high))
    text += fmt::format("{}to {:.10g}", text.empty() ? "" : " ", range.high);
  return text;
}

std::string with_range(const std::string& kind, const Param& p) {
  const std::string range = range_text(p.range);
  return range.empty() ? kind : kind + " " + range;
}

/// The page while it is written.
class Page {
 public:
  /// A table of keys. `pointer`: of the object, in front of its own objects' headings.
  void add_keys(const Params& params, const std::string& pointer) {
    MarkdownTable table({"key", "value", "default", "what"});
    for (const Param& p : params)
      table.add({code(p.key), value_text(p, pointer), fallback_text(p), p.help});
    text_ += table.text();
  }

  /// The objects and choices that were named and not yet described, until there are none.
  void add_objects() {
    while (!objects_.empty()) {
      const auto [pointer, table] = objects_.front();
      objects_.erase(objects_.begin());
      const auto others = static_cast<std::ptrdiff_t>(objects_.size());
      text_ += fmt::format("\n## {}\n\n", pointer);
      add_keys(table(), pointer);
      // An object's own objects come right behind it.
      std::rotate(objects_.begin(), objects_.begin() + others, objects_.end());
    }
  }
  void add_choices() {
    for (std::size_t i = 0; i < nouns_.size(); ++i) {
      const std::string noun = nouns_[i];
      add_choice(noun, *Catalogue::all().at(noun));
    }
  }

  std::string& text() { return text_; }

 private:
  std::string value_text(const Param& p, const std::string& pointer) {
    switch (p.kind) {
      case Kind::kTime:
        return "time";
      case Kind::kBytes:
        return "size";
      case Kind::kBandwidth:
        return "bandwidth";
      case Kind::kTimePerByte:
        return "time per byte";
      case Kind::kInteger:
        return with_range("whole number", p);
      case Kind::kNumber:
        return with_range("number", p);
      case Kind::kBoolean:
        return "`true` or `false`";
      case Kind::kText:
        return p.words.empty() ? "text" : words_text(p.words);
      case Kind::kPath:
        return "file";
      case Kind::kList:
        return "list";
      case Kind::kAny:
        return "any";
      case Kind::kObject:
        break;
    }
    if (!p.choice.empty()) {
      if (std::find(nouns_.begin(), nouns_.end(), p.choice) == nouns_.end())
        nouns_.push_back(p.choice);
      return fmt::format("[{0}](#{1})", p.choice, slug(p.choice));
    }
    if (p.table == nullptr) return "object";
    const std::string name = pointer + "/" + p.key;
    objects_.emplace_back(name, p.table);
    const std::string link = fmt::format("[object](#{})", slug(name));
    return p.words.empty() ? link : words_text(p.words) + ", or an " + link;
  }

  static std::string words_text(const std::vector<std::string>& words) {
    std::vector<std::string> quoted;
    quoted.reserve(words.size());
    for (const std::string& word : words)
      quoted.push_back(code(word));
    return fmt::format("{}", fmt::join(quoted, ", "));
  }

  static std::string fallback_text(const Param& p) {
    if (p.need == Need::kRequired) return "required";
    if (p.need == Need::kOptional) return "";
    const Json& value = p.fallback;
    if (value.is_string())
      return value.get<std::string>().empty() ? "" : code(value.get<std::string>());
    if (value.is_object() && value.size() == 1 && value.contains("type"))
      return code(value.at("type").get<std::string>());
    return code(value.is_number_float() ? fmt::format("{:.6g}", value.get<double>())
                                        : value.dump());
  }

  /// Keys that mean the same in several types stand in one line.
  void add_choice(const std::string& noun, const Catalogue& catalogue) {
    struct Row {
      std::string key, value, help;
      std::vector<std::pair<std::string, std::string>> fallbacks;  ///< type, default
    };
    std::vector<Row> rows;
    MarkdownTable types({"type", "what"});
    for (const auto& [name, item] : catalogue.items()) {
      types.add({code(name), item.help});
      for (const Param& p : item.params) {
        if (p.key == "type") continue;
        const std::string value = value_text(p, "/" + noun + "/" + name);
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
          return r.key == p.key && r.value == value && r.help == p.help;
        });
        const std::pair fallback{name, fallback_text(p)};
        if (row == rows.end())
          rows.push_back({p.key, value, p.help, {fallback}});
        else
          row->fallbacks.push_back(fallback);
      }
    }
    text_ += fmt::format("\n### {}\n\n{}", noun, types.text());
    if (rows.empty()) return;
    MarkdownTable keys({"key", "of", "value", "default", "what"});
    for (const Row& row : rows) {
      std::vector<std::string> of;
      std::vector<std::pair<std::string, std::vector<std::string>>> by_fallback;
      for (const auto& each : row.fallbacks) {
        const auto& type = each.first;  // clang 14 captures no structured binding
        const auto& fallback = each.second;
        of.push_back(code(type));
        auto found = std::find_if(by_fallback.begin(), by_fallback.end(),
                                  [&](const auto& one) { return one.first == fallback; });
        if (found == by_fallback.end()) found = by_fallback.insert(found, {fallback, {}});
        found->second.push_back(code(type));
      }
      std::string fallbacks = by_fallback.front().first;
      for (std::size_t i = 0; by_fallback.size() > 1 && i < by_fallback.size(); ++i) {
        const auto& [fallback, types] = by_fallback[i];
        fallbacks = fmt::format("{}{} of {}", i == 0 ? "" : fallbacks + "; ", fallback,
                                fmt::join(types, ", "));
      }
      const bool is_of_all = of.size() > 1 && of.size() == catalogue.items().size();
      keys.add({code(row.key), is_of_all ? "all" : fmt::format("{}", fmt::join(of, ", ")),
                row.value, fallbacks, row.help});
    }
    text_ += "\n" + keys.text();
  }

  std::string text_;
  std::vector<std::pair<std::string, const Params& (*)()>> objects_;
  std::vector<std::string> nouns_;
};

void add_presets(std::string& text) {
  MarkdownTable table({"preset", "what"});
  for (const auto& [name, help] : cluster_presets())
    table.add({code(name), help});
  text += "\n## Presets of clusters\n\n" + table.text();
}

void add_claims(Page& page) {
  const auto section = [&](const char* heading, const Params& params) {
    page.text() += fmt::format("\n### {}\n\n", heading);
    page.add_keys(params, "/claims");
  };
  page.text() +=
      "\n## Claims\n\n`steptime reproduce` simulates what `claims` of an experiment says and "
      "prints "
      "it beside what was published.\n\n";
  page.add_keys(claims_params(), "/claims");
  section("One of the figures", claim_params());
  section("measure", measure_params());
  section("order", order_params());
  section("One of the maps", map_params());
  section("sizes of a map", map_sizes_params());
  section("One under the for of a map", map_row_params());
  section("rows", rows_params());
}

void add_results(std::string& text) {
  text +=
      "\n## Results\n\nA key stands at the same place in `run --format json`, in the rows of "
      "`sweep`, "
      "in CSV and under a claim's `value`, and is left out (in CSV: empty) where the run has no "
      "such "
      "value. `buckets`, `training` and `config` are details, which `run` has and `sweep` with "
      "`--full`. CSV has no lists.\n\n";
  MarkdownTable table({"key", "unit", "what"});
  for (const Figure& f : figures())
    table.add({code(std::string(f.key)), std::string(f.unit), std::string(f.help)});
  text += table.text();
}

}  // namespace

std::string key_reference() {
  Page page;
  page.text() = kHead;
  page.text() += "\n## The experiment\n\n";
  page.add_keys(experiment_params(), "");
  page.add_objects();
  add_presets(page.text());
  page.text() += "\n## What is chosen by its type\n";
  page.add_choices();
  page.add_objects();
  page.text() += kSweep;
  page.add_keys(swept_range_params(), "/sweep");
  add_claims(page);
  add_results(page.text());
  return std::move(page.text());
}

}  // namespace steptime
