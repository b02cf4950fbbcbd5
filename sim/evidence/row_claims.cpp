#include "sim/evidence/row_claims.h"

#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/experiment/assessment.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"
#include "sim/layouts/play.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace steptime {
namespace {

/// Percent by which a row counts that could be simulated, and is not.
constexpr double kLeftOutPct = 50;

std::shared_ptr<const Document> document_of(const RowExperiment& row, const std::string& file) {
  return std::make_shared<Document>(Document{file, row.config});
}

ClaimRow claim_of(const Json& row, const RowExperiment& made, const ClaimRow& of_claims,
                  const std::map<std::string, std::string>& fitted) {
  ClaimRow claim = of_claims;
  claim.id = row.at("id");
  claim.published = made.published;
  if (made.is_memory) {
    claim.quantity = "memory";
    claim.unit = "GiB";
  }
  if (made.tolerance_pct) claim.tolerance_pct = *made.tolerance_pct;
  if (made.is_bound) claim.relation = "<=";
  const auto by = fitted.find(claim.id);
  claim.kind = by == fitted.end() ? "predicted" : "fitted";
  if (by != fitted.end()) claim.fitted = by->second;
  claim.where = row.at("source");
  claim.note = fmt::format("published as {} {}", row.at("value").dump(), row.value("unit", ""));
  if (!made.assumed.empty()) claim.note += "; assumed: " + made.assumed;
  claim.reason = made.reason;
  claim.family = made.family;
  claim.group = made.group;
  return claim;
}

/// What is wrong with the experiment of a row, or nothing.
std::optional<std::string> refusal(const RowExperiment& row, const std::string& file) {
  try {
    read_experiment(document_of(row, file));
    return std::nullopt;
  } catch (const InputError& e) {
    return e.what();
  }
}

}  // namespace

namespace {

/// A row that is an experiment, simulated.
struct PlayedRow {
  const Json* row = nullptr;
  RowExperiment made;
  Result result;
  Prediction prediction;
};

/// On all threads, in order. A row whose experiment is refused is left out.
std::vector<PlayedRow> played_rows(const RowMapping& mapping, const std::string& file,
                                   const std::vector<Json>& rows, const OnProgress& on_progress) {
  std::vector<std::optional<PlayedRow>> played(rows.size());
  std::mutex progress;
  tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) {
    auto made = mapping.experiment(rows[i]);
    auto* row = std::get_if<RowExperiment>(&made);
    if (row == nullptr) return;
    if (on_progress) {
      const std::scoped_lock lock(progress);
      on_progress(0);
    }
    try {
      const Experiment experiment = read_experiment(document_of(*row, file));
      Result result = simulate(experiment);
      Prediction prediction = prediction_of(experiment, result);
      played[i] = PlayedRow{&rows[i], std::move(*row), std::move(result), std::move(prediction)};
    } catch (const InputError&) {
      return;  // which rows_left_out() tells
    }
  });
  std::vector<PlayedRow> found;
  for (auto& row : played) {
    if (row) found.push_back(std::move(*row));
  }
  return found;
}

double simulated_of(const PlayedRow& row) {
  constexpr double kGiB = 1024. * 1024 * 1024;
  if (!row.made.is_memory) return row.result.step_time_s;
  return static_cast<double>(row.result.memory->total().count) / kGiB;
}

}  // namespace

std::vector<ClaimRow> simulate_rows(const RowMapping& mapping, const ClaimRow& of_claims,
                                    const std::vector<Json>& rows, const OnProgress& on_progress) {
  const auto fitted = fitted_rows();
  std::vector<ClaimRow> claims;
  for (const PlayedRow& row : played_rows(mapping, of_claims.config, rows, on_progress)) {
    ClaimRow claim = claim_of(*row.row, row.made, of_claims, fitted);
    const double simulated = simulated_of(row);
    claim.simulated = simulated;
    claim.error_pct = (simulated / row.made.published - 1) * 100;
    claim.ok = row.made.is_bound ? simulated <= row.made.published
                                 : std::abs(claim.error_pct) <= claim.tolerance_pct;
    claim.fits = row.result.layout == nullptr || row.result.layout->fits();
    for (const Cause& cause : row.result.attribution)
      claim.spent[cause.cause] += cause.seconds;
    if (claim.ok) claim.reason.clear();
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::vector<RecordedStep> record_rows(const RowMapping& mapping, const std::string& config,
                                      const std::vector<Json>& rows,
                                      const OnProgress& on_progress) {
  const auto fitted = fitted_rows();
  std::vector<RecordedStep> steps;
  for (const PlayedRow& row : played_rows(mapping, config, rows, on_progress)) {
    const auto id = row.row->at("id").get<std::string>();
    if (row.made.is_bound || row.made.is_memory || fitted.contains(id)) continue;
    const Prediction& p = row.prediction;
    const double error_pct = (row.made.published / p.step_s - 1) * 100;
    steps.push_back({.row = {.id = id,
                             .testbed = row.row->value("system", row.made.group),
                             .kind = p.kind,
                             .workers = p.workers,
                             .gpus_per_node = p.gpus_per_node,
                             .samples = p.samples,
                             .latency_us = p.latency_s * 1e6,
                             .share = p.share(),
                             .error_pct = error_pct,
                             .unexplained_pct = error_pct},
                     .prediction = p,
                     .model = row.row->at("model").value("name", ""),
                     .config = config,
                     .group = row.made.group});
  }
  return steps;
}

std::vector<RecordedMemory> memory_rows(const RowMapping& mapping, const std::string& config,
                                        const std::vector<Json>& rows,
                                        const OnProgress& on_progress) {
  std::vector<RecordedMemory> memory;
  for (const PlayedRow& row : played_rows(mapping, config, rows, on_progress)) {
    if (!row.made.is_memory) continue;
    const double simulated = simulated_of(row);
    memory.push_back({.row = {.id = row.row->at("id"),
                              .group = row.made.group,
                              .error_pct = (row.made.published / simulated - 1) * 100},
                      .published = row.made.published,
                      .simulated = simulated});
  }
  return memory;
}

namespace {

/// The two causes whose seconds differ most between two steps.
std::string moved(const ClaimRow& of, const ClaimRow& over) {
  std::map<std::string, double> seconds = of.spent;
  for (const auto& [cause, spent] : over.spent)
    seconds[cause] -= spent;
  std::vector<std::pair<std::string, double>> most(seconds.begin(), seconds.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second) > std::abs(b.second);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, most.size()); ++i)
    text += fmt::format("{}{} {:+.3g} s", i == 0 ? "" : ", ", most[i].first, most[i].second);
  return text;
}

}  // namespace

std::vector<RowEffect> effects_of(const RowMapping& mapping, const std::vector<ClaimRow>& rows) {
  const auto row_of = [&](const std::string& id) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const ClaimRow& row) { return row.id == id; });
    return found == rows.end() ? nullptr : &*found;
  };
  std::vector<RowEffect> effects;
  for (const Json& stated : mapping.effects()) {
    const ClaimRow* of = row_of(stated.at("of"));
    const ClaimRow* over = row_of(stated.at("over"));
    if (of == nullptr || over == nullptr) continue;
    RowEffect effect{.what = stated.at("what"),
                     .of = of->id,
                     .over = over->id,
                     .published = of->published.get<double>() / over->published.get<double>(),
                     .simulated = of->simulated.get<double>() / over->simulated.get<double>(),
                     .within = stated.at("within"),
                     .is_fitted = of->kind == "fitted" || over->kind == "fitted",
                     .moves = moved(*of, *over),
                     .reason = stated.value("missed_because", "")};
    effect.ok = std::abs(effect.simulated - effect.published) <= effect.within;
    if (effect.ok) effect.reason.clear();
    effects.push_back(std::move(effect));
  }
  return effects;
}

std::vector<RowLeftOut> rows_left_out(const RowMapping& mapping, const std::vector<Json>& rows) {
  std::vector<RowLeftOut> out;
  for (const Json& row : rows) {
    const auto made = mapping.experiment(row);
    if (const auto* reason = std::get_if<LeftOut>(&made)) {
      out.push_back({row.at("id"), row.at("group"), reason->reason, reason->counts});
    } else if (const auto wrong = refusal(std::get<RowExperiment>(made), "row")) {
      out.push_back({row.at("id"), row.at("group"), *wrong, true});
    }
  }
  return out;
}

namespace {

/// Errors of rows.
struct Errors {
  int predicted = 0;
  int fitted = 0;
  int left_out = 0;
  double absolute = 0;
  double sum = 0;
  const ClaimRow* worst = nullptr;

  void add(const ClaimRow& row) {
    if (row.kind == "fitted") {
      ++fitted;
      return;
    }
    ++predicted;
    absolute += std::abs(row.error_pct);
    sum += row.error_pct;
    if (worst == nullptr || std::abs(row.error_pct) > std::abs(worst->error_pct)) worst = &row;
  }
  int in_mean() const { return predicted + left_out; }
  std::vector<std::string> cells(const std::string& name) const {
    const auto mean = [&](double of) {
      return in_mean() == 0 ? std::string("-") : fmt::format("{:.1f} %", of / in_mean());
    };
    return {name,
            fmt::format("{}", in_mean()),
            fmt::format("{}", fitted),
            mean(absolute + left_out * kLeftOutPct),
            in_mean() == 0 ? "-" : fmt::format("{:+.1f} %", sum / in_mean()),
            worst == nullptr ? "" : worst->id,
            worst == nullptr ? "" : fmt::format("{:+.1f} %", worst->error_pct)};
  }
};

}  // namespace

namespace {

/// What changes of one thing do to steps; the reasons of those that are missed below.
std::string effects_text(const std::vector<RowEffect>& effects) {
  if (effects.empty()) return "";
  TextTable table({"effect, ratio of steps", "published", "simulated", "within", "", "moves"});
  std::string missed;
  for (const RowEffect& effect : effects) {
    table.add({effect.what + (effect.is_fitted ? " (fitted)" : ""),
               fmt::format("{:.3f}", effect.published), fmt::format("{:.3f}", effect.simulated),
               fmt::format("{:.2f}", effect.within), effect.ok ? "ok" : "MISSED", effect.moves});
    if (!effect.ok) {
      missed += fmt::format("{}: {}\n", effect.what,
                            effect.reason.empty() ? "no reason is given" : effect.reason);
    }
  }
  return "\n" + table.text() + (missed.empty() ? "" : "\n" + missed);
}

/// Ran, and would not have by their simulated memory.
std::string too_large_text(const std::vector<ClaimRow>& rows) {
  std::string ids;
  for (const ClaimRow& row : rows) {
    if (!row.fits) ids += (ids.empty() ? "" : ", ") + row.id;
  }
  return ids.empty() ? ""
                     : fmt::format("\nran, but by their simulated memory do not fit: {}\n", ids);
}

}  // namespace

std::string row_groups_text(const std::vector<ClaimRow>& rows,
                            const std::vector<RowLeftOut>& left_out,
                            const std::vector<RowEffect>& effects) {
  std::map<std::string, std::map<std::string, Errors>> families;
  std::map<std::string, std::string> reasons;
  for (const ClaimRow& row : rows) {
    if (row.family.empty()) continue;
    families[row.family][row.group].add(row);
    if (!row.reason.empty()) reasons[row.group] = row.reason;
  }
  for (const RowLeftOut& row : left_out) {
    if (row.counts) ++families["left out, 50 % each"][row.group].left_out;
  }
  if (families.empty() && left_out.empty()) return "";
  TextTable table({"rows", "in the mean", "fitted", "mean abs.", "mean", "worst", "by"});
  for (const auto& [family, groups] : families) {
    Errors all;
    for (const auto& [group, errors] : groups) {
      all.predicted += errors.predicted;
      all.fitted += errors.fitted;
      all.left_out += errors.left_out;
      all.absolute += errors.absolute;
      all.sum += errors.sum;
      if (errors.worst != nullptr && (all.worst == nullptr || std::abs(errors.worst->error_pct) >
                                                                  std::abs(all.worst->error_pct)))
        all.worst = errors.worst;
    }
    table.add(all.cells(family));
    for (const auto& [group, errors] : groups)
      table.add(errors.cells("  " + group));
  }
  std::string text = table.text();
  for (const auto& [group, reason] : reasons)
    text += fmt::format("\n{}: {}", group, reason);
  if (!reasons.empty()) text += "\n";
  text += effects_text(effects) + too_large_text(rows);
  std::map<std::pair<std::string, std::string>, int> not_simulated;
  for (const RowLeftOut& row : left_out)
    ++not_simulated[{row.group, row.reason}];
  if (!not_simulated.empty()) text += "\nnot simulated:\n";
  for (const auto& [what, count] : not_simulated)
    text += fmt::format("  {:3} of {}: {}\n", count, what.first, what.second);
  return text;
}

}  // namespace steptime
