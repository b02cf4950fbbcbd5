#include "sim/evidence/memory_table.h"

#include "sim/core/text_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <boost/math/statistics/univariate_statistics.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

/// Some rows together.
struct MemoryGroup {
  std::vector<double> errors_pct;  ///< absolute
  std::vector<double> widths;      ///< over the prediction
  int within = 0;

  std::vector<std::string> cells(const std::string& name) const {
    const auto median = [](std::vector<double> values) {
      return boost::math::statistics::median(values);
    };
    return {name,
            fmt::format("{}", widths.size()),
            fmt::format("{:.1f} %", 100. * within / static_cast<double>(widths.size())),
            fmt::format("{:.0f} %", 100 * median(widths)),
            fmt::format("{:.1f} %", median(errors_pct)),
            fmt::format("{:.1f} %", *std::max_element(errors_pct.begin(), errors_pct.end()))};
  }
};

}  // namespace

std::string memory_table(std::span<const RecordedMemory> memory) {
  std::vector<MemoryRow> rows;
  rows.reserve(memory.size());
  for (const RecordedMemory& each : memory)
    rows.push_back(each.row);
  const MemoryRecord record(rows);
  std::map<std::string, MemoryGroup> groups;
  MemoryGroup all;
  for (const RecordedMemory& each : memory) {
    const auto [low, high] = record.without(each.row.group).interval(each.simulated);
    for (MemoryGroup* const group : {&groups[each.row.group], &all}) {
      group->errors_pct.push_back(std::abs(each.row.error_pct));
      group->widths.push_back((high - low) / each.simulated);
      group->within += low <= each.published && each.published <= high ? 1 : 0;
    }
  }
  TextTable table({"memory", "rows", "within", "width", "typical", "worst"});
  for (const auto& [name, group] : groups)
    table.add(group.cells(name));
  if (!memory.empty()) table.add(all.cells("all"));
  return table.text();
}

}  // namespace steptime
