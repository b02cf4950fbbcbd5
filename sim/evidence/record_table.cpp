#include "sim/evidence/record_table.h"

#include "sim/core/text_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/math/statistics/univariate_statistics.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr double kFarPct = 20;

/// Some steps together.
struct Group {
  std::vector<double> errors_pct;  ///< absolute
  std::vector<double> widths;
  int within = 0;

  void add(const AssessedStep& each) {
    errors_pct.push_back(std::abs(each.step.row.error_pct));
    widths.push_back(each.width());
    within += each.is_within() ? 1 : 0;
  }
  std::size_t size() const { return widths.size(); }
  double within_pct() const { return 100. * within / static_cast<double>(size()); }
  static double median(std::vector<double> values) {
    return boost::math::statistics::median(values);
  }
};

/// The validated steps of a group, and all of them.
struct Both {
  Group validated;
  Group all;

  void add(const AssessedStep& each) {
    all.add(each);
    if (each.by_others.domain.is_validated()) validated.add(each);
  }
  void add_cells(std::vector<std::string>& cells) const {
    for (const Group* group : {&all, &validated}) {
      cells.push_back(fmt::format("{}", group->size()));
      if (group->size() == 0) {
        cells.insert(cells.end(), {"", ""});
        continue;
      }
      cells.push_back(fmt::format("{:.1f} %", group->within_pct()));
      cells.push_back(fmt::format("{:.0f} %", 100 * Group::median(group->widths)));
    }
    cells.push_back(fmt::format("{:.1f} %", Group::median(all.errors_pct)));
    cells.push_back(
        fmt::format("{:.1f} %", *std::max_element(all.errors_pct.begin(), all.errors_pct.end())));
  }
};

std::string line(const char* what, const Group& group) {
  if (group.size() == 0) return fmt::format("{}: none\n", what);
  return fmt::format(
      "{}: {} of {} predictions hold the measured step in their interval ({:.1f} %), whose median "
      "width is {:.1f} %; typical error {:.1f} %\n",
      what, group.within, group.size(), group.within_pct(), 100 * Group::median(group.widths),
      Group::median(group.errors_pct));
}

/// How far steps are off that are predicted from what a single GPU was measured to take: what is
/// left is the way from one GPU to its node, or to several.
std::string scaling_line(const char* where, std::span<const AssessedStep> all, KindWord nodes) {
  static const KindWord measured("measured");
  double sum = 0;
  std::size_t n = 0;
  std::set<std::string> testbeds;
  for (const AssessedStep& each : all) {
    const RecordRow& row = each.step.row;
    if (row.kind[Attribute::kCompute] != measured || row.kind[Attribute::kNodes] != nodes) continue;
    sum += std::abs(row.error_pct);
    ++n;
    testbeds.insert(row.testbed);
  }
  if (n == 0) return "";
  return fmt::format(
      "From the measured time of one GPU to {}: {} steps of {} testbeds, {:.1f} % "
      "off in the mean\n",
      where, n, testbeds.size(), sum / static_cast<double>(n));
}

using Groups = std::vector<std::map<std::string, Both>>;

std::string groups_table(const Groups& groups) {
  TextTable table(
      {"kind", "rows", "within", "width", "validated", "within", "width", "typical", "worst"});
  for (const auto& kind : groups) {
    for (const auto& [name, both] : kind) {
      std::vector<std::string> cells{name};
      both.add_cells(cells);
      table.add(std::move(cells));
    }
  }
  return table.text();
}

/// What differing costs, and who tells.
std::string spreads_table(const TrackRecord& record) {
  TextTable table({"not shared", "d", "measured"});
  for (std::size_t a = 0; a < kAttributes; ++a) {
    const AttributeSpread& spread = record.spreads()[a];
    const std::string told =
        spread.testbeds.empty()
            ? "nowhere: the largest other one"
            : fmt::format("{} {}", spread.is_between_testbeds ? "between" : "on",
                          fmt::join(spread.testbeds, "; "));
    table.add({attribute_names()[a], fmt::format("{:.3f}", spread.d), told});
  }
  return table.text();
}

}  // namespace

bool AssessedStep::is_within() const {
  const double published = step.prediction.step_s * (1 + step.row.error_pct / 100);
  return by_others.step_s.low <= published && published <= by_others.step_s.high;
}

double AssessedStep::width() const {
  return (by_others.step_s.high - by_others.step_s.low) / step.prediction.step_s;
}

std::vector<AssessedStep> assessed(std::span<const RecordedStep> steps) {
  std::vector<RecordRow> rows;
  rows.reserve(steps.size());
  for (const RecordedStep& step : steps)
    rows.push_back(step.row);
  const TrackRecord record(std::move(rows));
  std::map<std::string, TrackRecord> without;
  std::vector<AssessedStep> all;
  all.reserve(steps.size());
  for (const RecordedStep& step : steps) {
    const std::string& testbed = step.row.testbed;
    auto found = without.find(testbed);
    if (found == without.end()) found = without.emplace(testbed, record.without(testbed)).first;
    all.push_back({step, found->second.assess(step.prediction)});
  }
  return all;
}

std::string record_table(std::span<const RecordedStep> steps) {
  const std::vector<AssessedStep> all = assessed(steps);
  std::vector<RecordRow> rows;
  Groups groups(5);
  Both best;
  Both by_device;
  std::set<std::pair<std::string, std::string>> known;
  std::string far;
  for (const AssessedStep& each : all) {
    const RecordRow& row = each.step.row;
    rows.push_back(row);
    // The first prediction of a step is that from the most that is known.
    const bool is_best = known.insert({row.testbed, row.id}).second;
    (is_best ? best : by_device).add(each);
    const bool reduces = row.kind[Attribute::kSchedule].text().starts_with("all-reduce");
    groups[0]["all"].add(each);
    groups[1][reduces ? "all-reduce" : "servers"].add(each);
    groups[2][row.kind.text(Attribute::kNodes)].add(each);
    groups[3][row.kind.text(Attribute::kCompute)].add(each);
    groups[4][row.testbed].add(each);
    if (each.by_others.domain.is_validated() && std::abs(row.error_pct) > kFarPct) {
      far += fmt::format("validated and more than {:.0f} % off: {} ({}, {:+.1f} %)\n", kFarPct,
                         row.id, row.kind.text(Attribute::kCompute), row.error_pct);
    }
  }
  return groups_table(groups) + "\n" + spreads_table(TrackRecord(std::move(rows))) + "\n" + far +
         "With the measured time of one GPU, where the source has one, else with the device's:\n" +
         line("validated", best.validated) + line("all", best.all) +
         "The same steps with the device's time, too:\n" + line("validated", by_device.validated) +
         line("all", by_device.all) + scaling_line("its node", all, "one") +
         scaling_line("several nodes", all, "several");
}

std::string layout_record_table(std::span<const RecordedStep> steps) {
  Groups groups(6);
  Both all;
  std::vector<RecordRow> rows;
  std::string far;
  for (const AssessedStep& each : assessed(steps)) {
    const RecordRow& row = each.step.row;
    rows.push_back(row);
    all.add(each);
    constexpr Attribute kBy[] = {Attribute::kGpu, Attribute::kCompute, Attribute::kFramework,
                                 Attribute::kSchedule};
    for (std::size_t i = 0; i < std::size(kBy); ++i)
      groups[i][row.kind[kBy[i]].text()].add(each);
    groups[4][row.testbed].add(each);
    groups[5]["group " + each.step.group].add(each);
    if (std::abs(row.error_pct) <= kFarPct) continue;
    far += fmt::format("{} is {:+.1f} % off, {} its interval; domain: {}\n", row.id, row.error_pct,
                       each.is_within() ? "in" : "outside", each.by_others.domain.text());
  }
  return groups_table(groups) + "\n" + line("all", all.all) +
         fmt::format("validated: {}\n\n", all.validated.size()) +
         spreads_table(TrackRecord(std::move(rows))) + "\n" + far;
}

}  // namespace steptime
