#include "sim/sweeps/advise.h"

#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/sweeps/run_sweep.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr const char* kAggregation = "/strategy/aggregation";
constexpr const char* kSchedule = "/strategy/schedule";
constexpr std::int64_t kMiB = 1 << 20;

/// A schedule and what it is called where it is set.
struct Setting {
  std::string system;
  std::string name;
  std::string paste;
  Json schedule;
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const char* name : {"wfbp", "sync-easgd", "mg-wfbp", "optimal"})
    all.push_back({"any", name, "", Json{{"type", name}}});
  for (const int mib : {1, 2, 4, 8, 12, 16, 25, 35, 50, 75, 100, 200, 400}) {
    all.push_back({"PyTorch DDP", fmt::format("fixed-buckets, {} MiB", mib),
                   fmt::format("DistributedDataParallel(model, bucket_cap_mb={})", mib),
                   Json{{"type", "fixed-buckets"},
                        {"capacity", fmt::format("{} MiB", mib)},
                        {"granularity", "tensor"}}});
  }
  for (const int mib : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    for (const char* cycle : {"0.5", "1", "2.5", "5", "10", "25"}) {
      all.push_back(
          {"Horovod", fmt::format("tensor-fusion, {} MiB, {} ms", mib, cycle),
           fmt::format("HOROVOD_FUSION_THRESHOLD={} HOROVOD_CYCLE_TIME={}", mib * kMiB, cycle),
           Json{{"type", "tensor-fusion"},
                {"threshold", fmt::format("{} MiB", mib)},
                {"cycle", fmt::format("{} ms", cycle)}}});
    }
  }
  for (const int mb : {1, 2, 4, 8, 16, 32}) {
    for (const int parts : {1, 4}) {  // under way at once
      all.push_back({"ByteScheduler", fmt::format("priority, {} MB, {} at once", mb, parts),
                     fmt::format("BYTESCHEDULER_PARTITION={} BYTESCHEDULER_CREDIT={}", mb * 250'000,
                                 mb * parts * 250'000),  // elements of 4 B
                     Json{{"type", "priority"},
                          {"partition", fmt::format("{} MB", mb)},
                          {"credit", fmt::format("{} MB", mb * parts)}}});
    }
  }
  return all;
}

/// What gradients go through.
struct Way {
  std::string name;
  Json aggregation;  ///< null: as the config has it
};

std::string type_of(const Json& value) {
  return value.is_object()   ? value.value("type", "")
         : value.is_string() ? value.get<std::string>()
                             : "";
}

/// As the config has it, first; then what else the cluster could do.
std::vector<Way> ways(const Json& config, std::int64_t nodes) {
  const Json& aggregation = config.at(Json::json_pointer(kAggregation));
  const bool reduces = type_of(aggregation) == "all-reduce";
  const std::string own = reduces ? type_of(aggregation.at("collective")) : type_of(aggregation);
  std::vector<Way> all{{own, nullptr}};
  for (const char* measured : {"table", "linear", "openmpi"}) {
    if (own == measured) return all;
  }
  for (const char* name : {"ring", "halving-doubling", "recursive-doubling", "double-binary-tree",
                           "hierarchical", "nccl"}) {
    if (name == own) continue;
    // Between nodes NCCL's times are off by 14 % (docs/accuracy.md), more than what is to be gained
    // by it.
    if (name == std::string_view("nccl") && nodes > 1) continue;
    all.push_back({name, Json{{"type", "all-reduce"}, {"collective", Json{{"type", name}}}}});
  }
  if (reduces && nodes > 1) {
    all.push_back(
        {"a server on each node",
         Json{{"type", "parameter-server"}, {"servers", nodes}, {"placement", "with-workers"}}});
  }
  return all;
}

/// Of all settings over all ways, in closed form on the network as it should be: the ways vary
/// slower.
Sweep sweep_of(const std::string& file, Json config, std::span<const Way> ways,
               std::span<const Setting> settings) {
  const Json own = config.at(Json::json_pointer(kAggregation));
  Json aggregations = Json::array();
  for (const Way& way : ways) {
    aggregations.push_back(
        {{"label", way.name}, {"value", way.aggregation.is_null() ? own : way.aggregation}});
  }
  Json schedules = Json::array();
  for (const Setting& setting : settings)
    schedules.push_back({{"label", setting.name}, {"value", setting.schedule}});
  config["sweep"] = {{kAggregation, aggregations}, {kSchedule, schedules}};
  config["run"]["fidelity"] = "analytic";
  config["run"].erase("slow_links");
  return Sweep(std::make_shared<Document>(Document{file, config}));
}

/// Calls found(point, seconds a step) for each point that can be simulated, in order. What
/// `on_progress` throws ends it.
template <class OnFound>
void run(const Sweep& sweep, const OnProgress& on_progress, OnFound found) {
  std::exception_ptr thrown;
  std::atomic<bool> is_over = false;
  SweepOptions options{.threads =
                           static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  options.on_row = [&](const SweepRow& row, std::string_view) {
    if (row.result) found(static_cast<std::size_t>(row.point), row.result->step_time_s);
  };
  options.on_progress = [&](std::int64_t, double points) {
    if (!on_progress || is_over) return;
    try {
      on_progress(points / static_cast<double>(sweep.points()));
    } catch (...) {
      thrown = std::current_exception();
      is_over = true;
    }
  };
  options.stop = [&] { return is_over.load(); };
  run_sweep(sweep, options);
  if (thrown) std::rethrow_exception(thrown);
}

/// Of the messages of a plan, last layer first: "3, 12 and 40 gradients".
std::string message_sizes(const std::vector<SentBucket>& buckets) {
  constexpr std::size_t kMost = 24;
  std::string text;
  for (std::size_t i = 0; i < std::min(buckets.size(), kMost); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", buckets[i].tensors.size());
  if (buckets.size() > kMost) text += ", ...";
  return fmt::format("merge gradients from the last layer on, so many in a message: {}", text);
}

}  // namespace

Advice advise(const std::shared_ptr<const Document>& config, const OnProgress& on_progress) {
  auto as_it_is = std::make_shared<Document>(*config);
  as_it_is->root.erase("sweep");
  const Experiment experiment = read_experiment(as_it_is);
  if (experiment.run->convergence) {
    throw InputError(
        fmt::format("{}: /run/convergence: a run that learns has no shortest step to look for: "
                    "expected none",
                    config->file));
  }
  Json full = resolved(as_it_is->root);
  // As many as each schedule needs, not as the config's own does.
  if (!as_it_is->root.value("run", Json::object()).contains("steps")) full["run"].erase("steps");
  const std::vector<Way> carried = ways(full, experiment.cluster->nodes);
  const std::vector<Setting> all = settings();

  Advice advice;
  advice.name = experiment.name;
  advice.step_time_s = simulate(experiment).step_time_s;
  struct Found {
    const Setting* setting = nullptr;
    const Way* way = nullptr;
    double time = 0;
  };
  std::map<std::string, Found> best;
  // What does not go together, or not on this cluster, is left out.
  run(sweep_of(config->file, full, carried, all), on_progress, [&](std::size_t point, double time) {
    ++advice.tried;
    const Found now{&all[point % all.size()], &carried[point / all.size()], time};
    const auto [found, is_new] = best.try_emplace(now.setting->system, now);
    if (!is_new && time < found->second.time) found->second = now;
  });
  for (const auto& [system, found] : best) {
    Json changed = full;
    if (!found.way->aggregation.is_null())
      changed[Json::json_pointer(kAggregation)] = found.way->aggregation;
    changed[Json::json_pointer(kSchedule)] = found.setting->schedule;
    std::vector<SentBucket> buckets;
    const Result result = simulate(
        read_experiment(std::make_shared<Document>(Document{config->file, changed})), &buckets);
    Advised advised{.system = system,
                    .carried = found.way->name,
                    .schedule = found.setting->name,
                    .paste = found.setting->paste,
                    .strategy = Json::object(),
                    .step_time_s = result.step_time_s,
                    .domain = result.domain};
    if (advised.paste.empty()) advised.paste = message_sizes(buckets);
    if (!found.way->aggregation.is_null()) advised.strategy[kAggregation] = found.way->aggregation;
    advised.strategy[kSchedule] = found.setting->schedule;
    advice.best.push_back(advised);
  }
  std::stable_sort(advice.best.begin(), advice.best.end(), [](const Advised& a, const Advised& b) {
    return a.step_time_s < b.step_time_s;
  });
  return advice;
}

std::string Advice::text() const {
  std::string text = fmt::format("{}: a step takes {:.3f} ms; {} other settings were simulated\n\n",
                                 name, step_time_s * 1e3, tried);
  TextTable table({"system", "through", "schedule", "step ms", "less", "domain"});
  for (const Advised& a : best) {
    table.add({a.system, a.carried, a.schedule, fmt::format("{:.3f}", a.step_time_s * 1e3),
               fmt::format("{:.1f} %", (1 - a.step_time_s / step_time_s) * 100),
               std::string(a.domain.word())});
  }
  text += table.text();
  for (const Advised& a : best) {
    if (a.step_time_s >= step_time_s) continue;
    text += fmt::format("\n{}: {}\n", a.system, a.paste);
    for (const auto& [pointer, value] : a.strategy.items())
      text += fmt::format("  --set '{}={}'\n", pointer, value.dump());
    if (!a.domain.is_validated()) text += fmt::format("  {}\n", a.domain.text());
  }
  if (best.empty() || best.front().step_time_s >= step_time_s)
    text += "\nnothing that was tried is faster than what the config has\n";
  return text;
}

Json Advice::json() const {
  Json list = Json::array();
  for (const Advised& a : best) {
    list.push_back({{"system", a.system},
                    {"through", a.carried},
                    {"schedule", a.schedule},
                    {"paste", a.paste},
                    {"set", a.strategy},
                    {"step_time_s", a.step_time_s},
                    {"gain_pct", (1 - a.step_time_s / step_time_s) * 100},
                    {"domain", Json::parse(a.domain.json())}});
  }
  return {{"name", name}, {"step_time_s", step_time_s}, {"tried", tried}, {"best", list}};
}

}  // namespace steptime
