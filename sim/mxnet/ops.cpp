#include "sim/mxnet/ops.h"

#include "sim/core/error.h"

#include <utility>

#include <fmt/format.h>

namespace steptime {

Ops::Variable Ops::add_variable() {
  last_.push_back(kNoUse);
  return static_cast<Variable>(last_.size() - 1);
}

Ops::PoolId Ops::add_pool(std::int64_t threads, PoolOrder order) {
  pools_.push_back({threads, order});
  return static_cast<PoolId>(pools_.size() - 1);
}

void Ops::add(std::uint32_t label, PoolId pool, std::int32_t priority,
              std::span<const Variable> reads, std::span<const Variable> writes) {
  STEPTIME_CHECK(operations_.size() < kMostOperations, "a step has too many operations");
  const auto number = static_cast<std::uint32_t>(operations_.size());
  const auto first = static_cast<UseId>(uses_.size());
  const auto add_use = [&](Variable variable, bool is_write) {
    const auto id = static_cast<UseId>(uses_.size());
    UseId& last = last_[variable];
    if (last != kNoUse && last >= first)
      throw InternalError(fmt::format("an operation names variable {} twice", variable));
    const UseId after = last == kNoUse ? id | kNextStep : std::exchange(uses_[last].next, id);
    last = id;
    uses_.push_back({variable, number, after, is_write});
  };
  for (const Variable variable : reads)
    add_use(variable, false);
  for (const Variable variable : writes)
    add_use(variable, true);
  const bool by_priority = pools_[pool].order == PoolOrder::kPriority;
  operations_.push_back({label, by_priority ? priority : 0, pool, first,
                         static_cast<std::uint32_t>(uses_.size() - first)});
}

}  // namespace steptime
