#include "sim/evidence/comparison.h"

#include "sim/config/text_lines.h"
#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/experiment/figures.h"
#include "sim/sweeps/values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPin = "steptime-pin";
constexpr int kPinVersion = 1;

constexpr std::array<std::string_view, 8> kLessIsBetter{
    "step_time_s",      "exposed_comm_s",       "epoch_time_s",         "exposed_s",
    "time_to_target_s", "time_to_target_min_s", "time_to_target_max_s", "epochs_to_target"};
constexpr std::array<std::string_view, 4> kMoreIsBetter{"throughput_samples_per_s", "speedup",
                                                        "scaling_efficiency", "final_accuracy"};

bool contains(std::span<const std::string_view> list, std::string_view key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

/// "nodes=4 schedule=wfbp" of {"/cluster/nodes": 4, "/strategy/schedule/type": "wfbp"}.
std::string label_of(const Json& params) {
  std::string label;
  for (const auto& [pointer, value] : params.items()) {
    label +=
        fmt::format("{}{}={}", label.empty() ? "" : " ", swept_name(pointer), swept_value(value));
  }
  return label;
}

/// One row of a file; `prefix`: of its id and label, in a set of several files.
ResultRow row_of(const Json& row, const std::string& where, const std::string& prefix) {
  if (!row.is_object())
    throw InputError(
        fmt::format("{}: expected a result of run, sweep or pin, got {}", where, brief(row)));
  if (!row.contains("step_time_s") && !row.contains("error"))
    throw InputError(fmt::format("{}: expected a result with \"step_time_s\" or \"error\"", where));
  const auto expect = [&](const char* what, std::string_view key, bool holds) {
    if (holds) return;
    throw InputError(fmt::format("{}: \"{}\": expected {}, got {}", where, key, what,
                                 brief(row.at(std::string(key)))));
  };
  if (row.contains("step_time_s") && !row.contains("format_version")) {
    throw InputError(
        fmt::format("{}: has no \"format_version\", as results of 0.1.0: since then the figures of "
                    "embeddings stand beside \"attribution\", not in it; write it anew",
                    where));
  }
  if (row.contains("format_version") && row["format_version"] != kResultFormat) {
    throw InputError(
        fmt::format("{}: \"format_version\": expected {}, got {}: CHANGELOG.md says what changed; "
                    "write it anew",
                    where, kResultFormat, brief(row["format_version"])));
  }
  for (const Figure& figure : figures()) {
    const std::string key(figure.key);
    if ((figure.number != nullptr || figure.integer != nullptr) && row.contains(key))
      expect("a number", key, row[key].is_number() && std::isfinite(row[key].get<double>()));
  }
  if (row.contains("step_time_s"))
    expect("more than 0", "step_time_s", row["step_time_s"].get<double>() > 0);
  if (row.contains("step_time_interval_s")) {
    const Json& ends = row["step_time_interval_s"];
    expect("two numbers", "step_time_interval_s",
           ends.is_array() && ends.size() == 2 && ends[0].is_number() && ends[1].is_number());
  }
  if (row.contains("params")) expect("an object", "params", row["params"].is_object());
  const Json params = row.value("params", Json::object());
  std::string label = label_of(params);
  if (label.empty() && prefix.empty()) label = "result";
  return {prefix + params.dump(),
          prefix.empty() ? label : fmt::format("{}{}{}", prefix, label.empty() ? "" : " ", label),
          row};
}

/// Of what is no JSON at all, such as a sweep's table, says which files are.
void check_is_json(const std::string& text, const std::string& file) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (text[first] == '{' || text[first] == '[')) return;
  const bool is_table = file.ends_with(".csv");
  throw InputError(fmt::format(
      "{}: expected results of run, sweep or pin, NAME.jsonl or NAME.json, got {}", file,
      is_table                     ? "a table of CSV"
      : first == std::string::npos ? "an empty file"
                                   : "no JSON"));
}

void add_file(const std::string& file, const std::string& prefix, std::vector<ResultRow>& rows) {
  const std::string text = read_file(file);
  const auto add = [&](const Json& row, const std::string& where) {
    rows.push_back(row_of(row, where, prefix));
    rows.back().file = file;
  };
  if (file.ends_with(".jsonl")) {
    int number = 0;
    for (const TextLine& line : text_lines(file, text)) {
      const std::string where = fmt::format("{}: row {}", file, ++number);
      add(parse_json(line.text(), where), where);
    }
    return;
  }
  check_is_json(text, file);
  const Json root = parse_json(text, file);
  if (root.is_object() && !root.contains("format")) {
    add(root, file);
    return;
  }
  std::string at;
  const Json* list = &root;
  if (root.is_object()) {
    if (root["format"] != kPin) {
      throw InputError(
          fmt::format("{}: /format: expected \"{}\", got {}", file, kPin, brief(root["format"])));
    }
    const Json version = root.value("version", Json());
    if (version != kPinVersion) {
      throw InputError(fmt::format("{}: /version: expected {}, got {}: write the pin anew", file,
                                   kPinVersion, brief(version)));
    }
    if (!root.contains("rows"))
      throw InputError(fmt::format("{}: /rows: required but missing", file));
    list = &root["rows"];
    at = "/rows";
  }
  if (!list->is_array()) {
    throw InputError(fmt::format("{}: {}expected results of run, sweep or pin, got {}", file,
                                 at.empty() ? "" : "/rows: ", brief(*list)));
  }
  for (std::size_t i = 0; i < list->size(); ++i)
    add((*list)[i], fmt::format("{}: {}/{}", file, at, i));
}

/// Whether a figure is compared: a number or the domain, of those asked for.
bool is_compared(const Figure& figure, std::span<const std::string> keys) {
  const bool can_be =
      figure.number != nullptr || figure.integer != nullptr || figure.key == "domain";
  return can_be && (keys.empty() || std::find(keys.begin(), keys.end(), figure.key) != keys.end());
}

void check_key(std::string_view key) {
  const auto all = figures();
  const bool known = std::any_of(all.begin(), all.end(), [&](const Figure& figure) {
    return figure.key == key && is_compared(figure, {});
  });
  if (known) return;
  throw InputError(fmt::format(
      "{}: expected \"domain\" or a figure that is a number, as steptime list result has them",
      brief(key)));
}

/// Of a domain's status: the less is known, the higher.
int rank(const Json& status) {
  if (status == "validated") return 0;
  return status == "extrapolated" ? 1 : 2;
}

/// The value of a figure that is compared: of a domain its status.
Json compared(const ResultRow& row, const Figure& figure) {
  Json value = row.figures.value(std::string(figure.key), Json());
  return value.is_object() ? value.value("status", Json()) : value;
}

Verdict verdict_on(std::string_view key, const Json& before, const Json& after) {
  if (key == "domain") return rank(after) > rank(before) ? Verdict::kWorse : Verdict::kBetter;
  const bool has_both = before.is_number() && after.is_number();
  const bool less_is_better = contains(kLessIsBetter, key);
  if (!less_is_better && !contains(kMoreIsBetter, key)) return Verdict::kChanged;
  if (!has_both) return after.is_number() ? Verdict::kBetter : Verdict::kWorse;
  return (after.get<double>() < before.get<double>()) == less_is_better ? Verdict::kBetter
                                                                        : Verdict::kWorse;
}

std::string shown_value(const Json& value) {
  if (value.is_null()) return "none";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.is_string() ? one_line(value.get<std::string>()) : value.dump();
}

const char* word(Verdict verdict) {
  if (verdict == Verdict::kChanged) return "changed";
  return verdict == Verdict::kWorse ? "WORSE" : "better";
}

std::string change_of(const Difference& d) {
  return d.change_pct ? fmt::format("{:+.2f} %", *d.change_pct) : "";
}

std::string summary(const Comparison& c) {
  return fmt::format("{} figures of {} results compared: {} worse, {} better, {} changed\n",
                     c.figures, c.rows, c.count(Verdict::kWorse), c.count(Verdict::kBetter),
                     c.count(Verdict::kChanged));
}

std::string sentence(const Difference& d) {
  return fmt::format("{}: {} to {}{}", d.key.empty() ? "result" : d.key, shown_value(d.before),
                     shown_value(d.after), d.change_pct ? fmt::format(", {}", change_of(d)) : "");
}

}  // namespace

std::vector<ResultRow> read_results(const std::string& path) {
  std::vector<ResultRow> rows;
  if (!fs::is_directory(path)) {
    add_file(path, "", rows);
  } else {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path)) {
      const fs::path extension = entry.path().extension();
      // What a sweep says of its inputs is no result.
      const bool is_of_inputs = entry.path().stem().extension() == ".inputs";
      if (entry.is_regular_file() && !is_of_inputs &&
          (extension == ".json" || extension == ".jsonl"))
        files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files)
      add_file(file.string(), one_line(file.filename().string()), rows);
  }
  if (rows.empty()) throw InputError(fmt::format("{}: holds no results", path));
  std::set<std::string> seen;
  for (const ResultRow& row : rows) {
    if (!seen.insert(row.id).second)
      throw InputError(fmt::format("{}: has two results of {}", path, row.label));
  }
  return rows;
}

std::string pin_text(std::span<const std::string> rows) {
  std::string text =
      fmt::format("{{\"format\": \"{}\", \"version\": {}, \"steptime\": \"{}\", \"rows\": [\n",
                  kPin, kPinVersion, STEPTIME_VERSION);
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("{}{}\n", trimmed(rows[i]), i + 1 < rows.size() ? "," : "");
  return text + "]}\n";
}

std::size_t Comparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(differences.begin(), differences.end(),
                    [&](const Difference& d) { return d.verdict == verdict; }));
}

Comparison compare(std::span<const ResultRow> before, std::span<const ResultRow> after,
                   const Tolerances& tolerances, std::span<const std::string> keys) {
  for (const std::string& key : keys)
    check_key(key);
  for (const auto& [key, unused] : tolerances.pct)
    check_key(key);
  Comparison comparison;
  const auto differ = [&](const ResultRow& row, std::string_view key, const Json& was,
                          const Json& is, Verdict verdict) -> Difference& {
    return comparison.differences.emplace_back(Difference{.row = row.label,
                                                          .key = std::string(key),
                                                          .before = was,
                                                          .after = is,
                                                          .change_pct = std::nullopt,
                                                          .verdict = verdict});
  };
  std::map<std::string, const ResultRow*> by_id;
  for (const ResultRow& row : after)
    by_id[row.id] = &row;
  std::size_t failures = 0;
  for (const ResultRow& old_row : before) {
    const auto found = by_id.find(old_row.id);
    if (found == by_id.end()) {
      differ(old_row, "", "there", nullptr, Verdict::kWorse);
      continue;
    }
    const ResultRow& new_row = *found->second;
    by_id.erase(found);
    ++comparison.rows;
    const bool failed = old_row.figures.contains("error");
    const bool fails = new_row.figures.contains("error");
    if (failed || fails) {
      ++failures;
      if (failed && fails) continue;
      differ(old_row, "", failed ? old_row.figures["error"] : Json("there"),
             fails ? new_row.figures["error"] : Json("there"),
             fails ? Verdict::kWorse : Verdict::kBetter);
      continue;
    }
    for (const Figure& figure : figures()) {
      if (!is_compared(figure, keys)) continue;
      const std::string key(figure.key);
      const Json was = compared(old_row, figure);
      const Json is = compared(new_row, figure);
      if (was.is_null() && is.is_null()) continue;
      ++comparison.figures;
      if (was.is_number() && is.is_number()) {
        const double change = is.get<double>() - was.get<double>();
        const auto own = tolerances.pct.find(key);
        const double pct = own == tolerances.pct.end() ? tolerances.others_pct : own->second;
        const double size = std::abs(was.get<double>());
        if (!(std::abs(change) > pct / 100 * size)) continue;
        Difference& d = differ(old_row, key, was, is, verdict_on(key, was, is));
        if (size > 0) d.change_pct = change / size * 100;
      } else if (was != is) {
        differ(old_row, key, was, is, verdict_on(key, was, is));
      }
    }
  }
  // What compares nothing would pass every test.
  if (comparison.rows == 0) throw InputError("the two sets have no result in common");
  if (comparison.figures == 0 && failures == 0)
    throw InputError(fmt::format("no result has {}", fmt::join(keys, " or ")));
  for (const ResultRow& row : after) {
    if (by_id.contains(row.id)) differ(row, "", nullptr, "there", Verdict::kChanged);
  }
  return comparison;
}

std::string comparison_table(const Comparison& comparison) {
  if (comparison.differences.empty()) return summary(comparison);
  TextTable table({"result", "figure", "before", "after", "change", "verdict"});
  for (const Difference& d : comparison.differences)
    table.add(
        {d.row, d.key, shown_value(d.before), shown_value(d.after), change_of(d), word(d.verdict)});
  return table.text() + "\n" + summary(comparison);
}

std::string comparison_markdown(const Comparison& comparison) {
  std::string text;
  if (!comparison.differences.empty()) {
    text = "| result | figure | before | after | change | verdict |\n|---|---|---|---|---|---|\n";
    for (const Difference& d : comparison.differences) {
      std::string cells;
      for (const std::string& cell : {d.row, d.key, shown_value(d.before), shown_value(d.after),
                                      change_of(d), std::string(word(d.verdict))}) {
        std::string escaped;
        for (const char c : cell)
          escaped += c == '|' ? "\\|" : std::string_view(&c, 1);
        cells += fmt::format("| {} ", escaped);
      }
      text += fmt::format("{}|\n", cells);
    }
    text += "\n";
  }
  return text + summary(comparison);
}

Json comparison_json(const Comparison& comparison) {
  Json differences = Json::array();
  for (const Difference& d : comparison.differences) {
    Json json{{"result", d.row}, {"figure", d.key}, {"before", d.before}, {"after", d.after}};
    if (d.change_pct) json["change_pct"] = *d.change_pct;
    json["verdict"] = d.verdict == Verdict::kWorse ? "worse" : word(d.verdict);
    differences.push_back(json);
  }
  return {{"results", comparison.rows},
          {"figures", comparison.figures},
          {"worse", comparison.count(Verdict::kWorse)},
          {"better", comparison.count(Verdict::kBetter)},
          {"changed", comparison.count(Verdict::kChanged)},
          {"differences", differences}};
}

std::string comparison_junit(const Comparison& comparison, std::span<const ResultRow> after) {
  std::map<std::string, std::string> worse;  // by result: what of it is
  for (const Difference& d : comparison.differences) {
    if (d.verdict == Verdict::kWorse) worse[d.row] += fmt::format("{}\n", sentence(d));
  }
  boost::property_tree::ptree suite;
  suite.put("<xmlattr>.name", "steptime compare");
  std::size_t tests = 0;
  const auto add = [&](const std::string& name) {
    boost::property_tree::ptree test;
    test.put("<xmlattr>.classname", "steptime");
    test.put("<xmlattr>.name", name);
    if (const auto found = worse.find(name); found != worse.end()) {
      test.put("failure", found->second);
      test.put("failure.<xmlattr>.message", found->second.substr(0, found->second.find('\n')));
      worse.erase(found);
    }
    suite.add_child("testcase", test);
    ++tests;
  };
  const std::size_t failures = worse.size();
  for (const ResultRow& row : after)
    add(row.label);
  for (const auto missing = worse; const auto& [name, unused] : missing)
    add(name);
  suite.put("<xmlattr>.tests", tests);
  suite.put("<xmlattr>.failures", failures);
  boost::property_tree::ptree root;
  root.add_child("testsuite", suite);
  std::ostringstream text;
  boost::property_tree::write_xml(
      text, root, boost::property_tree::xml_writer_make_settings<std::string>(' ', 2));
  return text.str();
}

}  // namespace steptime
