#include "sim/sweeps/advise.h"

#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/sweeps/frameworks.h"
#include "sim/sweeps/run_sweep.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
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
constexpr const char* kTransportPlace = "/strategy/transport";
constexpr const char* kOverlapPlace = "/workload/overlap";

/// The least gain that a table shows, 0.1 % rounded.
constexpr double kLeastShown = 0.0005;

/// A framework over one of its ways.
struct SearchedWay {
  const Framework* framework = nullptr;
  const GradientWay* way = nullptr;
};

/// Throws InputError for a word that nothing has.
std::vector<SearchedWay> groups_of(const std::vector<Framework>& all, const HeldFixed& held) {
  std::vector<std::string> systems;
  std::vector<std::string> collectives;
  for (const Framework& framework : all) {
    systems.push_back(framework.name);
    for (const GradientWay& way : framework.ways) {
      if (std::find(collectives.begin(), collectives.end(), way.name) == collectives.end())
        collectives.push_back(way.name);
    }
  }
  if (!held.system.empty()) check_word("--system", held.system, systems);
  if (!held.collective.empty()) check_word("--collective", held.collective, collectives);
  std::vector<SearchedWay> groups;
  for (const Framework& framework : all) {
    if (!held.system.empty() && framework.name != held.system) continue;
    for (const GradientWay& way : framework.ways) {
      if (held.collective.empty() || way.name == held.collective)
        groups.push_back({&framework, &way});
    }
  }
  return groups;
}

/// What a setting over a way changes in a config, with `blocks` of threads of the config's own
/// collective: JSON pointer to value.
Json changes_of(const Json& config, const GradientWay& way, const Setting& setting,
                std::int64_t blocks) {
  Json changes = Json::object();
  const auto change = [&](const char* pointer, const Json& value) {
    const Json::json_pointer place(pointer);
    if (!config.contains(place) || config.at(place) != value) changes[pointer] = value;
  };
  if (!way.aggregation.is_null()) change(kAggregation, way.aggregation);
  Json transport = way.transport;
  if (!setting.coordinator.is_null()) transport["coordinator"] = setting.coordinator;
  if (!transport.is_null()) change(kTransportPlace, transport);
  change(kSchedule, setting.schedule);
  if (!way.is_own && !config.contains(Json::json_pointer(kOverlapPlace)))
    change(kOverlapPlace, Json{{"type", "multiprocessors"}, {"blocks", blocks}});
  return changes;
}

void change_in(Json& config, const Json& changes) {
  for (const auto& [pointer, value] : changes.items())
    config[Json::json_pointer(pointer)] = value;
}

/// Of all settings of a group, in closed form on the network as it should be.
Sweep sweep_of(const std::string& file, const Json& full, const SearchedWay& group,
               std::int64_t blocks) {
  const std::vector<Setting>& settings = group.framework->settings;
  Json config = full;
  change_in(config, changes_of(full, *group.way, settings.front(), blocks));
  Json schedules = Json::array();
  Json transports = Json::array();
  for (const Setting& setting : settings) {
    schedules.push_back({{"label", setting.name}, {"value", setting.schedule}});
    if (setting.coordinator.is_null()) continue;
    Json transport = group.way->transport;
    transport["coordinator"] = setting.coordinator;
    transports.push_back({{"label", setting.name}, {"value", transport}});
  }
  config["sweep"] = Json::object();
  config["sweep"][kSchedule]["zip"] = schedules;
  if (!transports.empty()) config["sweep"][kTransportPlace]["zip"] = transports;
  config["run"]["fidelity"] = "analytic";
  config["run"].erase("slow_links");
  return Sweep(std::make_shared<Document>(Document{file, config}));
}

/// Calls found(point, seconds a step) for each point that can be simulated, in order. What
/// `on_progress` throws, which gets the points that are over, ends it.
template <class OnFound>
void run(const Sweep& sweep, const std::function<void(double)>& on_progress, OnFound found) {
  std::exception_ptr thrown;
  std::atomic<bool> is_over = false;
  SweepOptions options{.threads =
                           static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  options.on_row = [&](const SweepRow& row, std::string_view) {
    if (row.result) found(static_cast<std::size_t>(row.point), row.result->step_time_s);
  };
  options.on_progress = [&](std::int64_t, double points) {
    if (is_over) return;
    try {
      on_progress(points);
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

/// The best that was found for a system.
struct BestFound {
  SearchedWay group;
  const Setting* setting = nullptr;
  double time = 0;
};

/// At the config's own fidelity, with `changes`.
Advised advised(const std::string& file, const Json& full, const BestFound& found, Json changes) {
  Json changed = full;
  change_in(changed, changes);
  std::vector<SentBucket> buckets;
  const Result result =
      simulate(read_experiment(std::make_shared<Document>(Document{file, changed})), &buckets);
  Advised now{.system = found.group.framework->name,
              .carried = found.group.way->name,
              .schedule = found.setting->name,
              .paste = found.setting->paste,
              .strategy = std::move(changes),
              .step_time_s = result.step_time_s,
              .interval_s = result.step_time_interval_s,
              .domain = result.domain};
  if (now.paste.empty()) now.paste = message_sizes(buckets);
  return now;
}

/// The same with numbers in fewer bytes, where the device has them.
void add_narrower(const std::string& file, const Json& full, const BestFound& found,
                  const Json& changes, std::vector<Advised>& all) {
  for (const Narrowing& narrowing : narrowings(found.group.framework->name, full["workload"])) {
    Json more = changes;
    more.update(narrowing.set);
    try {
      Advised now = advised(file, full, found, more);
      now.schedule += ", " + narrowing.name;
      now.paste = narrowing.paste + "; " + now.paste;
      all.push_back(std::move(now));
    } catch (const InputError&) {  // the device has no rates for them
    }
  }
}

bool is_shorter(const Advised& a, const Advised& b) {
  return a.step_time_s < b.step_time_s;
}

/// Half of an interval, in logarithms.
double half_width(const Interval& interval) {
  return interval.low > 0 ? std::log(interval.high / interval.low) / 2
                          : std::numeric_limits<double>::infinity();
}

}  // namespace

Advice advise(const std::shared_ptr<const Document>& config, const OnProgress& on_progress,
              const HeldFixed& held) {
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
  Json strategy = full["strategy"];
  strategy["transport"] =  // without its roles, where these are its own
      as_it_is->root.value("strategy", Json::object()).value("transport", Json("mpi"));
  const std::vector<Framework> all = frameworks(strategy, experiment.cluster->nodes);
  const std::vector<SearchedWay> groups = groups_of(all, held);
  Bytes gradients;
  for (const GradientUnit& unit : experiment.workload->by_tensor)
    gradients = gradients + unit.bytes;
  const std::int64_t blocks =
      experiment.collective ? experiment.collective->thread_blocks(gradients) : 0;

  const Result as_it_was = simulate(experiment);
  Advice advice{.name = experiment.name,
                .step_time_s = as_it_was.step_time_s,
                .interval_s = as_it_was.step_time_interval_s};
  std::size_t points = 0;
  for (const SearchedWay& group : groups)
    points += group.framework->settings.size();
  std::map<std::string, BestFound> best;
  std::size_t begun = 0;
  // What does not go together, or not on this cluster, is left out.
  for (const SearchedWay& group : groups) {
    const std::vector<Setting>& settings = group.framework->settings;
    const auto tell = [&](double done) {
      if (on_progress)
        on_progress((static_cast<double>(begun) + done) / static_cast<double>(points));
    };
    run(sweep_of(config->file, full, group, blocks), tell, [&](std::size_t point, double time) {
      ++advice.tried;
      const BestFound now{group, &settings[point], time};
      const auto [found, is_new] = best.try_emplace(group.framework->name, now);
      if (!is_new && time < found->second.time) found->second = now;
    });
    begun += settings.size();
  }
  for (const auto& [system, found] : best) {
    const Json changes = changes_of(full, *found.group.way, *found.setting, blocks);
    advice.best.push_back(advised(config->file, full, found, changes));
    add_narrower(config->file, full, found, changes, advice.narrower);
  }
  std::stable_sort(advice.best.begin(), advice.best.end(), is_shorter);
  std::stable_sort(advice.narrower.begin(), advice.narrower.end(), is_shorter);
  return advice;
}

bool Advice::is_gain(const Advised& a) const {
  const double gain = std::log(step_time_s / a.step_time_s);
  const double ours = half_width(interval_s);
  const double its = half_width(a.interval_s);
  return gain >= kLeastShown && (ours == its || gain > std::abs(its - ours));
}

namespace {

void add_table(std::string& text, const Advice& advice, const std::vector<Advised>& of) {
  TextTable table({"system", "through", "schedule", "step ms", "less", "domain"});
  for (const Advised& a : of) {
    const double gain = (1 - a.step_time_s / advice.step_time_s) * 100;
    table.add({a.system, a.carried, a.schedule, fmt::format("{:.3f}", a.step_time_s * 1e3),
               gain >= 0 && !advice.is_gain(a) ? "none" : fmt::format("{:.1f} %", gain),
               std::string(a.domain.word())});
  }
  text += table.text();
}

void add_settings(std::string& text, const Advised& a) {
  text += fmt::format("\n{}: {}\n", a.system, a.paste);
  for (const auto& [pointer, value] : a.strategy.items())
    text += fmt::format("  --set '{}={}'\n", pointer, value.dump());
  if (!a.domain.is_validated()) text += fmt::format("  {}\n", a.domain.text());
}

Json list_of(const Advice& advice, const std::vector<Advised>& of) {
  Json list = Json::array();
  for (const Advised& a : of) {
    list.push_back({{"system", a.system},
                    {"through", a.carried},
                    {"schedule", a.schedule},
                    {"paste", a.paste},
                    {"set", a.strategy},
                    {"step_time_s", a.step_time_s},
                    {"step_time_interval_s", {a.interval_s.low, a.interval_s.high}},
                    {"gain_pct", (1 - a.step_time_s / advice.step_time_s) * 100},
                    {"is_gain", advice.is_gain(a)},
                    {"domain", Json::parse(a.domain.json())}});
  }
  return list;
}

}  // namespace

std::string Advice::text() const {
  std::string text = fmt::format("{}: a step takes {:.3f} ms; {} other settings were simulated\n\n",
                                 name, step_time_s * 1e3, tried);
  add_table(text, *this, best);
  bool is_any = false;
  for (const Advised& a : best) {
    if (!is_gain(a)) continue;
    add_settings(text, a);
    is_any = true;
  }
  if (!is_any) {
    const bool is_less = !best.empty() && best.front().step_time_s < step_time_s;
    text += is_less ? "\nwhat is gained is less than what the intervals differ by: none\n"
                    : "\nnothing that was tried is faster than what the config has\n";
  }
  if (narrower.empty()) return text;
  text += "\nWith numbers in fewer bytes, whose accuracy and conversions are not simulated:\n\n";
  add_table(text, *this, narrower);
  for (const Advised& a : narrower) {
    if (is_gain(a)) add_settings(text, a);
  }
  return text;
}

Json Advice::json() const {
  return {{"name", name},
          {"step_time_s", step_time_s},
          {"step_time_interval_s", {interval_s.low, interval_s.high}},
          {"tried", tried},
          {"best", list_of(*this, best)},
          {"narrower", list_of(*this, narrower)}};
}

}  // namespace steptime
