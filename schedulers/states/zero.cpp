// ZeRO: ranks with the same parameters each keep a part of the optimizer's states (stage 1), of the
// gradients, too (2), and of the weights (3).
//
// Scope: stages 1 and 2 sum gradients up by reduce-scatter, update a part of the weights each, and
// begin a step by gathering these; stage 2 sums after every micro-batch, as its gradients are kept
// in parts only. Stage 3 is FSDP, a unit a layer, with its next unit gathered beside this one.
// Parameters: stage, share_of_adapters (1 but in software that cuts and joins parts slowly:
// DeepSpeed of 2021). Buckets, where no schedule says them: max(40e6, 1e6 d) parameters.
// Source: Rajbhandari et al., 1910.02054 section 5; Megatron-LM
// distributed_data_parallel_config.py (bucket_size).
#include "schedulers/states/unit_states.h"

#include <algorithm>
#include <memory>

namespace steptime {
namespace {

std::int64_t usual_bucket(std::int64_t ranks) {
  return std::max<std::int64_t>(40'000'000, 1'000'000 * ranks);
}

/// Stage 1.
class OptimizerParts : public States {
 public:
  StateParts parts(std::int64_t ranks) const override { return {.optimizer = ranks}; }
  Operation sum() const override { return Operation::kReduceScatter; }
  bool gathers_updates() const override { return true; }
  std::optional<std::int64_t> bucket(std::int64_t ranks) const override {
    return usual_bucket(ranks);
  }
};

/// Stage 2.
class GradientParts final : public OptimizerParts {
 public:
  StateParts parts(std::int64_t ranks) const override {
    return {.gradients = ranks, .optimizer = ranks};
  }
  bool sums_every_micro_batch() const override { return true; }
};

const bool kRegistered = StateKinds::instance().add(
    "zero", "optimizer's states in parts, then gradients, then weights",
    {{.key = "stage",
      .kind = Kind::kInteger,
      .help = "what is cut: 1 the optimizer's states, 2 and gradients, 3 and weights",
      .need = Need::kDefault,
      .fallback = 1,
      .range = {.low = 1, .high = 3}},
     {.key = "share_of_adapters",
      .kind = Kind::kNumber,
      .help =
          "of stage 3: what its software reaches of the adapters' bandwidth when it gathers and "
          "sums parts",
      .need = Need::kDefault,
      .fallback = 1,
      .range = {.low = 0, .high = 1, .low_is_allowed = false}}},
    [](const Config& c) -> std::unique_ptr<States> {
      const auto stage = c.get<std::int64_t>("stage");
      if (stage != 3 && c.has("share_of_adapters") && c.get<double>("share_of_adapters") != 1)
        c.fail("share_of_adapters", "unexpected but with stage 3");
      switch (stage) {
        case 1:
          return std::make_unique<OptimizerParts>();
        case 2:
          return std::make_unique<GradientParts>();
        default:
          return std::make_unique<UnitStates>(UnitGathering{}, std::nullopt, 0,
                                              c.get<double>("share_of_adapters"));
      }
    });

}  // namespace
}  // namespace steptime
