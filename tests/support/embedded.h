// Small runs of an embedding, with calls and copies that cost nothing unless the text says so.
#pragma once
#include "netmodels/programs.h"
#include "sim/mxnet/embedding.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace steptime {

inline constexpr Duration kSecond{1'000'000'000'000};

/// {"type": <type>, <more>} with everything else free.
inline std::unique_ptr<Embedding> embedding_of(const std::string& type,
                                               std::string_view more = {}) {
  Json json{{"type", type},     {"python_call", "0 s"},  {"engine_push", "0 s"},
            {"wake_up", "0 s"}, {"copy_latency", "0 s"}, {"copy_bandwidth", "1e9 TB/s"}};
  if (!more.empty()) json.update(parse_json(fmt::format("{{{}}}", more), "more"));
  return make<Embedding>(json.dump());
}

/// What a step is spent on: seconds by cause and resource, to the picosecond.
using SecondsByCause = std::map<std::pair<std::string, std::string>, double>;
inline SecondsByCause spent(const EmbeddedStep& step) {
  SecondsByCause all;
  for (const Cause& cause : step.attribution.causes)
    all[{cause.cause, cause.resource}] = std::round(cause.seconds * 1e12) / 1e12;
  return all;
}

/// Costs a + b M in closed form, and is a ring of `ranks`.
class Ring final : public LinearCollective {
 public:
  Ring(Rank ranks, LinearCost cost) : LinearCollective(cost), ranks_(ranks) {}
  Programs programs(Bytes m) const override { return one(ring_all_reduce(ranks_, {0, m.count})); }

 private:
  Rank ranks_;
};

/// One layer per pair of times, in forward order, each with one tensor of one byte: t1, t2, ...
struct LayerTimes {
  Duration forward{};
  Duration backward{};
};
inline Workload layers_of(std::span<const LayerTimes> times) {
  Workload workload{.trace = {.model = "fake", .device = "fake", .batch = 1}, .bytes_per_param = 1};
  for (const LayerTimes& t : times) {
    const std::string name = fmt::format("t{}", workload.trace.layers.size() + 1);
    workload.trace.layers.push_back({name, t.forward, t.backward, {{name, 1}}});
  }
  return workload;
}

inline EmbeddedStep run_embedded(const Embedding& embedding, const Workload& workload,
                                 const Collective& collective, EmbeddedRun run = {.workers = 2},
                                 std::string_view schedule = R"({"type": "wfbp"})",
                                 Duration input = {}) {
  const auto planner = make<Schedule>(schedule);
  const auto units = workload.units(planner->granularity());
  StepPlan plan =
      plan_step(workload, units, planner->plan(units, collective), collective, run.workers);
  plan.input = input;
  if (run.played) play_buckets(plan, *run.played->cluster, collective);
  run.decided.buckets = plan.buckets;
  const auto sgd = make<Update>(R"({"type": "sgd"})");
  if (run.update == nullptr) run.update = sgd.get();
  run.decided.collective = &collective;
  return embedded_step(embedding, plan, workload, units, collective.startup(), run);
}

}  // namespace steptime
