#include "sim/evidence/row_claims.h"

#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"

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
  claim.published = made.step_s;
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

std::vector<ClaimRow> simulate_rows(const RowMapping& mapping, const ClaimRow& of_claims,
                                    const std::vector<Json>& rows, const OnProgress& on_progress) {
  const auto fitted = fitted_rows();
  std::vector<std::optional<ClaimRow>> claims(rows.size());
  std::mutex progress;
  tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) {
    const auto made = mapping.experiment(rows[i]);
    const auto* row = std::get_if<RowExperiment>(&made);
    if (row == nullptr) return;
    if (on_progress) {
      const std::scoped_lock lock(progress);
      on_progress(0);
    }
    Experiment experiment;
    try {
      experiment = read_experiment(document_of(*row, of_claims.config));
    } catch (const InputError&) {
      return;  // which rows_left_out() tells
    }
    ClaimRow claim = claim_of(rows[i], *row, of_claims, fitted);
    const double simulated = simulate(experiment).step_time_s;
    claim.simulated = simulated;
    claim.error_pct = (simulated / row->step_s - 1) * 100;
    claim.ok =
        row->is_bound ? simulated <= row->step_s : std::abs(claim.error_pct) <= claim.tolerance_pct;
    if (claim.ok) claim.reason.clear();
    claims[i] = std::move(claim);
  });
  std::vector<ClaimRow> found;
  for (auto& claim : claims) {
    if (claim) found.push_back(std::move(*claim));
  }
  return found;
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

std::string row_groups_text(const std::vector<ClaimRow>& rows,
                            const std::vector<RowLeftOut>& left_out) {
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
  std::map<std::pair<std::string, std::string>, int> not_simulated;
  for (const RowLeftOut& row : left_out)
    ++not_simulated[{row.group, row.reason}];
  if (!not_simulated.empty()) text += "\nnot simulated:\n";
  for (const auto& [what, count] : not_simulated)
    text += fmt::format("  {:3} of {}: {}\n", count, what.first, what.second);
  return text;
}

}  // namespace steptime
