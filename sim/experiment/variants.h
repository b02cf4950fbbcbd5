// The experiment of a config with its quantities changed, and with a plan of messages that is its
// own or was made by another run.
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"
#include "sim/core/limits.h"
#include "sim/core/units.h"
#include "sim/experiment/result.h"
#include "sim/step/schedule.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace steptime {

using Quantity = std::variant<Duration, Bandwidth, TimePerByte, Bytes>;

/// Places of a config that hold one quantity, or those of a list's elements.
struct Place {
  std::vector<Json::json_pointer> pointers;
  Quantity quantity;  ///< at the first of them
  std::string text;
};
/// By pointer; "*" stands for all elements of a list, which change together.
using Places = std::map<std::string, Place>;

/// What a quantity is after it was multiplied, with the unit that its text has: "45.25 us" times 2
/// is "90.5 us".
std::string scaled_text(const std::string& text, double factor);

/// What a schedule planned in a run, by the sizes in bytes of the units that it was asked for.
using Plans = std::map<std::vector<std::int64_t>, BucketPlan>;
bool same_plans(const Plans& a, const Plans& b);

struct PlannedRun {
  Result result;
  Plans plans;
};

class Variants {
 public:
  /// `config`: an experiment without a sweep, as `resolved` writes it out.
  explicit Variants(const std::shared_ptr<const Document>& config);

  const Places& places() const { return places_; }
  const Json& config() const { return config_; }
  /// The trace's own compute time, so that it can be changed like one that the config names.
  void add_compute_time(double seconds);

  Json with(const Place& place, double factor) const;
  /// All quantities below /cluster and /strategy of this type, times a factor.
  template <class T>
  Json with_all(double factor) const {
    Json changed = config_;
    for (const auto& [name, place] : places_) {
      if (!std::holds_alternative<T>(place.quantity) || name.starts_with("/workload")) continue;
      multiply(place, factor, changed);
    }
    return changed;
  }
  /// Without what makes workers slower than others, for the whole run or in a step; null where
  /// nothing does.
  Json without_slower_workers() const;
  /// Throws what read_experiment() and simulate() throw. `held`: the plans to keep to, where it has
  /// one for the units at hand; null: none.
  PlannedRun run(const Json& config, const Plans* held, const OnProgress& on_progress,
                 std::vector<SentBucket>* buckets = nullptr) const;

 private:
  void multiply(const Place& place, double factor, Json& config) const;

  std::string file_;
  Json config_;
  Places places_;
};

}  // namespace steptime
