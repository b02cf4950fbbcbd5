#include "sim/evidence/claims.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "sim/evidence/claim_keys.h"
#include "sim/evidence/claim_runner.h"
#include "sim/evidence/published_rows.h"
#include "sim/evidence/row_claims.h"
#include "sim/experiment/keys.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

bool within(const ClaimRow& row) {
  if (row.published.is_string()) return row.published == row.simulated;
  if (row.relation == ">=") return row.simulated >= row.published;
  if (row.relation == "<=") return row.simulated <= row.published;
  return std::abs(row.error_pct) <= row.tolerance_pct;
}

/// No further values to set.
Config nothing(const std::string& file) {
  return Config(std::make_shared<Document>(Document{file, Json::object()}), any_keys());
}

ClaimRow simulate_claim(const ClaimRunner& runner, const Config& claims, const Config& figure,
                        const std::string& config_name) {
  if (figure.has("measure") == figure.has("order")) {
    figure.fail("", "expected either \"measure\" or \"order\"");
  }
  const Config alternatives = figure.object("alternatives", any_keys());
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
  row.simulated = runner.simulated(figure, nothing(config_name));
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
  if (!family.empty()) json["family"] = family;
  if (!group.empty()) json["group"] = group;
  return json;
}

namespace {

/// The claims of one experiment file, those that a filter asks for.
class ClaimFile {
 public:
  ClaimFile(const std::string& path, const std::string& filter, const OnProgress& on_progress,
            bool learns)
      : runner_(path, on_progress, learns),
        filter_(filter),
        on_progress_(on_progress),
        runs_(learns) {
    const Config config(runner_.document(), experiment_params());
    if (config.has("claims")) claims_ = config.object("claims", claims_params());
    const auto relative = std::filesystem::path(path).lexically_relative(data_dir());
    const bool shipped = !relative.empty() && *relative.begin() != "..";
    name_ = shipped ? relative.generic_string() : path;
  }

  std::vector<ClaimRow> rows() const {
    std::vector<ClaimRow> rows;
    for (const Config& figure : asked("figures", claim_params()))
      rows.push_back(simulate_claim(runner_, *claims_, figure, name_));
    if (const auto mapping = row_mapping(); mapping && runs_) {
      std::vector<ClaimRow> more = reading_rows(
          [&] { return simulate_rows(*mapping, of_claims(), asked_rows(*mapping), on_progress_); });
      rows.insert(rows.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
    }
    return rows;
  }

  std::vector<RowLeftOut> left_out() const {
    const auto mapping = row_mapping();
    if (!mapping) return {};
    return reading_rows([&] { return steptime::rows_left_out(*mapping, asked_rows(*mapping)); });
  }

  std::vector<RecordedStep> steps() const {
    std::vector<RecordedStep> steps;
    for (const Config& figure : asked("figures", claim_params())) {
      for (ClaimRunner::Step& step : runner_.steps(*claims_, figure))
        steps.push_back(recorded(figure, std::move(step)));
    }
    return steps;
  }

  std::vector<RecordedStep> row_steps() const {
    const auto mapping = row_mapping();
    if (!mapping) return {};
    return reading_rows(
        [&] { return record_rows(*mapping, name_, asked_rows(*mapping), on_progress_); });
  }

  std::vector<RecordedMemory> memory() const {
    const auto mapping = row_mapping();
    if (!mapping) return {};
    return reading_rows(
        [&] { return memory_rows(*mapping, name_, asked_rows(*mapping), on_progress_); });
  }

  std::vector<RowEffect> effects(const std::vector<ClaimRow>& rows) const {
    const auto mapping = row_mapping();
    if (!mapping) return {};
    return reading_rows([&] { return effects_of(*mapping, rows); });
  }

  std::vector<RowRanking> rankings(const std::vector<ClaimRow>& rows) const {
    const auto mapping = row_mapping();
    return mapping ? rankings_of(*mapping, rows) : std::vector<RowRanking>{};
  }

  std::vector<CollectiveTable> tables() const {
    std::vector<CollectiveTable> tables;
    for (const Config& figure : asked("figures", claim_params())) {
      for (CollectiveTable& table : runner_.tables(figure))
        tables.push_back(std::move(table));
    }
    return tables;
  }

  std::vector<SizeMap> maps() const {
    std::vector<SizeMap> maps;
    for (const Config& map : asked("maps", map_params())) {
      maps.push_back({.id = map.get<std::string>("id"),
                      .paper = claims_->get<std::string>("paper"),
                      .quantity = map.get<std::string>("quantity"),
                      .unit = map.object("sizes", map_sizes_params()).get<std::string>("unit"),
                      .config = name_,
                      .where = map.get<std::string>("where"),
                      .note = map.get<std::string>("note"),
                      .rows = runner_.map(map)});
    }
    return maps;
  }

 private:
  RecordedStep recorded(const Config& figure, ClaimRunner::Step step) const {
    Prediction& prediction = step.prediction;
    if (claims_->has("fabric")) {  // of the node that the nodes of the cluster stand for
      prediction.kind[Attribute::kFabric] = claims_->get<std::string>("fabric");
      prediction.kind[Attribute::kNodes] = "one";
      prediction.gpus_per_node = prediction.workers;
    }
    const auto published = figure.raw("published").get<double>();
    const bool is_speed = figure.object("measure", measure_params()).get<std::string>("value") ==
                          "throughput_samples_per_s";
    const double ratio = is_speed ? step.simulated / published : published / step.simulated;
    const auto [fast, slow] = prediction.range_s();
    const double measured = prediction.step_s * ratio;
    const RecordRow row{
        .id = figure.get<std::string>("id"),
        .testbed = figure.has("testbed")
                       ? figure.get<std::string>("testbed")
                       : claims_->get<std::string>(claims_->has("testbed") ? "testbed" : "source"),
        .kind = prediction.kind,
        .workers = prediction.workers,
        .gpus_per_node = prediction.gpus_per_node,
        .samples = prediction.samples,
        .latency_us = prediction.latency_s * 1e6,
        .share = prediction.share(),
        .error_pct = (ratio - 1) * 100,
        .unexplained_pct = (measured / std::clamp(measured, fast, std::max(fast, slow)) - 1) * 100};
    return {row, prediction, step.model, name_};
  }

  bool matches(const std::string& text) const { return text.find(filter_) != text.npos; }

  /// Rows and what says how to read them are as others have written them: a text in place of a
  /// number comes up where it is used.
  template <class Read>
  auto reading_rows(Read read) const -> decltype(read()) {
    try {
      return read();
    } catch (const Json::exception& e) {
      claims_->fail("rows", fmt::format("of its file or its mapping a value cannot be read: {}",
                                        one_line(e.what())));
    }
  }
  /// Of the file of rows that the claims name.
  std::optional<RowMapping> row_mapping() const {
    if (!claims_ || !claims_->has("rows")) return std::nullopt;
    return RowMapping(runner_.document()->root, claims_->object("rows", rows_params()));
  }
  std::vector<Json> asked_rows(const RowMapping& mapping) const {
    const bool whole_paper = matches(claims_->get<std::string>("paper"));
    std::vector<Json> asked;
    for (const Json& row : mapping.rows()) {
      if (whole_paper || matches(row.at("id")) || matches(row.at("group"))) asked.push_back(row);
    }
    return asked;
  }
  /// What all of them have.
  ClaimRow of_claims() const {
    return {.paper = claims_->get<std::string>("paper"),
            .quantity = "step time",
            .unit = "s",
            .relation = "=",
            .tolerance_pct = claims_->get<double>("tolerance_pct"),
            .config = name_,
            .inputs = claims_->get<std::string>("inputs"),
            .alternatives = Json::object()};
  }

  /// Of the paper, or with an id, that the filter matches.
  std::vector<Config> asked(const std::string& key, const Params& params) const {
    std::vector<Config> found;
    if (!claims_) return found;
    const bool whole_paper = matches(claims_->get<std::string>("paper"));
    for (const Config& each : claims_->objects(key, params)) {
      if (!whole_paper && !matches(each.get<std::string>("id"))) continue;
      if (on_progress_) on_progress_(0);
      found.push_back(each);
    }
    return found;
  }

  ClaimRunner runner_;
  std::string filter_;
  OnProgress on_progress_;
  bool runs_;  ///< also what takes long: what learns, and the rows of a file
  std::optional<Config> claims_;
  std::string name_;
};

/// The experiments below a folder, by file name; "": the shipped ones.
std::vector<std::string> experiments_below(const std::string& folder) {
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
  return files;
}

template <class T>
void append(std::vector<T>& all, std::vector<T> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<ClaimRow> simulate_claims(const std::string& path, const std::string& filter,
                                      const OnProgress& on_progress) {
  return ClaimFile(path, filter, on_progress, true).rows();
}

std::vector<SizeMap> simulate_maps(const std::string& path, const std::string& filter,
                                   const OnProgress& on_progress) {
  return ClaimFile(path, filter, on_progress, true).maps();
}

void check_claims(const std::string& path, const OnProgress& on_progress) {
  const ClaimFile file(path, "", on_progress, false);
  file.rows();
  file.maps();
}

std::vector<ClaimRow> reproduce(const std::string& filter, const std::string& folder,
                                const OnProgress& on_progress) {
  std::vector<ClaimRow> rows;
  for (const std::string& file : experiments_below(folder))
    append(rows, simulate_claims(file, filter, on_progress));
  return rows;
}

std::vector<RowLeftOut> rows_left_out(const std::string& filter, const std::string& folder) {
  std::vector<RowLeftOut> rows;
  for (const std::string& file : experiments_below(folder))
    append(rows, ClaimFile(file, filter, {}, false).left_out());
  return rows;
}

std::vector<RecordedStep> recorded_steps(const std::string& filter, const std::string& folder,
                                         const OnProgress& on_progress) {
  std::vector<RecordedStep> steps;
  for (const std::string& file : experiments_below(folder))
    append(steps, ClaimFile(file, filter, on_progress, true).steps());
  return steps;
}

std::vector<RecordedStep> recorded_rows(const std::string& filter, const std::string& folder,
                                        const OnProgress& on_progress) {
  std::vector<RecordedStep> steps;
  for (const std::string& file : experiments_below(folder))
    append(steps, ClaimFile(file, filter, on_progress, true).row_steps());
  return steps;
}

std::vector<RecordedMemory> recorded_memory(const std::string& filter, const std::string& folder,
                                            const OnProgress& on_progress) {
  std::vector<RecordedMemory> memory;
  for (const std::string& file : experiments_below(folder))
    append(memory, ClaimFile(file, filter, on_progress, true).memory());
  return memory;
}

std::vector<RowEffect> row_effects(const std::vector<ClaimRow>& rows, const std::string& folder) {
  std::vector<RowEffect> effects;
  for (const std::string& file : experiments_below(folder))
    append(effects, ClaimFile(file, "", {}, false).effects(rows));
  return effects;
}

std::vector<RowRanking> row_rankings(const std::vector<ClaimRow>& rows, const std::string& folder) {
  std::vector<RowRanking> rankings;
  for (const std::string& file : experiments_below(folder))
    append(rankings, ClaimFile(file, "", {}, false).rankings(rows));
  return rankings;
}

std::vector<CollectiveTable> recorded_tables(const std::string& filter, const std::string& folder,
                                             const OnProgress& on_progress) {
  std::vector<CollectiveTable> tables;
  for (const std::string& file : experiments_below(folder))
    append(tables, ClaimFile(file, filter, on_progress, true).tables());
  return tables;
}

std::vector<SizeMap> reproduce_maps(const std::string& filter, const std::string& folder,
                                    const OnProgress& on_progress) {
  std::vector<SizeMap> maps;
  for (const std::string& file : experiments_below(folder))
    append(maps, simulate_maps(file, filter, on_progress));
  return maps;
}

}  // namespace steptime
