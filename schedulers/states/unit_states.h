// States whose weights are cut, too, and gathered unit by unit when they are used.
#pragma once
#include "sim/layouts/states.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace steptime {

/// ZeRO stage 3 and FSDP, which cut all three; in shard groups of `group` ranks (0: all). Parts
/// travel with `share` of the adapters' bandwidth.
class UnitStates final : public States {
 public:
  UnitStates(UnitGathering gathering, std::optional<bool> reshards, std::int64_t group,
             double share = 1)
      : gathering_(gathering), reshards_(reshards), group_(group), share_(share) {}
  double share_of_adapters() const override { return share_; }
  StateParts parts(std::int64_t ranks) const override {
    const std::int64_t shards = shard_group(ranks);
    return {shards, shards, shards};
  }
  std::string refusal(std::int64_t ranks) const override {
    if (ranks == 1 || group_ == 0 || ranks % group_ == 0) return "";
    return fmt::format(
        "found shard groups of {}, expected a divisor of the {} ranks that hold the "
        "same parameters",
        group_, ranks);
  }
  std::int64_t shard_group(std::int64_t ranks) const override {
    return group_ == 0 ? ranks : std::min(group_, ranks);
  }
  Operation sum() const override { return Operation::kReduceScatter; }
  bool sums_every_micro_batch() const override { return true; }
  /// With a pipeline weights are gathered once a step by default.
  std::optional<UnitGathering> gathering(bool has_pipeline) const override {
    UnitGathering gathering = gathering_;
    gathering.reshards = reshards_.value_or(!has_pipeline);
    return gathering;
  }

 private:
  UnitGathering gathering_;
  std::optional<bool> reshards_;
  std::int64_t group_;
  double share_;
};

}  // namespace steptime
