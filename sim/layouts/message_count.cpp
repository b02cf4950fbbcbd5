#include "sim/layouts/message_count.h"

#include <cstdint>
#include <map>
#include <utility>

namespace steptime {
namespace {

/// Messages of collectives, each size counted once.
class Counted {
 public:
  double of(const Collective& collective, Bytes bytes) {
    const auto [at, is_new] = known_.try_emplace({&collective, bytes.count});
    if (!is_new) return at->second;
    for (const auto& program : collective.programs(bytes))
      at->second += program->messages();
    return at->second;
  }

 private:
  std::map<std::pair<const Collective*, std::int64_t>, double> known_;
};

}  // namespace

double messages_of(const LayoutPlan& plan) {
  Counted counted;
  const double ranks = plan.layout.ranks();
  const double of_place = ranks / plan.layout.pipeline();
  double messages = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StageWork& stage = plan.stages[s];
    const std::int32_t first = plan.group(GroupKind::kPipeline, 0)[s % plan.hops.size()];
    for (const StageLayer& layer : stage.layers) {
      for (const Legs* legs : {&layer.forward, &layer.backward, &layer.weights}) {
        for (const Leg& leg : *legs) {
          const auto& [kind, collective, bytes] = leg.exchange;
          if (collective == nullptr) continue;
          const auto members = static_cast<double>(plan.group(kind, first).size());
          const bool is_ring = collective == plan.costs(kind).send.get();
          messages += of_place / members * (is_ring ? members : counted.of(*collective, bytes));
        }
      }
    }
    if (s + 1 == plan.stages.size()) continue;
    messages += 2 * of_place;
    if (plan.gathered_boundary.count == 0) continue;
    messages += 2 * of_place / plan.layout.tensor() *
                counted.of(*plan.costs(GroupKind::kTensor).all_gather, plan.gathered_boundary);
  }
  messages *= plan.micro_batches;
  if (plan.sharers() == 1) return messages;
  const bool each_time = plan.states->sums_every_micro_batch();
  for (const StageWork& stage : plan.stages) {
    for (const GradientBucket& bucket : stage.buckets) {
      const auto members = static_cast<double>(plan.group(GroupKind::kShards, 0).size());
      messages += (each_time ? plan.micro_batches : 1) * of_place / members *
                  counted.of(*plan.costs(GroupKind::kShards).all_reduce, bucket.bytes);
    }
  }
  return messages;
}

}  // namespace steptime
