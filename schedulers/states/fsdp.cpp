// PyTorch's fully sharded data parallelism: a unit's weights are gathered before it computes, and
// its gradients summed up in parts behind its backward pass. One communicator works in order, so
// that without prefetch the gathering of the next unit waits for this one's backward pass and its
// reduce-scatter.
//
// Parameters: units (layers of the model in each; embedding and loss are units of their own),
// reshard (by default yes, but with a pipeline no), prefetch, gathers (units that are gathered at a
// time at most, limit_all_gathers), shard_group (ranks; hybrid sharding: their shards are then
// summed up over the groups).
// Source: Zhao et al., 2304.11277 sections 3.3 and 4.4; torchtitan docs/fsdp.md.
#include "schedulers/states/unit_states.h"

#include <memory>

namespace steptime {
namespace {

const Params& fsdp_params() {
  static const Params params{
      {.key = "units",
       .kind = Kind::kInteger,
       .help = "layers of the model that are gathered together",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 1e6}},
      {.key = "reshard",
       .kind = Kind::kBoolean,
       .help = "weights are let go between forward and backward pass; default: without a pipeline",
       .need = Need::kOptional},
      {.key = "prefetch",
       .kind = Kind::kText,
       .help = "in which passes the next unit is gathered beside this one; a forward pass does so "
               "by itself, as its host runs ahead",
       .need = Need::kDefault,
       .fallback = "backward",
       .words = {"backward", "forward", "none"}},
      {.key = "gathers",
       .kind = Kind::kInteger,
       .help = "units that are gathered at a time at most",
       .need = Need::kDefault,
       .fallback = 2,
       .range = {.low = 1, .high = 1e6}},
      {.key = "shard_group",
       .kind = Kind::kInteger,
       .help =
           "ranks that share one copy of the states; default: all that have the same parameters",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e6}}};
  return params;
}

const bool kRegistered = StateKinds::instance().add(
    "fsdp", "weights, gradients and states in parts, gathered unit by unit", fsdp_params(),
    [](const Config& c) {
      std::optional<bool> reshards;
      if (c.has("reshard")) reshards = c.get<bool>("reshard");
      return std::make_unique<UnitStates>(
          UnitGathering{.blocks = c.get<std::int64_t>("units"),
                        .prefetches = c.get<std::string>("prefetch") == "backward",
                        .at_once = c.get<std::int64_t>("gathers")},
          reshards, c.has("shard_group") ? c.get<std::int64_t>("shard_group") : 0);
    });

}  // namespace
}  // namespace steptime
