#include "sim/experiment/explain.h"

#include "sim/core/error.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/figures.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr double kStep = 1.01;      // by which a quantity is changed
constexpr double kSmallest = 5e-5;  // an elasticity that is shown
constexpr double kNoTime = 1e-9;    // what a limit makes of times
constexpr const char* kComputeTime = "/workload/compute_time";

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f}", seconds * 1e3);
}

using Quantity = std::variant<Duration, Bandwidth, TimePerByte, Bytes>;

template <class T>
std::optional<Quantity> parsed(const std::string& text) {
  try {
    return parse_quantity<T>(text);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::optional<Quantity> quantity_in(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto text = value.get<std::string>();
  for (const auto& found : {parsed<Duration>(text), parsed<Bandwidth>(text),
                            parsed<TimePerByte>(text), parsed<Bytes>(text)}) {
    if (found) return found;
  }
  return std::nullopt;
}

std::string scaled(const Quantity& quantity, double factor) {
  struct Scale {
    double factor;
    std::string operator()(Duration d) const {
      return format_quantity(from_seconds(to_seconds(d) * factor));
    }
    std::string operator()(Bandwidth b) const {
      return format_quantity(Bandwidth{b.bytes_per_second * factor});
    }
    std::string operator()(TimePerByte t) const {
      return format_quantity(TimePerByte{t.seconds_per_byte * factor});
    }
    std::string operator()(Bytes b) const {
      return format_quantity(Bytes{std::llround(static_cast<double>(b.count) * factor)});
    }
  };
  return std::visit(Scale{factor}, quantity);
}

bool is_zero(const Quantity& quantity) {
  struct Zero {
    bool operator()(Duration d) const { return d == Duration{}; }
    bool operator()(Bandwidth b) const { return b.bytes_per_second == 0; }
    bool operator()(TimePerByte t) const { return t.seconds_per_byte == 0; }
    bool operator()(Bytes b) const { return b.count == 0; }
  };
  return std::visit(Zero{}, quantity);
}

/// What a step may wait for, whatever else it does.
constexpr const char* kSamples = "waits for samples";

/// Places of a config that hold one quantity, or those of a list's elements.
struct Place {
  std::vector<Json::json_pointer> pointers;
  Quantity quantity;  ///< at the first of them
  std::string text;
};
using Places = std::map<std::string, Place>;

void find_places(const Json& node, const Json::json_pointer& at, const std::string& name,
                 Places& places) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items())
      find_places(value, at / key, join_pointer(name, key), places);
    return;
  }
  if (node.is_array()) {
    for (std::size_t i = 0; i < node.size(); ++i)
      find_places(node[i], at / i, fmt::format("{}/*", name), places);
    return;
  }
  const auto quantity = quantity_in(node);
  if (!quantity || is_zero(*quantity)) return;
  Place& place =
      places.try_emplace(name, Place{{}, *quantity, node.get<std::string>()}).first->second;
  place.pointers.push_back(at);
}

/// The experiment of a config, changed.
class Variants {
 public:
  explicit Variants(const std::shared_ptr<const Document>& config)
      : file_(config->file), config_(resolved(config->root)) {
    config_.erase("sweep");
    config_.erase("claims");
    for (const char* section : {"workload", "cluster", "strategy"})
      find_places(config_.at(section), Json::json_pointer(std::string("/") + section),
                  std::string("/") + section, places_);
  }

  const Places& places() const { return places_; }
  const Json& config() const { return config_; }
  /// The trace's own compute time, so that it can be changed like one that the config names.
  void add_compute_time(double seconds) {
    if (places_.contains(kComputeTime) || !(seconds > 0)) return;
    const Duration time = from_seconds(seconds);
    places_.emplace(kComputeTime, Place{{Json::json_pointer(kComputeTime)},
                                        time,
                                        fmt::format("{} ms", milliseconds(seconds))});
  }

  Result run(const Json& config, const OnProgress& on_progress) const {
    return simulate(read_experiment(std::make_shared<Document>(Document{file_, config})), nullptr,
                    on_progress);
  }
  Json with(const Place& place, double factor) const {
    Json changed = config_;
    for (const auto& pointer : place.pointers) {
      changed[pointer] = scaled(
          config_.contains(pointer) ? *quantity_in(config_.at(pointer)) : place.quantity, factor);
    }
    return changed;
  }
  /// All quantities below /cluster and /strategy of this type, times a factor.
  template <class T>
  Json with_all(double factor) const {
    Json changed = config_;
    for (const auto& [name, place] : places_) {
      if (!std::holds_alternative<T>(place.quantity) || name.starts_with("/workload")) continue;
      for (const auto& pointer : place.pointers)
        changed[pointer] = scaled(*quantity_in(config_.at(pointer)), factor);
    }
    return changed;
  }

 private:
  std::string file_;
  Json config_;
  Places places_;
};

/// Shares a listener's range among parts that take about the same time, and tells it of the begin
/// of each, as a run of one step says nothing itself.
class Parts {
 public:
  Parts(OnProgress listener, double count) : listener_(std::move(listener)), count_(count) {}
  OnProgress next() {
    if (!listener_) return {};
    const double begin = done_++ / count_;
    listener_(std::min(1.0, begin));
    return [this, begin](double share) { listener_(std::min(1.0, begin + share / count_)); };
  }

 private:
  OnProgress listener_;
  double count_;
  double done_ = 0;
};

}  // namespace

Explanation explain(const std::shared_ptr<const Document>& config, const OnProgress& on_progress) {
  auto as_it_is = std::make_shared<Document>(*config);
  as_it_is->root.erase("sweep");
  if (as_it_is->root.contains("run") && as_it_is->root["run"].is_object())
    as_it_is->root["run"].erase("convergence");  // a step takes as long with or without
  const Experiment experiment = read_experiment(as_it_is);
  Variants variants(as_it_is);
  const std::int64_t nodes = experiment.cluster->nodes;
  std::vector<std::int64_t> node_counts;
  for (std::int64_t n = 1; n <= 4 * nodes; n *= 2) {
    node_counts.push_back(n);
    if (n < nodes && 2 * n > nodes) node_counts.push_back(nodes);
  }
  const double runs = 1 + 2 * (static_cast<double>(variants.places().size()) + 1) + 5 +
                      static_cast<double>(node_counts.size());
  Parts parts(on_progress, runs);

  Explanation explanation;
  explanation.name = experiment.name;
  explanation.result = simulate(experiment, &explanation.buckets, parts.next());
  // What is varied is the config with its defaults written out: it has to be a config by itself.
  variants.run(variants.config(), {});
  const double step = explanation.result.step_time_s;
  // compute_time is that of one micro-batch.
  if (variants.config().at("workload").value("accumulate", 1) == 1)
    variants.add_compute_time(explanation.result.compute_time_s);

  for (const auto& [name, place] : variants.places()) {
    try {
      const double more = variants.run(variants.with(place, kStep), parts.next()).step_time_s;
      const double less = variants.run(variants.with(place, 1 / kStep), parts.next()).step_time_s;
      const double per_cent = std::log(more / less) / (2 * std::log(kStep));
      if (std::abs(per_cent) < kSmallest) continue;
      explanation.elasticities.push_back({name, place.text, per_cent});
    } catch (const InputError&) {
      explanation.fixed.push_back(name);
    }
  }
  std::stable_sort(explanation.elasticities.begin(), explanation.elasticities.end(),
                   [](const Elasticity& a, const Elasticity& b) {
                     return std::abs(a.per_cent) > std::abs(b.per_cent);
                   });

  const auto add_limit = [&](const char* without, const Json& changed) {
    try {
      const double time = variants.run(changed, parts.next()).step_time_s;
      if (time < step * (1 - kSmallest)) explanation.limits.push_back({without, time});
    } catch (const InputError&) {
      explanation.fixed.emplace_back(without);
    }
  };
  add_limit("start-ups and latencies", variants.with_all<Duration>(kNoTime));
  add_limit("limits of bandwidth", variants.with_all<Bandwidth>(1 / kNoTime));
  add_limit("times per byte of sums and hosts", variants.with_all<TimePerByte>(kNoTime));
  Json endless = variants.config();
  if (endless["workload"].erase("input") > 0) add_limit(kSamples, endless);
  Json apart = variants.config();
  apart["workload"]["overlap"] = "none";
  add_limit("costs of overlap", apart);
  // Where samples come too late, there is nothing to gain from the rest.
  if (explanation.result.compute_time_s < step &&
      explanation.result.exposed_input_s.value_or(0) == 0)
    explanation.limits.push_back({"communication", explanation.result.compute_time_s});
  std::stable_sort(
      explanation.limits.begin(), explanation.limits.end(),
      [](const StepLimit& a, const StepLimit& b) { return a.step_time_s < b.step_time_s; });

  for (const std::int64_t n : node_counts) {
    Json changed = variants.config();
    changed["cluster"]["nodes"] = n;
    try {
      const Result r = variants.run(changed, parts.next());
      explanation.scaling.push_back(
          {n, r.step_time_s, r.speedup, r.scaling_efficiency, r.step_time_interval_s});
    } catch (const InputError&) {  // such as one node less than there are servers
      continue;
    }
  }
  return explanation;
}

std::int64_t Explanation::knee() const {
  for (std::size_t i = 0; i + 1 < scaling.size(); ++i) {
    if (scaling[i + 1].nodes != 2 * scaling[i].nodes) continue;
    if (scaling[i + 1].speedup < 1.5 * scaling[i].speedup) return scaling[i].nodes;
  }
  return 0;
}

std::string Explanation::bottleneck() const {
  const double step = result.step_time_s;
  const double compute = result.compute_time_s / step;
  for (const StepLimit& limit : limits) {
    const double saved = 1 - limit.step_time_s / step;
    if (limit.without == "communication") continue;
    if (saved < compute && limit.without != kSamples) continue;  // samples hold up all the rest
    return fmt::format("{}: without them a step takes {} ms, {:.1f} % less", limit.without,
                       milliseconds(limit.step_time_s), saved * 100);
  }
  if (compute >= 0.5) return fmt::format("compute: {:.1f} % of the step", compute * 100);
  return fmt::format("none alone: compute is {:.1f} % of the step, and nothing else saves as much",
                     compute * 100);
}

std::string Explanation::text() const {
  const double step = result.step_time_s;
  std::string text =
      fmt::format("{}: a step takes {} ms on {} worker{}\n\n", name, milliseconds(step),
                  result.workers, result.workers == 1 ? "" : "s");
  text += fmt::format("bottleneck: {}\n", bottleneck());
  if (!result.attribution.empty()) {
    TextTable causes({"critical path", "resource", "ms", "share"});
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
  TextTable scales({"nodes", "step ms", "speedup", "efficiency %"});
  for (const ScalePoint& point : scaling) {
    scales.add({fmt::format("{}", point.nodes), milliseconds(point.step_time_s),
                fmt::format("{:.2f}", point.speedup),
                fmt::format("{:.1f}", point.scaling_efficiency * 100)});
  }
  text += fmt::format("\n{}", scales.text());
  if (knee() > 0)
    text += fmt::format("\nfrom {} node{} on, twice as many gain less than 1.5 times the speed\n",
                        knee(), knee() == 1 ? "" : "s");
  if (!fixed.empty())
    text += fmt::format("\nnot varied, as a change is refused: {}\n", fmt::join(fixed, ", "));
  if (!result.domain.is_validated()) text += fmt::format("\n{}\n", result.domain.text());
  return text;
}

Json Explanation::json() const {
  Json sensitive = Json::array();
  for (const Elasticity& e : elasticities)
    sensitive.push_back({{"pointer", e.pointer}, {"value", e.value}, {"elasticity", e.per_cent}});
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
  return {{"name", name},
          {"step_time_s", result.step_time_s},
          {"compute_time_s", result.compute_time_s},
          {"bottleneck", bottleneck()},
          {"attribution", causes_json(result.attribution)},
          {"limits", less},
          {"elasticities", sensitive},
          {"scaling", scales},
          {"knee_nodes", knee()},
          {"not_varied", fixed},
          {"domain", Json::parse(result.domain.json())}};
}

}  // namespace steptime
