// How ranks that work on the same parameters share what belongs to these: weights, gradients and
// the optimizer's states. Implemented in schedulers/states/, one file each.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/registry.h"

#include <cstdint>
#include <optional>
#include <string>

namespace steptime {

/// Into how many parts something is cut, of which a rank holds one.
struct StateParts {
  std::int64_t weights = 1;
  std::int64_t gradients = 1;
  std::int64_t optimizer = 1;
};

/// How a unit's weights are gathered before a rank computes with them, and let go behind that.
struct UnitGathering {
  std::int64_t blocks = 1;   ///< layers of the model in a unit
  bool reshards = true;      ///< between forward and backward pass the weights are let go
  bool prefetches = true;    ///< the next unit of a backward pass, beside this one
  std::int64_t at_once = 2;  ///< units that are gathered at a time at most
};

/// What is cut must be consistent, as tests/property/states_test.cpp checks of each that is
/// registered: weights in parts are gathered (`gathering`); where they are whole but states are in
/// parts, each rank updates a part and all gather these (`gathers_updates`), also behind an
/// all-reduce of gradients; gradients in parts are summed by reduce-scatter after every
/// micro-batch.
class States {
 public:
  static constexpr const char* kNoun = "states";
  virtual ~States() = default;
  /// Where so many ranks have the same parameters.
  virtual StateParts parts(std::int64_t ranks) const = 0;
  /// Why they cannot be cut over so many ranks; else empty.
  virtual std::string refusal(std::int64_t /*ranks*/) const { return ""; }
  /// Among how many of them the parts are spread; a divisor of `ranks` where these are not refused.
  /// Each part is then summed up over the ranks that hold it. What is cut at all is cut into as
  /// many parts as this.
  virtual std::int64_t shard_group(std::int64_t ranks) const { return ranks; }
  /// What sums gradients up: an all-reduce, or a reduce-scatter where each rank keeps a part.
  virtual Operation sum() const = 0;
  /// After each micro-batch's backward pass; else after the last one's.
  virtual bool sums_every_micro_batch() const { return false; }
  /// Weights are updated in parts, which a step begins by gathering.
  virtual bool gathers_updates() const { return false; }
  /// Of units that are gathered when they are used; none: weights are there all the time.
  virtual std::optional<UnitGathering> gathering(bool /*has_pipeline*/) const { return {}; }
  /// Of the bandwidth of the adapters, what the software reaches that cuts and joins the parts.
  virtual double share_of_adapters() const { return 1; }
  /// Parameters of a gradient bucket where the schedule does not say; none: the schedule does.
  virtual std::optional<std::int64_t> bucket(std::int64_t /*ranks*/) const { return {}; }
};
using StateKinds = Registry<States>;

}  // namespace steptime
