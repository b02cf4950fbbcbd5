#include "sim/experiment/explain.h"

#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/figures.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/variants.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>

namespace steptime {
namespace {

constexpr double kStep = 1.01;      // by which a quantity is changed
constexpr double kSmallest = 5e-5;  // an elasticity that is shown
constexpr double kNoTime = 1e-9;    // what a limit makes of times
/// The slopes of two sides of a quantity differ by more than this where the step bends or jumps, as
/// where a library takes other rings; below it a plan changes where both are equally good.
constexpr double kKink = 0.02;
/// A step is made of times that grow at most in proportion to a quantity or its inverse.
constexpr double kSteepest = 1.5;
constexpr const char* kInput = "/workload/input";

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f}", seconds * 1e3);
}

/// What a step may wait for, whatever else it does.
constexpr const char* kSamples = "waits for samples";

/// Runs of one explanation, at once where there are processors.
class Runs {
 public:
  Runs(const Variants& variants, const Plans* held, OnProgress listener)
      : variants_(variants), held_(held), listener_(std::move(listener)) {}

  /// Its number.
  std::size_t add(Json config) {
    configs_.push_back(std::move(config));
    return configs_.size() - 1;
  }
  /// Returns whether none was interrupted.
  bool run() {
    runs_.resize(configs_.size());
    refusals_.resize(configs_.size());
    tbb::parallel_for(std::size_t{0}, configs_.size(), [&](std::size_t i) {
      if (is_interrupted_) return;
      double told = 0;
      const OnProgress on_progress = [&](double share) { tell(std::min(1., share), told); };
      try {
        tell(0, told);
        runs_[i] = variants_.run(configs_[i], held_, on_progress);
        tell(1, told);
      } catch (const InputError& refused) {
        refuse(i, refused.what(), told);
      } catch (const ModelFailure& failure) {  // of a change, such as a deadlock
        const std::string text = failure.what();
        refuse(i, text.substr(0, text.find('\n')), told);
      } catch (const Interrupted&) {
        is_interrupted_ = true;
      }
    });
    return !is_interrupted_;
  }
  /// Null: it was refused, or there was no time for it.
  const PlannedRun* of(std::size_t number) const {
    return runs_[number] ? &*runs_[number] : nullptr;
  }
  /// Why it was refused.
  const std::string& refusal(std::size_t number) const { return refusals_[number]; }
  bool was_interrupted() const { return is_interrupted_; }

 private:
  void refuse(std::size_t number, std::string why, double told) {
    refusals_[number] = std::move(why);
    done_ = done_ + 1 - told;
  }
  void tell(double share, double& told) {
    done_ += share - std::exchange(told, share);
    const std::unique_lock lock(telling_, std::try_to_lock);
    if (lock && listener_) listener_(std::min(1., done_ / static_cast<double>(configs_.size())));
  }

  const Variants& variants_;
  const Plans* held_;
  OnProgress listener_;
  std::vector<Json> configs_;
  std::vector<std::optional<PlannedRun>> runs_;
  std::vector<std::string> refusals_;
  std::atomic<double> done_ = 0;
  std::atomic<bool> is_interrupted_ = false;
  std::mutex telling_;
};

/// A run with more of a quantity and one with less.
struct Sides {
  std::string name;
  const Place* place = nullptr;
  std::size_t more = 0;
  std::size_t less = 0;
};

void add_slope(const Sides& sides, const PlannedRun& as_it_is, const PlannedRun& less,
               const PlannedRun& more, Explanation& explanation) {
  const double step = as_it_is.result.step_time_s;
  const double scale = std::log(kStep);
  const double down = std::log(step / less.result.step_time_s) / scale;
  const double up = std::log(more.result.step_time_s / step) / scale;
  if (std::abs(up - down) > kKink || std::max(std::abs(up), std::abs(down)) > kSteepest) {
    explanation.jumps.push_back(
        {sides.name,
         sides.place->text,
         (less.result.step_time_s / step - 1) * 100,
         (more.result.step_time_s / step - 1) * 100,
         {less.result.messages, as_it_is.result.messages, more.result.messages},
         !same_plans(less.plans, as_it_is.plans) || !same_plans(more.plans, as_it_is.plans)});
    return;
  }
  const double per_cent = (up + down) / 2;
  if (std::abs(per_cent) < kSmallest) return;
  explanation.elasticities.push_back({sides.name, sides.place->text, per_cent});
}

/// 1, 2, 4, ... nodes up to four times as many, with the number itself among them.
std::vector<std::int64_t> node_counts(std::int64_t nodes) {
  std::vector<std::int64_t> counts;
  for (std::int64_t n = 1; n <= 4 * nodes; n *= 2) {
    counts.push_back(n);
    if (n < nodes && 2 * n > nodes) counts.push_back(nodes);
  }
  return counts;
}

/// The key compute_time is of one micro-batch, without what a worker among others does beside its
/// layers, such as copies of gradients, and without its variation: the result is a line in the key,
/// so that two runs tell what the key would have to be.
void add_compute_time(const Result& as_it_is, const OnProgress& on_progress, Variants& variants) {
  if (variants.config().at("workload").value("accumulate", 1) != 1) return;
  const double seconds = as_it_is.compute_time_s;
  Json changed = variants.config();
  if (changed["workload"].contains("compute_time")) return;
  const auto computed_with = [&](double key) {
    changed["workload"]["compute_time"] = format_quantity(from_seconds(key));
    return variants.run(changed, nullptr, on_progress).result.compute_time_s;
  };
  double key = seconds;
  try {
    const double with = computed_with(seconds);
    if (with > 0) key = seconds * seconds / with;
    if (with != seconds) {
      const double nearer = computed_with(key);
      if (nearer != with) key += (seconds - nearer) * (key - seconds) / (nearer - with);
    }
  } catch (const InputError&) {  // as with a layout: then it is said that it cannot be changed
    key = seconds;
  } catch (const ModelFailure&) {  // such as a deadlock: what is then varied may be played
    key = seconds;
  }
  variants.add_compute_time(key);
}

bool decides_while_it_runs(const Experiment& e) {
  return e.transport->policy(*e.schedule, {}, *e.cluster) != nullptr;
}

void check_fixed_plan(const Experiment& e) {
  if (e.layout) throw InputError("--fixed-plan: a layout plans no messages by cost: expected none");
  if (decides_while_it_runs(e)) {
    throw InputError(
        fmt::format("--fixed-plan: schedule or transport decide while the step runs: expected a "
                    "schedule that plans beforehand, as fixed-buckets or mg-wfbp"));
  }
}

/// Every quantity with a slope, and the rate of samples, where no wait for them is modelled.
std::vector<Suspect> suspects_of(const Explanation& explanation, const Variants& variants,
                                 std::int64_t nodes, double measured) {
  std::vector<Suspect> suspects;
  const auto add = [&](const std::string& pointer, double elasticity) {
    const Place& place = variants.places().at(pointer);
    suspects.push_back({pointer, place.text, elasticity,
                        [&](double factor) { return variants.with(place, factor); },
                        [&](double factor) { return scaled_text(place.text, factor); }});
  };
  for (const Elasticity& e : explanation.elasticities)
    add(e.pointer, e.per_cent);
  for (const Jump& jump : explanation.jumps)
    add(jump.pointer, (jump.more_pct - jump.less_pct) / 2);
  if (measured > explanation.result.step_time_s &&
      !variants.config().at("workload").contains("input")) {
    // Samples of a node in the step as it is; a factor is that of the time for them.
    const double rate = explanation.result.throughput_samples_per_s / static_cast<double>(nodes);
    suspects.push_back(
        {kInput, "none", 1,
         [&variants, rate](double factor) {
           Json changed = variants.config();
           changed["workload"]["input"] = rate / factor;
           return changed;
         },
         [rate](double factor) { return fmt::format("{:.4g} samples/s a node", rate / factor); }});
  }
  return suspects;
}

/// The messages are those that were planned for what the config says, as a framework's would be:
/// nobody told it what else is the case.
MeasuredStep measured_step(const Explanation& explanation, const Variants& variants,
                           const Experiment& e, const PlannedRun& as_it_is, double measured,
                           const OnProgress& on_progress) {
  const OnProgress listener = [&](double) {
    if (on_progress) on_progress(1);
  };
  const auto time_of = [&](const Json& config) {
    return variants.run(config, &as_it_is.plans, listener).result.step_time_s;
  };
  return {measured,
          likely_causes(suspects_of(explanation, variants, e.cluster->nodes, measured),
                        explanation.result.step_time_s, measured, time_of),
          !as_it_is.plans.empty() && !e.layout && !decides_while_it_runs(e)};
}

}  // namespace

Explanation explain(const std::shared_ptr<const Document>& config, const ExplainOptions& options,
                    const OnProgress& on_progress) {
  auto as_it_is = std::make_shared<Document>(*config);
  as_it_is->root.erase("sweep");
  if (as_it_is->root.contains("run") && as_it_is->root["run"].is_object() &&
      as_it_is->root["run"].contains("convergence")) {
    read_experiment(as_it_is);                   // what is wrong in it is wrong here, too
    as_it_is->root["run"].erase("convergence");  // a step takes as long with or without
  }
  const Experiment experiment = read_experiment(as_it_is);
  if (options.fixed_plan) check_fixed_plan(experiment);
  Variants variants(as_it_is);

  Explanation explanation;
  explanation.name = experiment.name;
  // What is varied is the config with its defaults written out: it has to be a config by itself.
  const auto quietly = [&](double) {
    if (on_progress) on_progress(0);
  };
  const PlannedRun base = variants.run(variants.config(), nullptr, quietly, &explanation.buckets);
  explanation.result = base.result;
  const double step = explanation.result.step_time_s;
  add_compute_time(explanation.result, quietly, variants);

  Runs runs(variants, options.fixed_plan ? &base.plans : nullptr, on_progress);
  std::vector<Sides> all_sides;
  for (const auto& [name, place] : variants.places()) {
    all_sides.push_back({name, &place, runs.add(variants.with(place, kStep)),
                         runs.add(variants.with(place, 1 / kStep))});
  }
  std::vector<std::pair<const char*, std::size_t>> limits;
  const auto add_limit = [&](const char* without, Json changed) {
    limits.emplace_back(without, runs.add(std::move(changed)));
  };
  add_limit("start-ups and latencies", variants.with_all<Duration>(kNoTime));
  add_limit("limits of bandwidth", variants.with_all<Bandwidth>(1 / kNoTime));
  add_limit("times per byte of sums and hosts", variants.with_all<TimePerByte>(kNoTime));
  Json endless = variants.config();
  if (endless["workload"].erase("input") > 0) add_limit(kSamples, std::move(endless));
  Json apart = variants.config();
  apart["workload"]["overlap"] = "none";
  add_limit("costs of overlap", std::move(apart));
  if (Json alike = variants.without_slower_workers(); !alike.is_null())
    add_limit("slower workers", std::move(alike));
  Json whole = variants.config();
  if (whole["run"].erase("slow_links") > 0) add_limit("slower links", std::move(whole));
  std::vector<std::pair<std::int64_t, std::size_t>> scales;
  // Jobs have nodes of their own, whatever else there is.
  const std::vector<std::int64_t> counts =
      experiment.jobs ? std::vector<std::int64_t>{} : node_counts(experiment.cluster->nodes);
  for (const std::int64_t n : counts) {
    Json changed = variants.config();
    changed["cluster"]["nodes"] = n;
    scales.emplace_back(n, runs.add(std::move(changed)));
  }
  explanation.is_partial = !runs.run();
  if (explanation.is_partial && !options.keeps_partial) throw Interrupted();

  const auto refused = [&](const std::string& what, std::size_t number) {
    if (explanation.is_partial) return;
    std::string why = runs.refusal(number);
    if (const std::string file = config->file + ": "; why.starts_with(file))
      why.erase(0, file.size());
    explanation.fixed.push_back({what, std::move(why)});
  };
  for (const Sides& sides : all_sides) {
    const PlannedRun* less = runs.of(sides.less);
    const PlannedRun* more = runs.of(sides.more);
    if (less == nullptr || more == nullptr)
      refused(sides.name, less == nullptr ? sides.less : sides.more);
    else
      add_slope(sides, base, *less, *more, explanation);
  }
  std::stable_sort(explanation.elasticities.begin(), explanation.elasticities.end(),
                   [](const Elasticity& a, const Elasticity& b) {
                     return std::abs(a.per_cent) > std::abs(b.per_cent);
                   });
  std::stable_sort(explanation.jumps.begin(), explanation.jumps.end(),
                   [](const Jump& a, const Jump& b) { return a.size_pct() > b.size_pct(); });

  for (const auto& [without, number] : limits) {
    const PlannedRun* run = runs.of(number);
    if (run == nullptr)
      refused(without, number);
    else if (run->result.step_time_s < step * (1 - kSmallest))
      explanation.limits.push_back({without, run->result.step_time_s});
  }
  // Where samples come too late, there is nothing to gain from the rest.
  const double exposed = explanation.result.exposed_comm_s;
  if (exposed > 0 && explanation.result.exposed_input_s.value_or(0) == 0)
    explanation.limits.push_back({"communication", step - exposed});
  std::stable_sort(
      explanation.limits.begin(), explanation.limits.end(),
      [](const StepLimit& a, const StepLimit& b) { return a.step_time_s < b.step_time_s; });

  for (const auto& [n, number] : scales) {
    const PlannedRun* run = runs.of(number);
    if (run == nullptr) continue;  // refused, such as one node less than there are servers
    const Result& r = run->result;
    explanation.scaling.push_back(
        {n, r.step_time_s, r.speedup, r.scaling_efficiency, r.step_time_interval_s});
  }
  if (options.measured && !explanation.is_partial) {
    try {
      explanation.measured = measured_step(explanation, variants, experiment, base,
                                           to_seconds(*options.measured), on_progress);
    } catch (const Interrupted&) {
      if (!options.keeps_partial) throw;
      explanation.is_partial = true;
    }
  }
  return explanation;
}

double Jump::size_pct() const {
  return std::max(std::abs(less_pct), std::abs(more_pct));
}

std::string Jump::change() const {
  if (messages[0] != messages[1] || messages[2] != messages[1]) {
    return messages[0] == messages[2]
               ? fmt::format("{}, else {}", messages[0], messages[1])
               : fmt::format("{}, {}, {}", messages[0], messages[1], messages[2]);
  }
  return fmt::format("{}{}", messages[1], replans ? ", of other sizes" : "");
}

std::int64_t Explanation::knee() const {
  for (std::size_t i = 0; i + 1 < scaling.size(); ++i) {
    if (scaling[i + 1].nodes != 2 * scaling[i].nodes) continue;
    if (scaling[i + 1].speedup < 1.5 * scaling[i].speedup) return scaling[i].nodes;
  }
  return 0;
}

double Explanation::compute_share() const {
  if (result.layout || result.attribution.empty())
    return result.compute_time_s / result.step_time_s;
  double passes = 0;
  for (const Cause& c : result.attribution) {
    if (c.cause == "forward pass" || c.cause == "backward pass") passes += c.seconds;
  }
  return passes / result.step_time_s;
}

/// What shares are of.
std::string Explanation::whole() const {
  return result.layout || result.attribution.empty() ? "step" : "critical path";
}

std::string Explanation::bottleneck() const {
  const double step = result.step_time_s;
  const double compute = compute_share();
  for (const StepLimit& limit : limits) {
    const double saved = 1 - limit.step_time_s / step;
    if (limit.without == "communication") continue;
    if (saved < compute && limit.without != kSamples) continue;  // samples hold up all the rest
    return fmt::format("{}: without them a step takes {} ms, {:.1f} % less", limit.without,
                       milliseconds(limit.step_time_s), saved * 100);
  }
  if (compute >= 0.5) return fmt::format("compute: {:.1f} % of the {}", compute * 100, whole());
  const auto all = std::ranges::find(limits, "communication", &StepLimit::without);
  if (const double saved = all != limits.end() ? 1 - all->step_time_s / step : 0; saved > compute) {
    return fmt::format("communication: without it a step takes {} ms, {:.1f} % less",
                       milliseconds(all->step_time_s), saved * 100);
  }
  return fmt::format("none alone: compute is {:.1f} % of the {}, and nothing else saves as much",
                     compute * 100, whole());
}

std::string Explanation::text() const {
  const double step = result.step_time_s;
  std::string text =
      fmt::format("{}: a step takes {} ms on {} worker{}\n\n", name, milliseconds(step),
                  result.workers, result.workers == 1 ? "" : "s");
  text += fmt::format("bottleneck: {}\n", bottleneck());
  if (result.memory && result.memory->is_too_much()) {
    text += fmt::format("memory: {:.4g} GB at least, of {:.4g} GB: it does not fit\n",
                        static_cast<double>(result.memory->total().count) / 1e9,
                        static_cast<double>(result.memory->device->count) / 1e9);
  }
  if (!result.attribution.empty()) {
    TextTable causes({whole(), "resource", "ms", "share"});
    for (const Cause& c : result.attribution) {
      causes.add({c.cause, c.resource, milliseconds(c.seconds),
                  fmt::format("{:.1f} %", c.seconds / step * 100)});
    }
    text += fmt::format("\n{}", causes.text());
  }
  TextTable without({"without", "step ms", "less"});
  for (const StepLimit& limit : limits) {
    without.add({limit.without, milliseconds(limit.step_time_s),
                 fmt::format("{:.1f} %", (1 - limit.step_time_s / step) * 100)});
  }
  if (!limits.empty()) text += fmt::format("\n{}", without.text());
  TextTable changes({"1 % more of", "which is", "changes the step by"});
  for (const Elasticity& e : elasticities)
    changes.add({e.pointer, e.value, fmt::format("{:+.4f} %", e.per_cent)});
  if (!elasticities.empty()) text += fmt::format("\n{}", changes.text());
  TextTable turns(
      {"the step bends or jumps with", "which is", "1 % less", "1 % more", "messages a step"});
  for (const Jump& jump : jumps) {
    turns.add({jump.pointer, jump.value, fmt::format("{:+.4f} %", jump.less_pct),
               fmt::format("{:+.4f} %", jump.more_pct), jump.change()});
  }
  if (!jumps.empty()) text += fmt::format("\n{}", turns.text());
  TextTable scales({"nodes", "step ms", "speedup", "efficiency %"});
  for (const ScalePoint& point : scaling) {
    scales.add({fmt::format("{}", point.nodes), milliseconds(point.step_time_s),
                fmt::format("{:.2f}", point.speedup),
                fmt::format("{:.1f}", point.scaling_efficiency * 100)});
  }
  if (!scaling.empty()) text += fmt::format("\n{}", scales.text());
  if (knee() > 0)
    text += fmt::format("\nfrom {} node{} on, twice as many gain less than 1.5 times the speed\n",
                        knee(), knee() == 1 ? "" : "s");
  if (!fixed.empty()) text += "\nnot varied, as a change is refused:\n";
  for (const Fixed& each : fixed) {
    const bool says_it = each.why.starts_with(each.name);
    text += fmt::format("  {}{}\n", says_it ? "" : each.name + ": ", each.why);
  }
  if (measured) text += fmt::format("\n{}", measured->text(step, result.step_time_interval_s));
  if (!result.domain.is_validated()) text += fmt::format("\n{}\n", result.domain.text());
  if (is_partial) text += "\ninterrupted: what was found until then\n";
  return text;
}

Json Explanation::json() const {
  Json sensitive = Json::array();
  for (const Elasticity& e : elasticities)
    sensitive.push_back({{"pointer", e.pointer}, {"value", e.value}, {"elasticity", e.per_cent}});
  Json turns = Json::array();
  for (const Jump& jump : jumps) {
    turns.push_back({{"pointer", jump.pointer},
                     {"value", jump.value},
                     {"less_pct", jump.less_pct},
                     {"more_pct", jump.more_pct},
                     {"messages", jump.messages},
                     {"replans", jump.replans}});
  }
  Json less = Json::array();
  for (const StepLimit& limit : limits)
    less.push_back({{"without", limit.without}, {"step_time_s", limit.step_time_s}});
  Json scales = Json::array();
  for (const ScalePoint& point : scaling) {
    scales.push_back({{"nodes", point.nodes},
                      {"step_time_s", point.step_time_s},
                      {"speedup", point.speedup},
                      {"scaling_efficiency", point.scaling_efficiency},
                      {"step_time_interval_s",
                       {point.step_time_interval_s.low, point.step_time_interval_s.high}}});
  }
  Json not_varied = Json::array();
  for (const Fixed& each : fixed)
    not_varied.push_back({{"name", each.name}, {"why", each.why}});
  Json all{{"name", name},
           {"step_time_s", result.step_time_s},
           {"compute_time_s", result.compute_time_s},
           {"bottleneck", bottleneck()},
           {"attribution", causes_json(result.attribution)},
           {"limits", less},
           {"elasticities", sensitive},
           {"jumps", turns},
           {"scaling", scales},
           {"knee_nodes", knee()},
           {"not_varied", not_varied},
           {"domain", Json::parse(result.domain.json())}};
  if (result.memory && result.memory->device) all["fits"] = !result.memory->is_too_much();
  if (measured) all["measured"] = measured->json();
  if (is_partial) all["partial"] = true;
  return all;
}

}  // namespace steptime
