#include "sim/experiment/variants.h"

#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr const char* kComputeTime = "/workload/compute_time";

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
    /// No less than a picosecond: some times must be positive.
    std::string operator()(Duration d) const {
      return format_quantity(std::max(Duration{1}, from_seconds(to_seconds(d) * factor)));
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

/// A schedule that keeps to plans, where there are any for the units at hand, and writes down what
/// was planned. One run is one thread's.
class RecordingSchedule final : public Replanned {
 public:
  RecordingSchedule(std::shared_ptr<const Schedule> of, const Plans* held, Plans& made)
      : Replanned(std::move(of)), held_(held), made_(made) {}

  BucketPlan plan(std::span<const GradientUnit> units,
                  const Collective& collective) const override {
    std::vector<std::int64_t> sizes;
    for (const GradientUnit& unit : units)
      sizes.push_back(unit.bytes.count);
    const bool holds = held_ != nullptr && held_->contains(sizes);
    BucketPlan plan = holds ? held_->at(sizes) : of().plan(units, collective);
    made_[std::move(sizes)] = plan;
    return plan;
  }

 private:
  const Plans* held_;
  Plans& made_;
};

}  // namespace

std::string scaled_text(const std::string& text, double factor) {
  std::size_t end = 0;
  const double number = std::stod(text, &end);
  return fmt::format("{:.4g}{}", number * factor, text.substr(end));
}

bool same_plans(const Plans& a, const Plans& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.sizes == y.second.sizes &&
           x.second.after_backward == y.second.after_backward &&
           x.second.longest == y.second.longest;
  });
}

Variants::Variants(const std::shared_ptr<const Document>& config)
    : file_(config->file), config_(resolved(config->root)) {
  config_.erase("sweep");
  config_.erase("claims");
  for (const char* section : {"workload", "cluster", "strategy"})
    find_places(config_.at(section), Json::json_pointer(std::string("/") + section),
                std::string("/") + section, places_);
}

void Variants::add_compute_time(double seconds) {
  if (places_.contains(kComputeTime) || !(seconds > 0)) return;
  const Duration time = from_seconds(seconds);
  places_.emplace(
      kComputeTime,
      Place{{Json::json_pointer(kComputeTime)}, time, fmt::format("{:.3f} ms", seconds * 1e3)});
}

void Variants::multiply(const Place& place, double factor, Json& config) const {
  for (const auto& pointer : place.pointers) {
    config[pointer] = scaled(
        config_.contains(pointer) ? *quantity_in(config_.at(pointer)) : place.quantity, factor);
  }
}

Json Variants::with(const Place& place, double factor) const {
  Json changed = config_;
  multiply(place, factor, changed);
  return changed;
}

Json Variants::without_slower_workers() const {
  Json config = config_;
  bool is_any = false;
  const auto take_out = [&](Json& section, const char* key) {
    is_any |= section.value(key, 0.) > 0;
    section.erase(key);
  };
  if (const Json::json_pointer at("/strategy/embedding"); config.contains(at))
    take_out(config[at], "jitter");
  if (const Json::json_pointer at("/run/variation"); config.contains(at)) {
    Json& variation = config[at];
    for (const char* chance : {"spread", "jitter", "straggle_chance", "slow_chance"})
      take_out(variation, chance);
    for (const char* how : {"straggle_factor", "slow_speed"})
      variation.erase(how);
    Json kept = Json::array();
    for (const Json& gpu : variation.value("gpus", Json::array())) {
      if (gpu.at("speed").get<double>() < 1)
        is_any = true;
      else
        kept.push_back(gpu);
    }
    variation["gpus"] = std::move(kept);
  }
  return is_any ? config : Json();
}

PlannedRun Variants::run(const Json& config, const Plans* held, const OnProgress& on_progress,
                         std::vector<SentBucket>* buckets) const {
  Experiment e = read_experiment(std::make_shared<Document>(Document{file_, config}));
  PlannedRun run;
  e.schedule = std::make_shared<RecordingSchedule>(e.schedule, held, run.plans);
  run.result = simulate(e, buckets, on_progress);
  return run;
}

}  // namespace steptime
