#include "sim/evidence/claim_runner.h"

#include "sim/core/error.h"
#include "sim/evidence/claim_keys.h"
#include "sim/evidence/collective_table.h"
#include "sim/evidence/measurements.h"
#include "sim/experiment/assessment.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/figures.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {

ClaimRunner::ClaimRunner(const std::string& path, const OnProgress& on_progress, bool learns)
    : base_(load_document(path, {})), on_progress_(on_progress), learns_(learns) {}

std::shared_ptr<const Document> ClaimRunner::with(Sets sets) const {
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

namespace {

/// Of a document, without the keys that `sets` sets to null.
void leave_out(Json& root, const Config& sets) {
  for (const auto& [pointer, each] : sets.node().items()) {
    if (!each.is_null()) continue;
    const Json::json_pointer place(pointer);
    root.at(place.parent_pointer()).erase(place.back());
  }
}

}  // namespace

std::shared_ptr<const Document> ClaimRunner::before_fitting(
    Sets sets, std::initializer_list<Config> names) const {
  auto point = std::make_shared<Document>(*with(sets));
  for (const Config& set : names) {
    for (const auto& [pointer, each] : set.node().items()) {
      Json* const found = place_in_experiment(point->root, pointer);
      if (found == nullptr)
        set.fail("", fmt::format("\"{}\" does not name a place in the config", pointer));
      *found = each;
    }
    leave_out(point->root, set);
  }
  return point;
}

namespace {

/// What is wrong with the experiment may be so because of the values that are set.
template <class Read>
auto naming(const Config& owner, std::initializer_list<Config> sets, Read read) {
  try {
    return read();
  } catch (const InputError& e) {
    const bool changes = std::any_of(sets.begin(), sets.end(),
                                     [](const Config& set) { return !set.node().empty(); });
    if (!changes) throw;
    owner.fail("", fmt::format("with its values set, {}", e.what()));
  }
}

}  // namespace

const Result& ClaimRunner::run(const Config& owner, Sets sets) const {
  const auto point = with(sets);
  const std::string text = point->root.dump();
  auto found = simulated_.find(text);
  if (found == simulated_.end()) {
    found = simulated_
                .emplace(
                    text,
                    naming(owner, sets,
                           [&] { return simulate(read_experiment(point), nullptr, on_progress_); }))
                .first;
  }
  return found->second;
}

double ClaimRunner::value(const Config& owner, Sets sets) const {
  if (!learns_) {
    const Experiment experiment = naming(owner, sets, [&] { return read_experiment(with(sets)); });
    if (experiment.run->convergence) {
      check_training_run(experiment);
      const auto key = owner.get<std::string>("value");
      const auto known = figures();
      if (std::any_of(known.begin(), known.end(), [&](const Figure& f) { return f.key == key; }))
        return 1;
    }
  }
  const Result& result = run(owner, sets);
  try {
    return figure_of(result, owner.get<std::string>("value"));
  } catch (const InputError& e) {
    owner.fail("value", e.what());
  }
}

namespace {

/// Whether a claim tells how good a prediction of a step is.
bool is_step(const Config& claim) {
  const Json& value = claim.raw("published");
  if (!claim.has("measure") || claim.get<std::string>("relation") != "=" ||
      !claim.get<bool>("settings_are_known") || !value.is_number() || value.get<double>() <= 0)
    return false;
  const Config measure = claim.object("measure", measure_params());
  const auto key = measure.get<std::string>("value");
  return !measure.has("bytes") && !measure.has("measured") &&
         (key == "step_time_s" || key == "epoch_time_s" || key == "throughput_samples_per_s");
}

bool has_measured_compute(const Json& root) {
  const Json workload = root.value("workload", Json::object());
  return workload.contains("compute_time") || workload.contains("trace");
}

}  // namespace

std::vector<ClaimRunner::Step> ClaimRunner::steps(const Config& claims, const Config& claim) const {
  if (!claims.has("by_name") || !is_step(claim)) return {};
  const Config measure = claim.object("measure", measure_params());
  const auto key = measure.get<std::string>("value");
  const Config set = measure.object("set", any_keys());
  const Config of = measure.object("of", any_keys());
  const Config names = claims.object("by_name", any_keys());
  const Config own = claim.object("by_name", any_keys());
  const Config device = claims.object("by_device", any_keys());
  const Config nothing(std::make_shared<Document>(Document{claim.file(), Json::object()}),
                       any_keys());
  std::vector<Step> steps;
  const auto predict = [&](const Config& compute) {
    const auto document = before_fitting({set, of}, {names, own, compute});
    const bool is_measured = &compute == &nothing;
    if (is_measured && !has_measured_compute(document->root)) return;
    const Experiment experiment =
        naming(claim, {names, own, compute}, [&] { return read_experiment(document); });
    if (experiment.run->convergence || experiment.cluster->workers() == 1) return;
    const Result result = simulate(experiment, nullptr, on_progress_);
    double simulated = figure_of(result, key) * measure.get<double>("scale");
    Prediction prediction = prediction_of(experiment, result);
    if (measure.has("over")) {
      const auto one = read_experiment(
          before_fitting({set, measure.object("over", any_keys())}, {names, compute}));
      if (one.cluster->workers() > 1) return;
      simulated /= figure_of(simulate(one, nullptr, on_progress_), key);
      // What was published is over a measured step of one worker.
      prediction.kind[Attribute::kCompute] = "measured";
      prediction.modelled.reset();
    }
    steps.push_back({std::move(prediction), experiment.workload->workload.trace.model, simulated});
  };
  predict(nothing);
  if (claim.get<bool>("has_device_model")) predict(device);
  return steps;
}

double ClaimRunner::collective(const Config& measure, Sets sets) const {
  const CollectiveModel model =
      naming(measure, sets, [&] { return CollectiveModel(with(sets), on_progress_); });
  const auto key = measure.get<std::string>("value");
  if (!measure.has("bytes")) {
    std::vector<CollectiveRow> rows;
    for (const Measurement& m : read_measurements(measure.get<std::string>("measured"))) {
      if (m.bytes < measure.get<std::int64_t>("from_bytes") ||
          m.bytes > measure.get<std::int64_t>("to_bytes"))
        continue;
      rows.push_back(model.row(m.bytes));
      rows.back().measured_us = m.time_us;
    }
    if (rows.empty()) measure.fail("measured", "no size of it lies in from_bytes to to_bytes");
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

std::vector<CollectiveTable> ClaimRunner::tables(const Config& claim) const {
  if (!claim.has("measure")) return {};
  const Config measure = claim.object("measure", measure_params());
  if (!measure.has("measured")) return {};
  const auto document = with({measure.object("set", any_keys()), measure.object("of", any_keys())});
  const CollectiveModel model(document, on_progress_);
  std::map<CollectiveKind, CollectiveTable> tables;
  for (const Measurement& m : read_measurements(measure.get<std::string>("measured"))) {
    if (m.bytes < measure.get<std::int64_t>("from_bytes") ||
        m.bytes > measure.get<std::int64_t>("to_bytes"))
      continue;
    const double error = std::log(m.time_us / model.row(m.bytes).time_us);
    const CollectiveKind kind =
        collective_kind(document, model.cluster(), model.operation(), m.bytes);
    CollectiveTable& table = tables[kind];
    ++table.sizes;
    table.rms += error * error;
    table.worst = std::max(table.worst, std::abs(error));
  }
  std::vector<CollectiveTable> found;
  for (auto& [kind, table] : tables) {
    table.id = claim.get<std::string>("id");
    table.kind = kind;
    table.ranks = model.cluster().workers();
    table.rms = std::sqrt(table.rms / static_cast<double>(table.sizes));
    found.push_back(table);
  }
  return found;
}

double ClaimRunner::measure(const Config& measure, const Config& more) const {
  const Config set = measure.object("set", any_keys());
  const bool of_collective = measure.has("bytes") || measure.has("measured");
  const auto figure_of = [&](const Config& own) {
    return of_collective ? collective(measure, {set, own, more}) : value(measure, {set, own, more});
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

namespace {

/// As far as is known.
bool fits(const Result& result) {
  return !result.memory || !result.memory->is_too_much();
}

}  // namespace

std::string ClaimRunner::order(const Config& order, const Config& more) const {
  std::vector<std::pair<double, std::string>> entries;
  const Config set = order.object("set", any_keys());
  const Config of = order.object("of", any_keys());
  const auto figure_of = [&](Sets sets) {
    return order.has("bytes") ? collective(order, sets) : value(order, sets);
  };
  for (const auto& [label, unused] : of.node().items()) {
    const Config each = of.object(label, any_keys());
    double figure = figure_of({set, each, more});
    if (order.get<bool>("fits") && !fits(run(order, {set, each, more}))) continue;
    if (order.has("over")) {
      const double over = figure_of({set, each, order.object("over", any_keys()), more});
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
  const auto show = order.get<std::string>("show");
  if (show != "order") return (show == "smallest" ? entries.front() : entries.back()).second;
  std::string text = entries.front().second;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    text += (entries[i].first > entries[i - 1].first ? " < " : " = ") + entries[i].second;
  }
  return text;
}

Json ClaimRunner::simulated(const Config& claim, const Config& more) const {
  if (claim.has("order")) return order(claim.object("order", order_params()), more);
  return measure(claim.object("measure", measure_params()), more);
}

std::vector<SizeMap::Row> ClaimRunner::map(const Config& map) const {
  const Config sizes = map.object("sizes", map_sizes_params());
  const auto from = sizes.get<double>("from");
  const auto to = sizes.get<double>("to");
  if (from >= to)
    sizes.fail("to", fmt::format("expected more than \"from\", {}, got {}", from, to));
  const Config set = map.object("set", any_keys());
  const Config of = map.object("of", any_keys());
  const Config rows = map.object("for", any_keys());
  if (of.node().empty()) map.fail("of", "expected something to compare, got none");
  if (rows.node().empty()) map.fail("for", "expected a row at least, got none");
  std::vector<SizeMap::Row> found;
  for (const auto& [row_label, unused_row] : rows.node().items()) {
    const Config row = rows.object(row_label, map_row_params());
    const Config row_set = row.object("set", any_keys());
    std::vector<std::string> names;
    std::vector<std::unique_ptr<CollectiveModel>> models;
    for (const auto& [label, unused] : of.node().items()) {
      names.push_back(label);
      models.push_back(std::make_unique<CollectiveModel>(
          with({set, row_set, of.object(label, any_keys())}), on_progress_));
    }
    const auto bytes_each = row.get<double>("bytes");
    if (constexpr double kMost = 1e18; to * bytes_each > kMost)
      row.fail("bytes", fmt::format("expected at most {} B for the largest size, {}", kMost, to));
    const auto times = [&](double size) {
      const auto bytes = static_cast<std::int64_t>(std::round(size * bytes_each));
      std::vector<double> all;
      all.reserve(models.size());
      for (const auto& model : models)
        all.push_back(model->row(bytes).time_us);
      return all;
    };
    found.push_back({.label = row_label, .spans = fastest_by_size(names, from, to, times)});
  }
  return found;
}

}  // namespace steptime
