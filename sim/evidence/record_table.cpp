#include "sim/evidence/record_table.h"

#include "sim/core/text_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <boost/math/statistics/univariate_statistics.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

using boost::math::statistics::median;

struct Group {
  std::set<std::string> testbeds;
  std::vector<double> errors_pct;  ///< absolute
  int within = 0;

  void add(const RecordedStep& step, bool is_within) {
    testbeds.insert(step.row.testbed);
    errors_pct.push_back(std::abs(step.row.error_pct));
    within += is_within ? 1 : 0;
  }
  std::vector<std::string> cells() {
    const double worst = *std::max_element(errors_pct.begin(), errors_pct.end());
    return {fmt::format("{}", testbeds.size()), fmt::format("{}", errors_pct.size()),
            fmt::format("{:.1f} %", median(errors_pct)), fmt::format("{:.1f} %", worst),
            fmt::format("{}", within)};
  }
};

using Groups = std::map<std::vector<std::string>, Group>;

/// A line for each group, below the names of what they are grouped by.
std::string table_of(Groups& groups, std::vector<std::string> names) {
  for (const char* name : {"testbeds", "rows", "typical", "worst", "within"})
    names.emplace_back(name);
  TextTable table(names);
  for (auto& [key, group] : groups) {
    std::vector<std::string> cells = key;
    for (std::string& cell : group.cells())
      cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace

std::string record_table(std::span<const RecordedStep> steps) {
  std::vector<RecordRow> rows;
  for (const RecordedStep& step : steps)
    rows.push_back(step.row);
  const TrackRecord record(std::move(rows));
  Groups by_kind;
  Groups by_model;
  Group all;
  std::vector<double> widths;
  for (const RecordedStep& step : steps) {
    const Interval interval = record.assess_without(step.row.testbed, step.prediction).step_s;
    const double published = step.prediction.step_s * (1 + step.row.error_pct / 100);
    const bool is_within = interval.low <= published && published <= interval.high;
    widths.push_back((interval.high - interval.low) / step.prediction.step_s);
    const PredictionKind& kind = step.row.kind;
    for (Group* group : {&by_kind[{kind.system, kind.transport, kind.network}],
                         &by_model[{kind.network, step.model, kind.system}], &all}) {
      group->add(step, is_within);
    }
  }
  return table_of(by_kind, {"system", "transport", "network"}) + "\n" +
         table_of(by_model, {"network", "model", "system"}) +
         fmt::format(
             "\n{} of {} measured steps lie within the interval that other testbeds give "
             "({:.1f} %), whose median width is {:.1f} %; typical error {:.1f} %\n",
             all.within, steps.size(), 100. * all.within / static_cast<double>(steps.size()),
             median(widths) * 100, median(all.errors_pct));
}

}  // namespace steptime
