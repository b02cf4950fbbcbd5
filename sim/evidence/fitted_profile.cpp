#include "sim/evidence/fitted_profile.h"

#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/core/units.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// What the profile's cluster says of the links, and why.
struct AlphaBetaLine {
  Duration latency{};
  Bandwidth bandwidth{};
  std::string latency_source;
  std::string bandwidth_source;
};

/// Time of one more byte at the largest sizes, s/B: the slope from half of the last size on.
double last_slope(const MeasuredOperation& operation) {
  const MeasuredCurve curve(operation.segments);
  const double last = curve.last_bytes();
  const double half = std::max(curve.first_bytes(), last / 2);
  return last > half ? (curve.fitted(last) - curve.fitted(half)) / (last - half) : 0;
}

AlphaBetaLine line_of(const MeasuredOperations& operations) {
  const auto of = [&](const char* name) -> const MeasuredOperation* {
    const auto found = operations.find(name);
    return found == operations.end() ? nullptr : &found->second;
  };
  const auto bandwidth = [](double seconds_per_byte) {
    return Bandwidth{seconds_per_byte > 0 ? std::min(1e15, 1 / seconds_per_byte) : 1e15};
  };
  for (const char* name : {kPingPong, kPeerCopy, kPinnedCopy}) {
    const MeasuredOperation* found = of(name);
    if (found == nullptr || (name != kPingPong && of("all-reduce") != nullptr)) continue;
    return {from_seconds(found->segments.front().first.fitted), bandwidth(last_slope(*found)),
            fmt::format("{} of the smallest size", name),
            fmt::format("{} of the largest sizes", name)};
  }
  const MeasuredOperation* reduced = of("all-reduce");
  const MeasuredOperation& first = reduced != nullptr ? *reduced : operations.begin()->second;
  const auto n = static_cast<double>(std::max<std::int64_t>(2, first.ranks));
  return {from_seconds(first.segments.front().first.fitted / (2 * (n - 1))),
          bandwidth(last_slope(first) * n / (2 * (n - 1))),
          "as if the all-reduce of the smallest size were a ring",
          "as if the all-reduce of the largest sizes were a ring"};
}

std::string microseconds(double seconds) {
  return fmt::format("{:.2f}", seconds * 1e6);
}

}  // namespace

FittedProfile fit_profile(const MeasuredRounds& rounds, const FitOptions& options) {
  FittedProfile profile{.nodes = rounds.nodes, .provenance = rounds.provenance};
  for (const MeasuredSeries& series : rounds.series) {
    try {
      Fit fit = fit_curve(series.sizes, options);
      fit.operation.ranks = series.ranks;
      profile.advice[series.operation] = advice(series.sizes, fit);
      if (series.sizes.size() >= 5) profile.held_out[series.operation] = hold_out(series.sizes);
      if (!fit.outliers.empty()) profile.outliers[series.operation] = fit.outliers;
      const bool is_new =
          profile.operations.emplace(series.operation, std::move(fit.operation)).second;
      if (!is_new) throw InputError("measured twice");
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}: {}", series.operation, e.what()));
    }
  }
  return profile;
}

Json FittedProfile::json(const std::string& help) const {
  const AlphaBetaLine line = line_of(operations);
  std::int64_t ranks = 1;
  for (const auto& [name, operation] : operations)
    ranks = std::max(ranks, operation.ranks);
  Json cluster{{"nodes", nodes},
               {"gpus_per_node", std::max<std::int64_t>(1, ranks / nodes)},
               {"network",
                {{"type", "switch"},
                 {"latency", format_quantity(line.latency)},
                 {"bandwidth", format_quantity(line.bandwidth)}}}};
  Json sources{{"/nodes", "as measured"},
               {"/gpus_per_node", "ranks per node, as measured"},
               {"/network/latency", line.latency_source},
               {"/network/bandwidth", line.bandwidth_source}};
  if (cluster["gpus_per_node"] > 1) {
    cluster["intra_node"] = cluster["network"];
    sources["/intra_node"] = "as /network: one line was fitted to all ranks";
  }
  for (const char* name : {kHostSum, kGpuSum}) {
    const auto sum = operations.find(name);
    if (sum == operations.end()) continue;
    cluster["reduction"] = format_quantity(TimePerByte{last_slope(sum->second)});
    sources["/reduction"] = fmt::format("{} of the largest sizes", name);
    break;
  }
  Json next = Json::array();
  for (const auto& [name, list] : advice) {
    for (const NextSize& a : list) {
      next.push_back({{"operation", name},
                      {"bytes", a.bytes},
                      {"doubt_pct", a.doubt_pct},
                      {"reason", a.reason}});
    }
  }
  return {{"format", "steptime-cluster"},
          {"version", 1},
          {"help", help},
          {"sources", sources},
          {"cluster", cluster},
          {"provenance", provenance},
          {"operations", operations_json(operations)},
          {"advice", next}};
}

std::string FittedProfile::text() const {
  TextTable table({"operation", "ranks", "from B", "to B", "alpha us", "beta ns/B", "at the end us",
                   "95 % interval"});
  for (const auto& [name, operation] : operations) {
    for (const MeasuredSegment& s : operation.segments) {
      table.add({name, fmt::format("{}", operation.ranks), fmt::format("{:.0f}", s.first.bytes),
                 fmt::format("{:.0f}", s.last.bytes), microseconds(s.a()),
                 fmt::format("{:.4f}", s.b() * 1e9), microseconds(s.last.fitted),
                 fmt::format("{} to {}", microseconds(s.last.low), microseconds(s.last.high))});
    }
  }
  std::string text = table.text();
  for (const auto& [name, held] : held_out) {
    text += fmt::format(
        "{}: every second of the sizes, held out, is predicted within {:.1f} % on average, the "
        "worst {:+.1f} % at {} B\n",
        name, held.mean_pct, held.worst_pct, held.worst_bytes);
  }
  for (const auto& [name, sizes] : outliers)
    text += fmt::format("{}: not believed: {} sizes, the first {} B\n", name, sizes.size(),
                        sizes.front());
  for (const auto& [name, list] : advice) {
    std::set<std::string> reasons;  // the worst size of each stands for those that the file has
    for (const NextSize& a : list) {
      if (!reasons.insert(a.reason).second) continue;
      text += fmt::format("{}: measure {} B next: {:.1f} % in doubt, {}\n", name, a.bytes,
                          a.doubt_pct, a.reason);
    }
  }
  return text;
}

}  // namespace steptime
