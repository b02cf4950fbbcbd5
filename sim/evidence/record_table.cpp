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
};

}  // namespace

std::string record_table(std::span<const RecordedStep> steps) {
  std::vector<RecordRow> rows;
  for (const RecordedStep& step : steps)
    rows.push_back(step.row);
  const TrackRecord record(std::move(rows));
  std::map<PredictionKind, Group> groups;
  Group all;
  std::vector<double> widths;
  for (const RecordedStep& step : steps) {
    const Interval interval = record.assess_without(step.row.testbed, step.prediction).step_s;
    const double published = step.prediction.step_s * (1 + step.row.error_pct / 100);
    const bool is_within = interval.low <= published && published <= interval.high;
    widths.push_back((interval.high - interval.low) / step.prediction.step_s);
    for (Group* group : {&groups[step.row.kind], &all}) {
      group->testbeds.insert(step.row.testbed);
      group->errors_pct.push_back(std::abs(step.row.error_pct));
      group->within += is_within ? 1 : 0;
    }
  }
  TextTable table(
      {"system", "transport", "network", "testbeds", "rows", "typical", "worst", "within"});
  const auto add = [&](const PredictionKind& kind, Group& group) {
    table.add({kind.system, kind.transport, kind.network, fmt::format("{}", group.testbeds.size()),
               fmt::format("{}", group.errors_pct.size()),
               fmt::format("{:.1f} %", median(group.errors_pct)),
               fmt::format("{:.1f} %",
                           *std::max_element(group.errors_pct.begin(), group.errors_pct.end())),
               fmt::format("{}", group.within)});
  };
  for (auto& [kind, group] : groups)
    add(kind, group);
  return table.text() +
         fmt::format(
             "\n{} of {} measured steps lie within the interval that other testbeds give "
             "({:.1f} %), whose median width is {:.1f} %; typical error {:.1f} %\n",
             all.within, steps.size(), 100. * all.within / static_cast<double>(steps.size()),
             median(widths) * 100, median(all.errors_pct));
}

}  // namespace steptime
