// What nccl-tests print (text, or the JSON of -J), as a table that a collective of type "table"
// reads; OSU's latency tests and CSV, too: sim/evidence/measurements.h.
//
// Scope: a size that was measured several times has the median of its times, of two the mean.
// Limits: sizes of which only one was measured cannot make a table. The benchmark's number of ranks
// and its operation are not in every format: they belong into --note.
#include "sim/core/error.h"
#include "sim/evidence/measurements.h"
#include "sim/workload/importer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{};

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

class NcclTests final : public Importer {
 public:
  bool makes_table() const override { return true; }

  Imported import(const ImportRequest& request) const override {
    std::map<std::int64_t, std::vector<double>> times;
    for (const Measurement& row : parse_measurements(request.text, request.file))
      times[row.bytes].push_back(row.time_us);
    if (times.size() < 2) {
      throw InputError(
          fmt::format("{}: expected at least two sizes, got {}", request.file, times.size()));
    }
    Imported imported;
    for (const auto& [key, value] : request.provenance.items())
      imported.table += fmt::format("# {}: {}\n", key, one_line(value.get<std::string>()));
    imported.table += fmt::format("# device: {}\n", one_line(request.device));
    imported.table += "bytes,time_us\n";
    for (const auto& [bytes, each] : times)
      imported.table += fmt::format("{},{}\n", bytes, median(each));
    return imported;
  }
};

const bool kRegistered = Importers::instance().add(
    "nccl-tests", "output of nccl-tests or OSU, as a table of sizes and times", kParams,
    [](const Config&) { return std::make_unique<NcclTests>(); });

}  // namespace
}  // namespace steptime
