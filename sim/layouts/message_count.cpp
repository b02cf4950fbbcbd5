#include "sim/layouts/message_count.h"

#include "sim/layouts/rank_states.h"

#include <algorithm>
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

namespace {

/// Of what shares states, in a stage: sums of its buckets, over their replicas, too, and
/// gatherings.
double calls_of_states(const LayoutPlan& plan, const StageWork& stage) {
  if (plan.sharers() == 1) return 0;
  const std::int64_t shards = plan.shard_group();
  const double sums = (shards > 1 ? 1 : 0) + (shards < plan.sharers() ? 1 : 0);
  const double times = plan.states->sums_every_micro_batch() ? plan.micro_batches : 1;
  double calls = sums * times;
  if (gathers_updates(plan)) ++calls;
  if (const auto gathering = gathering_of(plan))
    calls += gathering->reshards ? 2.0 * plan.micro_batches : 1;
  return calls * static_cast<double>(stage.buckets.size());
}

}  // namespace

double calls_of(const LayoutPlan& plan) {
  const std::int32_t places = plan.layout.pipeline();
  double calls = plan.tied.count > 0 ? 2 : 0;
  for (std::int32_t place = 0; place < places; ++place)
    calls += static_cast<double>(plan.order->passes(plan.shape(), place));
  for (const StageWork& stage : plan.stages) {
    double exchanges = 0;
    for (const StageLayer& layer : stage.layers) {
      for (const Legs* legs : {&layer.forward, &layer.backward, &layer.weights}) {
        exchanges +=
            static_cast<double>(std::count_if(legs->begin(), legs->end(), [](const Leg& leg) {
              return leg.exchange.collective != nullptr;
            }));
      }
    }
    calls += exchanges * plan.micro_batches + calls_of_states(plan, stage);
  }
  const double boundaries = 2 * static_cast<double>(plan.stages.size() - 1);
  const double each = (places > 1 ? 1 : 0) + (plan.gathered_boundary.count > 0 ? 1 : 0);
  return calls + boundaries * each * plan.micro_batches;
}

}  // namespace steptime
