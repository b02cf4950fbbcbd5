#include "sim/sweeps/advise.h"

#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/experiment/training_run.h"
#include "sim/experiment/training_work.h"
#include "sim/sweeps/run_sweep.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
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

/// Calls found(point, seconds a step) for each of these points, in ascending order, that can be
/// simulated, in order. What `on_progress` throws ends it.
template <class OnFound>
void run(const Sweep& sweep, const std::vector<std::int64_t>& points, const OnProgress& on_progress,
         OnFound found) {
  std::exception_ptr thrown;
  std::atomic<bool> is_over = false;
  SweepOptions options{.threads =
                           static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  std::size_t next = 0;
  options.points = [&](std::size_t most) {
    const std::size_t count = std::min(most, points.size() - next);
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(next);
    next += count;
    return std::vector(first, first + static_cast<std::ptrdiff_t>(count));
  };
  options.on_row = [&](const SweepRow& row, std::string_view) {
    if (row.result) found(static_cast<std::size_t>(row.point), row.result->step_time_s);
  };
  options.on_progress = [&](std::int64_t, double done) {
    if (!on_progress || is_over) return;
    try {
      on_progress(done / static_cast<double>(points.size()));
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

struct Found {
  std::size_t setting = 0;
  std::size_t way = 0;
  double time = 0;
};

/// The search of one advice.
class Search {
 public:
  Search(const std::string& file, const Json& config, std::int64_t nodes,
         const AdviseOptions& options, OnProgress listener)
      : file_(file),
        config_(config),
        options_(options),
        listener_(std::move(listener)),
        ways_(ways(config, nodes)),
        settings_(settings()),
        sweep_(sweep_of(file, config, ways_, settings_)) {}

  /// Returns whether it was not interrupted.
  bool run_all(Advice& advice) {
    try {
      std::vector<std::int64_t> quick;
      std::vector<std::size_t> slow_ways;
      for (std::size_t way = 0; way < ways_.size(); ++way) {
        if (is_slow(way)) {
          slow_ways.push_back(way);
          continue;
        }
        for (std::size_t i = 0; i < settings_.size(); ++i)
          quick.push_back(point(way, i));
      }
      const double share = slow_ways.empty() ? 1 : kQuickShare;
      run_points(quick, 0, share, advice);
      std::vector<std::int64_t> slow;
      for (const std::size_t way : slow_ways)
        choose(way, slow, advice);
      run_points(slow, share, 1, advice);
    } catch (const Interrupted&) {
      if (!options_.keeps_partial) throw;
      return false;
    }
    return true;
  }

  /// What of a system's settings that were tried is fastest at the config's own fidelity.
  /// `is_hurried`: as it was tried.
  std::vector<Advised> best(bool is_hurried) const {
    std::vector<Advised> all;
    for (const auto& [system, tried] : found_) {
      std::vector<Found> ordered = tried;
      std::stable_sort(ordered.begin(), ordered.end(),
                       [](const Found& a, const Found& b) { return a.time < b.time; });
      for (const Found& f : ordered) {
        try {
          all.push_back(simulated(f, is_hurried));
          break;
        } catch (const InputError&) {  // that the messages of this cluster cannot carry
          continue;
        }
      }
    }
    return all;
  }

 private:
  static constexpr double kQuickShare = 0.5;  // of the time, about
  static constexpr double kMostEvents = 1e7;  // in all: some seconds

  std::int64_t point(std::size_t way, std::size_t setting) const {
    return static_cast<std::int64_t>(way * settings_.size() + setting);
  }
  Json changed(std::size_t way, std::size_t setting) const {
    Json config = config_;
    if (!ways_[way].aggregation.is_null())
      config[Json::json_pointer(kAggregation)] = ways_[way].aggregation;
    config[Json::json_pointer(kSchedule)] = settings_[setting].schedule;
    return config;
  }
  Experiment experiment(std::size_t way, std::size_t setting) const {
    return read_experiment(std::make_shared<Document>(Document{file_, changed(way, setting)}));
  }

  /// Whether its steps are played message by message at any fidelity.
  bool is_slow(std::size_t way) const {
    const Json& own = config_.at(Json::json_pointer(kAggregation));
    const Json& aggregation = ways_[way].aggregation.is_null() ? own : ways_[way].aggregation;
    const std::string type = type_of(aggregation);
    return type == "parameter-server" || type == "hybrid";
  }

  /// Points of a way with servers that may be the best of their system, the ones with the fewest
  /// messages first, as far as there is time.
  void choose(std::size_t way, std::vector<std::int64_t>& chosen, Advice& advice) {
    struct Candidate {
      double events = 0;
      std::size_t setting = 0;
    };
    std::vector<Candidate> candidates;
    std::size_t too_slow = 0;
    double least = 0;
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      try {
        const Experiment e = experiment(way, i);
        least = least_time(e);
        const auto known = best_time(settings_[i].system);
        if (known && *known <= least) {
          ++too_slow;
          continue;
        }
        candidates.push_back({training_events(e, plan_training(e), seeds_of(e)), i});
      } catch (const InputError&) {  // what does not go together, or not on this cluster
        continue;
      }
    }
    if (too_slow > 0) {
      advice.left_out.push_back(
          {ways_[way].name, too_slow,
           fmt::format("the links of servers alone need {:.3f} ms", least * 1e3)});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.events < b.events; });
    std::size_t too_many = 0;
    for (const Candidate& candidate : candidates) {
      events_ += candidate.events;
      if (events_ <= kMostEvents)
        chosen.push_back(point(way, candidate.setting));
      else
        ++too_many;
    }
    std::sort(chosen.begin(), chosen.end());
    if (too_many > 0)
      advice.left_out.push_back({ways_[way].name, too_many, "too many messages to try them all"});
  }

  /// What the busiest end of the exchange with servers carries in one direction keeps its link busy
  /// for so long, however it is cut; what stays in a node left aside.
  static double least_time(const Experiment& e) {
    const Aggregation& a = *e.aggregation;
    double bytes = 0;
    for (const GradientUnit& unit : e.workload->units(e.schedule->granularity()))
      bytes += static_cast<double>(unit.bytes.count);
    const double both = server_cost(*e.cluster, a.clients, a.servers).b.seconds_per_byte * bytes;
    return both / 2 * (1 - 1 / static_cast<double>(e.cluster->nodes)) /
           static_cast<double>(e.update->period());
  }

  std::optional<double> best_time(const std::string& system) const {
    const auto found = found_.find(system);
    if (found == found_.end()) return std::nullopt;
    return std::min_element(found->second.begin(), found->second.end(),
                            [](const Found& x, const Found& y) { return x.time < y.time; })
        ->time;
  }

  void run_points(const std::vector<std::int64_t>& points, double from, double to, Advice& advice) {
    if (points.empty()) return;
    const OnProgress on_progress = [&](double share) {
      if (listener_) listener_(from + (to - from) * share);
    };
    run(sweep_, points, on_progress, [&](std::size_t at, double time) {
      ++advice.tried;
      const Found now{at % settings_.size(), at / settings_.size(), time};
      found_[settings_[now.setting].system].push_back(now);
      if (fastest_ && *fastest_ <= time) return;
      fastest_ = time;
      if (options_.on_better) options_.on_better(named(now));
    });
  }

  /// As it was tried: its domain and what to write for a plan are not known yet.
  Advised named(const Found& found) const {
    const Setting& setting = settings_[found.setting];
    const Way& way = ways_[found.way];
    Advised advised{.system = setting.system,
                    .carried = way.name,
                    .schedule = setting.name,
                    .paste = setting.paste,
                    .strategy = Json::object(),
                    .step_time_s = found.time,
                    .domain = {}};
    if (!way.aggregation.is_null()) advised.strategy[kAggregation] = way.aggregation;
    advised.strategy[kSchedule] = setting.schedule;
    return advised;
  }
  Advised simulated(const Found& found, bool is_hurried) const {
    Advised advised = named(found);
    if (is_hurried) return advised;
    std::vector<SentBucket> buckets;
    const Result result = simulate(experiment(found.way, found.setting), &buckets);
    advised.step_time_s = result.step_time_s;
    advised.domain = result.domain;
    if (advised.paste.empty()) advised.paste = message_sizes(buckets);
    return advised;
  }

  const std::string& file_;
  const Json& config_;
  const AdviseOptions& options_;
  OnProgress listener_;
  std::vector<Way> ways_;
  std::vector<Setting> settings_;
  Sweep sweep_;
  std::map<std::string, std::vector<Found>> found_;  ///< by system
  std::optional<double> fastest_;
  double events_ = 0;  ///< of what was chosen to be played
};

}  // namespace

Advice advise(const std::shared_ptr<const Document>& config, const AdviseOptions& options,
              const OnProgress& on_progress) {
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

  Advice advice;
  advice.name = experiment.name;
  advice.step_time_s = simulate(experiment).step_time_s;
  Search search(config->file, full, experiment.cluster->nodes, options, on_progress);
  advice.is_partial = !search.run_all(advice);
  advice.best = search.best(advice.is_partial);
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
               is_partial ? std::string("-") : std::string(a.domain.word())});
  }
  text += table.text();
  for (const Advised& a : best) {
    if (a.step_time_s >= step_time_s) continue;
    text += fmt::format("\n{}: {}\n", a.system, a.paste);
    for (const auto& [pointer, value] : a.strategy.items())
      text += fmt::format("  --set '{}={}'\n", pointer, value.dump());
    if (!is_partial && !a.domain.is_validated()) text += fmt::format("  {}\n", a.domain.text());
  }
  if (best.empty() || best.front().step_time_s >= step_time_s)
    text += "\nnothing that was tried is faster than what the config has\n";
  for (const Untried& left : left_out) {
    text += fmt::format("\nnot tried: {} settings through {}: {}\n", left.settings, left.carried,
                        left.reason);
  }
  if (is_partial) text += "\ninterrupted: the best until then\n";
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
                    {"domain", is_partial ? Json() : Json::parse(a.domain.json())}});
  }
  Json left = Json::array();
  for (const Untried& l : left_out)
    left.push_back({{"through", l.carried}, {"settings", l.settings}, {"reason", l.reason}});
  Json all{{"name", name},
           {"step_time_s", step_time_s},
           {"tried", tried},
           {"best", list},
           {"left_out", left}};
  if (is_partial) all["partial"] = true;
  return all;
}

}  // namespace steptime
