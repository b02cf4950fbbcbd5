#include "sim/evidence/claims.h"

#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/evidence/collective_table.h"
#include "sim/evidence/measurements.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

const Params& claims_params() {
  static const Params params{
      {.key = "paper", .kind = Kind::kText, .help = "short name of the source"},
      {.key = "source", .kind = Kind::kText, .help = "citation"},
      {.key = "inputs", .kind = Kind::kText, .help = "what the simulation is fed"},
      {.key = "fitted",
       .kind = Kind::kText,
       .help = "inputs fitted to the same source",
       .need = Need::kDefault,
       .fallback = ""},
      {.key = "tolerance_pct",
       .kind = Kind::kNumber,
       .need = Need::kDefault,
       .fallback = 10,
       .range = kPositive},
      {.key = "figures", .kind = Kind::kList, .help = "the published figures"}};
  return params;
}

const Params& figure_params() {
  static const Params params{
      {.key = "id", .kind = Kind::kText},
      {.key = "quantity", .kind = Kind::kText},
      {.key = "unit", .kind = Kind::kText, .need = Need::kDefault, .fallback = ""},
      {.key = "published", .kind = Kind::kAny, .help = "a number, or an ordering \"A < B\""},
      {.key = "relation",
       .kind = Kind::kText,
       .need = Need::kDefault,
       .fallback = "=",
       .words = {"=", ">=", "<="}},
      {.key = "where", .kind = Kind::kText, .help = "section, figure or table"},
      {.key = "tolerance_pct", .kind = Kind::kNumber, .need = Need::kOptional, .range = kPositive},
      {.key = "kind",
       .kind = Kind::kText,
       .need = Need::kDefault,
       .fallback = "predicted",
       .words = {"predicted", "fitted"}},
      {.key = "inputs", .kind = Kind::kText, .need = Need::kOptional},
      {.key = "fitted", .kind = Kind::kText, .need = Need::kOptional},
      {.key = "note", .kind = Kind::kText, .need = Need::kDefault, .fallback = ""},
      {.key = "missed_because", .kind = Kind::kText, .need = Need::kDefault, .fallback = ""},
      {.key = "measure", .kind = Kind::kObject, .need = Need::kOptional},
      {.key = "order", .kind = Kind::kObject, .need = Need::kOptional},
      {.key = "alternatives",
       .kind = Kind::kObject,
       .help = "label: more values to set",
       .need = Need::kDefault,
       .fallback = Json::object()}};
  return params;
}

/// value(set), or value(set + of) / value(set + over).
const Params& measure_params() {
  static const Params params{
      {.key = "value", .kind = Kind::kText, .help = "a key of a result, or of a collective"},
      {.key = "bytes",
       .kind = Kind::kInteger,
       .help = "of one collective, without the rest of the step",
       .need = Need::kOptional,
       .range = {.low = 0, .high = 1e18}},
      {.key = "measured",
       .kind = Kind::kPath,
       .help = "times of the collective, to compare powers of two with",
       .need = Need::kOptional},
      {.key = "set", .kind = Kind::kObject, .need = Need::kDefault, .fallback = Json::object()},
      {.key = "of", .kind = Kind::kObject, .need = Need::kDefault, .fallback = Json::object()},
      {.key = "over", .kind = Kind::kObject, .need = Need::kOptional},
      {.key = "scale", .kind = Kind::kNumber, .need = Need::kDefault, .fallback = 1}};
  return params;
}

const Params& order_params() {
  static const Params params{
      {.key = "value", .kind = Kind::kText, .help = "a key of a result, to order by"},
      {.key = "set", .kind = Kind::kObject, .need = Need::kDefault, .fallback = Json::object()},
      {.key = "over",
       .kind = Kind::kObject,
       .help = "order by the ratio to the same entry with these values",
       .need = Need::kOptional},
      {.key = "show",
       .kind = Kind::kText,
       .help = "the whole ordering, or its last entry",
       .need = Need::kDefault,
       .fallback = "order",
       .words = {"order", "largest"}},
      {.key = "of", .kind = Kind::kObject, .help = "label: values to set"}};
  return params;
}

class ClaimRunner {
 public:
  /// `learns`: also runs what learns; else its figures are 1.
  ClaimRunner(const std::string& path, const OnProgress& on_progress, bool learns)
      : base_(load_document(path, {})), on_progress_(on_progress), learns_(learns) {}

  const std::shared_ptr<const Document>& document() const { return base_; }

  using Sets = std::initializer_list<Config>;

  /// The experiment with the values of all `sets` in turn: objects of a measure or an order, or of
  /// a figure's alternatives.
  std::shared_ptr<const Document> with(Sets sets) const {
    auto point = std::make_shared<Document>(*base_);
    point->root.erase("claims");
    point->root.erase("sweep");
    for (const Config& set : sets) {
      for (const auto& [pointer, each] : set.node().items()) {
        Json* const found = place_in_experiment(point->root, pointer);
        if (found == nullptr) {
          set.fail("", fmt::format("\"{}\" does not name a place in the config", pointer));
        }
        *found = each;
      }
    }
    return point;
  }

  /// The figure of a run under `owner`'s "value".
  double value(const Config& owner, Sets sets) const {
    const auto point = with(sets);
    const std::string text = point->root.dump();
    auto found = simulated_.find(text);
    if (found == simulated_.end()) {
      const Experiment experiment = read_experiment(point);
      if (experiment.run->convergence && !learns_) {
        check_training_run(experiment);
        const auto key = owner.get<std::string>("value");
        const auto known = result_keys();
        if (std::find(known.begin(), known.end(), key) != known.end()) return 1;
      }
      found = simulated_.emplace(text, simulate(experiment, nullptr, on_progress_)).first;
    }
    try {
      return found->second.figure(owner.get<std::string>("value"));
    } catch (const InputError& e) {
      owner.fail("value", e.what());
    }
  }

  /// A figure of one collective of the experiment.
  double collective(const Config& measure, Sets sets) const {
    const CollectiveModel model(with(sets), on_progress_);
    const auto key = measure.get<std::string>("value");
    if (measure.has("measured")) {
      std::vector<CollectiveRow> rows;
      for (const Measurement& m : read_measurements(measure.get<std::string>("measured"))) {
        rows.push_back(model.row(m.bytes));
        rows.back().measured_us = m.time_us;
      }
      if (key == "geomean_error_pct") return errors(rows, true).geomean_pct;
      measure.fail("value", fmt::format("unknown {}; known: geomean_error_pct", brief(key)));
    }
    const CollectiveRow row = model.row(measure.get<std::int64_t>("bytes"));
    if (key == "time_us") return row.time_us;
    if (key == "algbw_GBps") return row.algbw_gbps;
    if (key == "busbw_GBps") return row.busbw_gbps;
    measure.fail("value",
                 fmt::format("unknown {}; known: time_us, algbw_GBps, busbw_GBps", brief(key)));
  }

  double measure(const Config& measure, const Config& more) const {
    const Config set = measure.object("set", any_keys());
    const bool of_collective = measure.has("bytes") || measure.has("measured");
    const auto figure_of = [&](const Config& own) {
      return of_collective ? collective(measure, {set, own, more})
                           : value(measure, {set, own, more});
    };
    double figure = figure_of(measure.object("of", any_keys()));
    if (measure.has("over")) {
      const double over = figure_of(measure.object("over", any_keys()));
      if (over == 0) {
        measure.fail("over", fmt::format("\"{}\" is 0, a ratio needs another value",
                                         measure.get<std::string>("value")));
      }
      figure /= over;
    }
    return figure * measure.get<double>("scale");
  }

  /// "A < B < C" by the figure, "=" between equal ones; or the label of the largest.
  std::string order(const Config& order, const Config& more) const {
    std::vector<std::pair<double, std::string>> entries;
    const Config set = order.object("set", any_keys());
    const Config of = order.object("of", any_keys());
    for (const auto& [label, unused] : of.node().items()) {
      const Config each = of.object(label, any_keys());
      double figure = value(order, {set, each, more});
      if (order.has("over")) {
        const double over = value(order, {set, each, order.object("over", any_keys()), more});
        if (over == 0) {
          order.fail("over", fmt::format("\"{}\" is 0, a ratio needs another value",
                                         order.get<std::string>("value")));
        }
        figure /= over;
      }
      entries.emplace_back(figure, label);
    }
    if (entries.size() < 2) {
      order.fail("of", fmt::format("expected at least two runs to order, got {}", entries.size()));
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (order.get<std::string>("show") == "largest") return entries.back().second;
    std::string text = entries.front().second;
    for (std::size_t i = 1; i < entries.size(); ++i) {
      text += (entries[i].first > entries[i - 1].first ? " < " : " = ") + entries[i].second;
    }
    return text;
  }

  Json simulated(const Config& figure, const Config& more) const {
    if (figure.has("order")) return order(figure.object("order", order_params()), more);
    return measure(figure.object("measure", measure_params()), more);
  }

 private:
  std::shared_ptr<const Document> base_;
  OnProgress on_progress_;
  bool learns_;
  mutable std::map<std::string, Result> simulated_;  ///< by config: figures share runs
};

bool within(const ClaimRow& row) {
  if (row.published.is_string()) return row.published == row.simulated;
  if (row.relation == ">=") return row.simulated >= row.published;
  if (row.relation == "<=") return row.simulated <= row.published;
  return std::abs(row.error_pct) <= row.tolerance_pct;
}

ClaimRow simulate_claim(const ClaimRunner& runner, const Config& claims, const Config& figure,
                        const std::string& config_name) {
  if (figure.has("measure") == figure.has("order")) {
    figure.fail("", "expected either \"measure\" or \"order\"");
  }
  const Config alternatives = figure.object("alternatives", any_keys());
  const Config nothing(std::make_shared<Document>(Document{config_name, Json::object()}),
                       any_keys());
  const auto text = [&](const char* key) {
    return figure.has(key) ? figure.get<std::string>(key) : claims.get<std::string>(key);
  };
  ClaimRow row{.id = figure.get<std::string>("id"),
               .paper = claims.get<std::string>("paper"),
               .quantity = figure.get<std::string>("quantity"),
               .unit = figure.get<std::string>("unit"),
               .relation = figure.get<std::string>("relation"),
               .published = figure.raw("published"),
               .simulated = {},
               .tolerance_pct = figure.has("tolerance_pct") ? figure.get<double>("tolerance_pct")
                                                            : claims.get<double>("tolerance_pct"),
               .kind = figure.get<std::string>("kind"),
               .config = config_name,
               .where = figure.get<std::string>("where"),
               .inputs = text("inputs"),
               .fitted = text("fitted"),
               .note = figure.get<std::string>("note"),
               .reason = figure.get<std::string>("missed_because"),
               .alternatives = Json::object()};
  const bool as_asked = figure.has("order") ? row.published.is_string() : row.published.is_number();
  if (!as_asked) {
    figure.fail("published",
                fmt::format("expected {}, got {}", figure.has("order") ? "an ordering" : "a number",
                            brief(row.published)));
  }
  row.simulated = runner.simulated(figure, nothing);
  if (row.published.is_number()) {
    const auto published = row.published.get<double>();
    const double error = row.simulated.get<double>() - published;
    row.error_pct = error == 0 ? 0 : error / std::abs(published) * 100;
  }
  row.ok = within(row);
  for (const auto& [label, unused] : alternatives.node().items()) {
    row.alternatives[label] = runner.simulated(figure, alternatives.object(label, any_keys()));
  }
  return row;
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : fmt::format("{:.4g}", value.get<double>());
}

}  // namespace

Json ClaimRow::json() const {
  Json json{{"id", id},
            {"paper", paper},
            {"quantity", quantity},
            {"unit", unit},
            {"relation", relation},
            {"published", published},
            {"simulated", simulated}};
  if (published.is_number()) {
    json["error_pct"] = error_pct;
    json["tolerance_pct"] = tolerance_pct;
  }
  json["kind"] = kind;
  json["status"] = ok ? "ok" : "missed";
  json["config"] = config;
  json["note"] = reason.empty() ? note : note + (note.empty() ? "" : " ") + "Missed: " + reason;
  json["where"] = where;
  json["inputs"] = inputs;
  json["fitted"] = fitted;
  if (!alternatives.empty()) json["alternatives"] = alternatives;
  return json;
}

namespace {

std::vector<ClaimRow> simulate_claims(const ClaimRunner& runner, const std::string& path,
                                      const std::string& filter, const OnProgress& on_progress) {
  const Config config(runner.document(), experiment_params());
  std::vector<ClaimRow> rows;
  if (!config.has("claims")) return rows;
  const Config claims = config.object("claims", claims_params());
  const auto relative = std::filesystem::path(path).lexically_relative(data_dir());
  const bool shipped = !relative.empty() && *relative.begin() != "..";
  const std::string name = shipped ? relative.generic_string() : path;
  const auto matches = [&](const std::string& text) { return text.find(filter) != text.npos; };
  const bool whole_paper = matches(claims.get<std::string>("paper"));
  for (const Config& figure : claims.objects("figures", figure_params())) {
    if (!whole_paper && !matches(figure.get<std::string>("id"))) continue;
    if (on_progress) on_progress(0);
    rows.push_back(simulate_claim(runner, claims, figure, name));
  }
  return rows;
}

}  // namespace

std::vector<ClaimRow> simulate_claims(const std::string& path, const std::string& filter,
                                      const OnProgress& on_progress) {
  return simulate_claims(ClaimRunner(path, on_progress, true), path, filter, on_progress);
}

void check_claims(const std::string& path, const OnProgress& on_progress) {
  simulate_claims(ClaimRunner(path, on_progress, false), path, "", on_progress);
}

std::vector<ClaimRow> reproduce(const std::string& filter, const std::string& folder,
                                const OnProgress& on_progress) {
  std::vector<std::string> files;
  const std::filesystem::path root =
      folder.empty() ? data_dir() / "configs" / "papers" : std::filesystem::path(folder);
  std::error_code error;
  if (!std::filesystem::is_directory(root, error)) {
    throw InputError(fmt::format("{}: is no folder", root.string()));
  }
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk entry(root, error); !error && entry != Walk(); entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  if (error)
    throw InputError(fmt::format("{}: cannot be read: {}", root.string(), error.message()));
  std::sort(files.begin(), files.end());
  std::vector<ClaimRow> rows;
  for (const std::string& file : files) {
    std::vector<ClaimRow> more = simulate_claims(file, filter, on_progress);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  }
  return rows;
}

namespace {

/// A paragraph: why the figure is missed, and what it would be under other conventions; or "".
std::string notes_on(const ClaimRow& row) {
  std::string notes;
  if (!row.ok)
    notes += fmt::format("  missed: {}\n", row.reason.empty() ? "no reason given" : row.reason);
  const std::string unit = row.unit.empty() ? "" : " " + row.unit;
  for (const auto& [label, value] : row.alternatives.items())
    notes += fmt::format("  with {}: {}{}\n", label, shown(value), unit);
  return notes.empty() ? "" : fmt::format("\n{}, {}\n{}", row.id, row.quantity, notes);
}

}  // namespace

std::string claims_table(const std::vector<ClaimRow>& rows) {
  TextTable table(
      {"id", "quantity", "published", "simulated", "error", "within", "kind", "status"});
  std::string notes;
  std::size_t ok = 0;
  std::size_t predicted = 0;
  std::size_t predicted_ok = 0;
  for (const ClaimRow& row : rows) {
    const bool number = row.published.is_number();
    table.add({row.id, row.quantity,
               (row.relation == "=" ? "" : row.relation + " ") + shown(row.published) +
                   (row.unit.empty() ? "" : " " + row.unit),
               shown(row.simulated), number ? fmt::format("{:+.1f} %", row.error_pct) : "",
               number && row.relation == "=" ? fmt::format("{:g} %", row.tolerance_pct) : "",
               row.kind, row.ok ? "ok" : "MISSED"});
    notes += notes_on(row);
    ok += row.ok ? 1 : 0;
    if (row.kind != "predicted") continue;
    ++predicted;
    predicted_ok += row.ok ? 1 : 0;
  }
  return table.text() + notes +
         fmt::format("\n{} of {} figures ok; of the {} predicted, {} ok\n", ok, rows.size(),
                     predicted, predicted_ok);
}

}  // namespace steptime
