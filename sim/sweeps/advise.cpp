#include "sim/sweeps/advise.h"

#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/experiment/training_run.h"
#include "sim/sweeps/frameworks.h"
#include "sim/sweeps/run_sweep.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
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
constexpr const char* kEmbedding = "/strategy/embedding";
constexpr const char* kTransportPlace = "/strategy/transport";
constexpr const char* kOverlapPlace = "/workload/overlap";

/// A framework over one of its ways.
struct SearchedWay {
  const Framework* framework = nullptr;
  const GradientWay* way = nullptr;
};

/// Throws InputError for a word that nothing has.
std::vector<SearchedWay> groups_of(const std::vector<Framework>& all,
                                   const AdviseOptions& options) {
  std::vector<std::string> systems;
  std::vector<std::string> collectives;
  for (const Framework& framework : all) {
    systems.push_back(framework.name);
    for (const GradientWay& way : framework.ways) {
      if (std::find(collectives.begin(), collectives.end(), way.name) == collectives.end())
        collectives.push_back(way.name);
    }
  }
  if (!options.system.empty()) check_word("--system", options.system, systems);
  if (!options.collective.empty()) check_word("--collective", options.collective, collectives);
  std::vector<SearchedWay> groups;
  for (const Framework& framework : all) {
    if (!options.system.empty() && framework.name != options.system) continue;
    for (const GradientWay& way : framework.ways) {
      if (options.collective.empty() || way.name == options.collective)
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
  if (!way.embedding.is_null()) change(kEmbedding, way.embedding);
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

/// Calls found(point, seconds a step) for each of these points, in ascending order, that can be
/// simulated, and refused(why) for the others, in order. What `on_progress` throws ends it.
template <class OnFound, class OnRefused>
void run(const Sweep& sweep, const std::vector<std::int64_t>& points, const OnProgress& on_progress,
         OnFound found, OnRefused refused) {
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
    if (row.result)
      found(static_cast<std::size_t>(row.point), row.result->step_time_s);
    else
      refused(row.error);
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

/// The search of one advice.
class Search {
 public:
  /// `blocks`: of threads, of the config's own collective. All must outlive it.
  Search(const std::string& file, const Json& config, const std::vector<SearchedWay>& groups,
         std::int64_t blocks, const AdviseOptions& options, OnProgress listener)
      : file_(file),
        config_(config),
        groups_(groups),
        blocks_(blocks),
        options_(options),
        listener_(std::move(listener)) {}

  /// Returns whether it was not interrupted.
  bool run_all(Advice& advice) {
    try {
      std::vector<Points> quick;
      std::vector<const SearchedWay*> slow_ways;
      for (const SearchedWay& group : groups_) {
        if (is_slow(group)) {
          slow_ways.push_back(&group);
          continue;
        }
        quick.push_back({&group, std::vector<std::int64_t>(settings(group).size())});
        std::iota(quick.back().settings.begin(), quick.back().settings.end(), 0);
      }
      const double share = slow_ways.empty() ? 1 : kQuickShare;
      run_points(quick, 0, share, advice);
      std::vector<Points> slow;
      slow.reserve(slow_ways.size());
      for (const SearchedWay* way : slow_ways)
        slow.push_back({way, choose(*way, advice)});
      run_points(slow, share, 1, advice);
    } catch (const Interrupted&) {
      if (!options_.keeps_partial) throw;
      return false;
    }
    return true;
  }

  /// What of a system's settings that were tried is fastest at the config's own fidelity, also with
  /// numbers in fewer bytes; after an interruption as it was tried.
  void add_best(Advice& advice) {
    for (const auto& [system, tried] : found_) {
      std::vector<Found> ordered = tried;
      std::stable_sort(ordered.begin(), ordered.end(),
                       [](const Found& a, const Found& b) { return a.time < b.time; });
      for (const Found& found : ordered) {
        if (advice.is_partial) {
          advice.best.push_back(named(found));
          break;
        }
        try {
          advice.best.push_back(simulated(found, named(found).strategy));
        } catch (const InputError& e) {  // that the messages of this cluster cannot carry
          refuse(*found.group, e.what());
          continue;
        }
        add_narrower(found, advice.narrower);
        break;
      }
    }
  }

  /// Of systems of which nothing can be advised, why.
  void add_refused(Advice& advice) const {
    for (const Untried& refused : refused_) {
      const bool is_told =
          std::any_of(advice.best.begin(), advice.best.end(),
                      [&](const Advised& best) { return best.system == refused.system; });
      if (!is_told) advice.left_out.push_back(refused);
    }
  }

  /// Why the first setting that was cannot be simulated; "" where all can.
  std::string refused() const { return refused_.empty() ? "" : refused_.front().reason; }

 private:
  static constexpr double kQuickShare = 0.5;  // of the time, about
  static constexpr double kMostEvents = 1e7;  // in all: some seconds

  struct Found {
    const SearchedWay* group = nullptr;
    const Setting* setting = nullptr;
    double time = 0;
  };
  /// Of a group, by number in ascending order.
  struct Points {
    const SearchedWay* group = nullptr;
    std::vector<std::int64_t> settings;
  };

  static const std::vector<Setting>& settings(const SearchedWay& group) {
    return group.framework->settings;
  }
  Json changes(const Found& found) const {
    return changes_of(config_, *found.group->way, *found.setting, blocks_);
  }
  Experiment experiment(const Json& changes) const {
    Json changed = config_;
    change_in(changed, changes);
    return read_experiment(std::make_shared<Document>(Document{file_, changed}));
  }

  /// Whether its steps are played message by message at any fidelity.
  bool is_slow(const SearchedWay& group) const {
    const Json& stated = group.way->aggregation;
    const Json& aggregation =
        stated.is_null() ? config_.at(Json::json_pointer(kAggregation)) : stated;
    const std::string type =
        aggregation.is_object() ? aggregation.value("type", "") : aggregation.get<std::string>();
    return type == "parameter-server" || type == "hybrid";
  }

  /// Settings over a way with servers that may be the best of their system, the ones with the
  /// fewest messages first, as far as there is time.
  std::vector<std::int64_t> choose(const SearchedWay& group, Advice& advice) {
    struct Candidate {
      double events = 0;
      std::int64_t setting = 0;
    };
    std::vector<Candidate> candidates;
    std::size_t too_slow = 0;
    double least = 0;
    for (const Setting& setting : settings(group)) {
      try {
        const Experiment e = experiment(changes({&group, &setting, 0}));
        least = least_time(e);
        const auto known = best_time(group.framework->name);
        if (known && *known <= least) {
          ++too_slow;
          continue;
        }
        candidates.push_back(
            {training_events(plan_training(e), seeds_of(e)), &setting - settings(group).data()});
      } catch (const InputError& e) {  // what does not go together, or not on this cluster
        refuse(group, e.what());
      }
    }
    const std::string& system = group.framework->name;
    const std::string& way = group.way->name;
    if (too_slow > 0) {
      advice.left_out.push_back(
          {system, way, too_slow,
           fmt::format("the links of servers alone need {:.3f} ms", least * 1e3)});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.events < b.events; });
    std::vector<std::int64_t> chosen;
    for (const Candidate& candidate : candidates) {
      events_ += candidate.events;
      if (events_ <= kMostEvents) chosen.push_back(candidate.setting);
    }
    std::sort(chosen.begin(), chosen.end());
    if (const std::size_t too_many = candidates.size() - chosen.size(); too_many > 0)
      advice.left_out.push_back({system, way, too_many, "too many messages to try them all"});
    return chosen;
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

  /// What does not go together, or not on this cluster, is left out.
  void run_points(const std::vector<Points>& all, double from, double to, Advice& advice) {
    std::size_t count = 0;
    for (const Points& points : all)
      count += points.settings.size();
    std::size_t begun = 0;
    for (const auto& [group, points] : all) {
      if (points.empty()) continue;
      const OnProgress on_progress = [&, size = points.size()](double share) {
        const double done = static_cast<double>(begun) + share * static_cast<double>(size);
        if (listener_) listener_(from + (to - from) * done / static_cast<double>(count));
      };
      const SearchedWay& way = *group;
      run(
          sweep_of(file_, config_, way, blocks_), points, on_progress,
          [&](std::size_t point, double time) {
            ++advice.tried;
            const Found now{&way, &settings(way)[point], time};
            found_[way.framework->name].push_back(now);
            if (fastest_ && *fastest_ <= time) return;
            fastest_ = time;
            if (options_.on_better) options_.on_better(named(now));
          },
          [&](const std::string& why) { refuse(way, why); });
      begun += points.size();
    }
  }

  void refuse(const SearchedWay& way, const std::string& why) {
    const std::string& system = way.framework->name;
    const auto known = std::find_if(refused_.begin(), refused_.end(), [&](const Untried& each) {
      return each.system == system && each.carried == way.way->name;
    });
    if (known != refused_.end())
      ++known->settings;
    else
      refused_.push_back({system, way.way->name, 1, why});
  }

  /// As it was tried: its interval, its domain and what to write for a plan are not known yet.
  Advised named(const Found& found) const {
    return {.system = found.group->framework->name,
            .carried = found.group->way->name,
            .schedule = found.setting->name,
            .paste = found.setting->paste,
            .strategy = changes(found),
            .step_time_s = found.time,
            .domain = {}};
  }
  Advised simulated(const Found& found, const Json& changes) const {
    Advised advised = named(found);
    std::vector<SentBucket> buckets;
    const Result result = simulate(experiment(changes), &buckets);
    advised.strategy = changes;
    advised.step_time_s = result.step_time_s;
    advised.interval_s = result.step_time_interval_s;
    advised.domain = result.domain;
    if (advised.paste.empty()) advised.paste = message_sizes(buckets);
    return advised;
  }
  /// The same with numbers in fewer bytes, where the device has them.
  void add_narrower(const Found& found, std::vector<Advised>& all) const {
    for (const Narrowing& narrowing :
         narrowings(found.group->framework->name, config_["workload"])) {
      Json more = changes(found);
      more.update(narrowing.set);
      try {
        Advised now = simulated(found, more);
        now.schedule += ", " + narrowing.name;
        now.paste = narrowing.paste + "; " + now.paste;
        all.push_back(std::move(now));
      } catch (const InputError&) {  // the device has no rates for them
      }
    }
  }

  const std::string& file_;
  const Json& config_;
  const std::vector<SearchedWay>& groups_;
  std::int64_t blocks_;
  const AdviseOptions& options_;
  OnProgress listener_;
  std::map<std::string, std::vector<Found>> found_;  ///< by system
  std::vector<Untried> refused_;  ///< by system and way, with the first one's reason
  std::optional<double> fastest_;
  double events_ = 0;  ///< events of what was chosen to be played
};

bool is_shorter(const Advised& a, const Advised& b) {
  return a.step_time_s < b.step_time_s;
}

}  // namespace

Advice advise(const std::shared_ptr<const Document>& config, const AdviseOptions& options,
              const OnProgress& on_progress) {
  if (config->root.is_object() && config->root.contains("jobs")) {
    throw InputError(
        fmt::format("{}: /jobs: found several jobs, expected none, as advice is for one training",
                    config->file));
  }
  auto as_it_is = std::make_shared<Document>(*config);
  as_it_is->root.erase("sweep");
  const Experiment experiment = read_experiment(as_it_is);
  if (experiment.run->convergence) {
    throw InputError(
        fmt::format("{}: /run/convergence: a run that learns has no shortest step to look for: "
                    "expected none",
                    config->file));
  }
  if (experiment.layout) {
    throw InputError(fmt::format(
        "{}: /strategy/layout: advise tries schedules of whole models on every worker, and a "
        "layout sends its gradients by its own rules: expected none",
        config->file));
  }
  Json full = resolved(as_it_is->root);
  // As many as each schedule needs, not as the config's own does.
  if (!as_it_is->root.value("run", Json::object()).contains("steps")) full["run"].erase("steps");
  Json strategy = full["strategy"];
  strategy["transport"] =  // without its roles, where these are its own
      as_it_is->root.value("strategy", Json::object()).value("transport", Json("mpi"));
  const std::vector<Framework> all = frameworks(strategy, experiment.cluster->nodes);
  const std::vector<SearchedWay> groups = groups_of(all, options);
  Bytes gradients;
  for (const GradientUnit& unit : experiment.workload->by_tensor)
    gradients = gradients + unit.bytes;
  const std::int64_t blocks =
      experiment.collective ? experiment.collective->thread_blocks(gradients) : 0;

  const Result as_it_was = simulate(experiment);
  Advice advice{.name = experiment.name,
                .step_time_s = as_it_was.step_time_s,
                .interval_s = as_it_was.step_time_interval_s};
  Search search(config->file, full, groups, blocks, options, on_progress);
  advice.is_partial = !search.run_all(advice);
  search.add_best(advice);
  if (advice.best.empty() && advice.left_out.empty() && !advice.is_partial) {
    throw InputError(
        fmt::format("{}: /strategy: no setting to advise goes with this experiment{}{}",
                    config->file, search.refused().empty() ? "" : ", as ", search.refused()));
  }
  search.add_refused(advice);
  std::stable_sort(advice.best.begin(), advice.best.end(), is_shorter);
  std::stable_sort(advice.narrower.begin(), advice.narrower.end(), is_shorter);
  return advice;
}

}  // namespace steptime
