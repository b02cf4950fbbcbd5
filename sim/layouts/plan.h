// The step of a layout: what every stage of its pipeline computes and exchanges with a micro-batch,
// for its ranks' programs (stage_rank.h).
//
// Scope: the ranks of a stage have the same work and move as one, so that one program stands for
// them. Tensor exchanges: two all-reduces of a layer's tokens in each pass, with sequence
// parallelism a reduce-scatter and an all-gather each, and two more all-gathers of inputs that were
// not kept, beside the weights' gradients. Without it a tensor rank sends its part of the tokens to
// the next stage, which gathers them. Sources: Korthikanti et al., 2205.05198 figures 4 and 5;
// Narayanan et al., 2104.04473 section 4.1 (scatter and gather); for sums of inputs' gradients
// beside those of weights 2205.05198 section 6.1 and Megatron-LM@d07d29df megatron/mpu/layers.py
// (LinearWithGradAccumulationAndAsyncCommunication).
#pragma once
#include "sim/collective/collective.h"
#include "sim/core/units.h"
#include "sim/layouts/context_exchange.h"
#include "sim/layouts/layout.h"
#include "sim/layouts/pipeline_order.h"
#include "sim/layouts/recomputation.h"
#include "sim/layouts/states.h"
#include "sim/network/cluster.h"
#include "sim/step/schedule.h"
#include "sim/workload/model_work.h"
#include "sim/workload/overlap.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// What a rank spends the time of a step on.
enum class Spent : std::uint8_t {
  kCompute,
  kRecompute,
  kLogits,
  kBubble,  ///< the pipeline's: it waits for others' work
  kTensor,
  kContext,
  kPipeline,
  kGradients,
  kWeights,
  kOptimizer,
  kScales,  ///< products in 8 bits get scales, which depend on other ranks' values
  kOverlap  ///< what compute takes longer beside exchanges
};
inline constexpr std::size_t kSpent = 12;
std::string_view name_of(Spent what);

/// The groups that a rank is a member of.
enum class GroupKind : std::uint8_t {
  kTensor,
  kContext,
  kShards,    ///< ranks that share the states of the same parameters
  kReplicas,  ///< ranks that hold the same part of these
  kPipeline,  ///< the neighbours of the pipeline
  kEnds,      ///< its first and its last rank
  kAll
};
inline constexpr std::size_t kGroupKinds = 7;
std::string_view name_of(GroupKind kind);

/// The collectives of a group, each on the group's own part of the cluster.
struct GroupCosts {
  std::shared_ptr<const Collective> all_reduce;
  std::shared_ptr<const Collective> reduce_scatter;
  std::shared_ptr<const Collective> all_gather;
  std::shared_ptr<const Collective> all_to_all;
  std::shared_ptr<const Collective> send;  ///< from each member to the next one
  /// On links as they are while kernels run; null: as they always are.
  std::shared_ptr<const GroupCosts> beside_kernels{};
  /// Those that the group has, which is known by its place in this order.
  std::array<const Collective*, 5> all() const {
    return {all_reduce.get(), reduce_scatter.get(), all_gather.get(), all_to_all.get(), send.get()};
  }
  /// One of these, with and without kernels beside it.
  Overlap::Pair pair(const Collective& collective) const;
};

/// From each rank of a place of the pipeline to its neighbour in the next place, and back.
struct Hop {
  std::shared_ptr<const Collective> send;
  bool between_nodes = false;
  std::shared_ptr<const Collective> beside_kernels{};  ///< null: the same

  Overlap::Pair pair() const { return {*send, beside_kernels ? *beside_kernels : *send}; }
};

/// The exchange of a pass among the ranks of a group.
struct GroupCall {
  GroupKind group = GroupKind::kTensor;
  const Collective* collective = nullptr;  ///< null: there is none
  Bytes bytes{};
};

/// What a rank does next in a pass: it computes, exchanges something, or both side by side.
struct Leg {
  Spent what = Spent::kCompute;  ///< what the time that it computes counts as
  Duration compute{};
  GroupCall exchange{};
  Duration alone{};  ///< how long the exchange takes with nothing else on its links
};
/// One after another.
using Legs = std::vector<Leg>;

/// A layer of a stage.
struct StageLayer {
  std::size_t layer = 0;  ///< index into the layers of the model's work
  Legs forward;
  Legs backward;  ///< with what is computed again; without the weights' gradients
  Legs weights;
  std::int64_t params = 0;
  Bytes kept{};     ///< from its forward to its backward pass
  Bytes working{};  ///< while it is computed again
};

/// Gradients that are summed up together.
struct GradientBucket {
  std::string name;
  Bytes bytes;    ///< the gradients' bytes, as they are summed
  Bytes weights;  ///< the bytes of the weights that these gradients are for
  /// Index into the stage's layers: the one whose gradients complete the bucket.
  std::size_t first_layer = 0;
};

/// The layers between two boundaries of the pipeline.
struct StageWork {
  std::vector<StageLayer> layers;
  std::vector<GradientBucket> buckets;  ///< in the order of the backward pass
  std::int64_t params = 0;
  Bytes kept{};     ///< what all layers keep of one micro-batch
  Bytes working{};  ///< beside that in a backward pass
  Bytes logits{};
  Bytes maxima{};  ///< exchanged at the end of each pass
};

/// What computes beside what travels.
struct BesideCompute {
  bool gradients = true;
  bool weights = true;
  bool tensor = false;
  /// Of what tensor ranks exchange in a backward pass, the sums of an input's gradient beside the
  /// gradient of the same product's weights.
  bool input_gradients = false;
  bool pipeline = true;
  bool pipeline_by_order = false;  ///< sends that their passes do not await (Pass::awaits_send)
  bool context = true;

  bool has_send_of(const Pass& pass) const {
    return pipeline || (pipeline_by_order && !pass.awaits_send);
  }
};

class LayoutRoads;
class World;
struct LayoutPlan;

/// Groups that share the states of one replica alone: of its own context ranks.
struct GroupsOfReplica {
  std::int64_t shard_group = 1;
  GroupCosts shards{};
  GroupCosts replicas{};
};

/// What the exchanges of a layout go through: closed forms, or messages (roads.h).
class RoadKind {
 public:
  virtual ~RoadKind() = default;
  /// Both must outlive the result.
  virtual std::unique_ptr<LayoutRoads> make(World& world, const LayoutPlan& plan) const = 0;
  /// Whether an exchange that meets no other is a time, known before it begins.
  virtual bool knows_times() const = 0;
  /// Throws InputError, through "strategy", for exchanges that cannot go through it.
  virtual void check(const LayoutPlan& /*plan*/, const Config& /*strategy*/) const {}
};
const RoadKind& closed_forms();
/// On the links of the plan's cluster.
const RoadKind& messages_on_links();

struct LayoutPlan {
  Layout layout;
  std::shared_ptr<const PipelineOrder> order;
  std::shared_ptr<const States> states;
  BesideCompute beside;
  std::int32_t micro_batches = 1;
  ModelWork work;
  std::vector<StageWork> stages;  ///< chunk c of pipeline rank r: c x ranks + r
  std::array<GroupCosts, kGroupKinds> groups;
  std::optional<GroupsOfReplica>
      of_replica{};       ///< None: there is one replica, one context rank or no cluster.
  std::vector<Hop> hops;  ///< from each place of the pipeline; behind the last comes the first
  /// Whose links the exchanges share; null: each has links of its own.
  std::shared_ptr<const Cluster> cluster;
  /// What compute and exchanges beside it cost each other; null: nothing.
  std::shared_ptr<const Overlap> overlap{};
  const RoadKind* roads = &closed_forms();
  /// Of the maxima of values, among all ranks of a place of the pipeline; null: there is one rank,
  /// or none are exchanged. What it takes is latency: it leaves links to others.
  std::shared_ptr<const Collective> maxima{};
  std::shared_ptr<const Collective> maxima_of_replica{};  ///< the same of one replica alone
  Bytes boundary{};    ///< what each rank sends to the next stage for a micro-batch
  Bytes tied{};        ///< gradients of an embedding that the first and the last stage both have
  double slowest = 1;  ///< how much longer passes take than on the mean GPU
  double slowest_of_replica = 1;  ///< the same of one replica alone
  double flops_again = 0;         ///< operations that backward passes do again for a sample
  Bytes gathered_boundary{};      ///< and its tensor ranks then gather; 0: nothing
  std::int64_t shards = 0;        ///< ranks of a shard group; 0: as the states say

  PipelineShape shape() const { return {layout.pipeline(), micro_batches}; }
  const StageWork& stage(std::int32_t rank, std::int32_t chunk) const {
    return stages[static_cast<std::size_t>(std::int64_t{chunk} * layout.pipeline() + rank)];
  }
  const GroupCosts& costs(GroupKind kind) const { return groups[static_cast<std::size_t>(kind)]; }
  const Hop& hop(std::int32_t place) const { return hops[static_cast<std::size_t>(place)]; }
  /// Of a rank, in the pipeline.
  std::int32_t place(std::int32_t rank) const {
    return layout.coordinate(rank, Dimension::kPipeline);
  }
  /// The ranks of the group of a rank, in ascending order: just itself where it has none.
  std::vector<std::int32_t> group(GroupKind kind, std::int32_t rank) const;
  /// Whether the passes of one replica alone take as long as they do beside others.
  bool is_as_long_alone() const {
    return slowest == slowest_of_replica && maxima == maxima_of_replica;
  }
  /// Ranks that hold the same parameters: of data and context parallelism.
  std::int64_t sharers() const { return std::int64_t{layout.data()} * layout.context(); }
  /// How many of them share one copy of the states.
  std::int64_t shard_group() const { return shards > 0 ? shards : states->shard_group(sharers()); }
  /// The parts into which a shard group cuts the states.
  StateParts parts() const { return states->parts(shard_group()); }
};

/// What the stages are made of.
struct LayoutParts {
  const std::vector<std::int64_t>& layers;  ///< blocks of each stage
  const Recomputation& recomputation;
  const ContextExchange& context;
  const Schedule& schedule;
  bool has_schedule = false;  ///< the config names it; else states say what a bucket is
  bool sequence_parallel = false;
};

/// Fills in stages and boundary of a plan that has all else. Throws InputError when a step
/// would exceed the range of simulated time.
void plan_stages(LayoutPlan& plan, const LayoutParts& parts);

/// The same of one replica alone.
LayoutPlan plan_of_replica(const LayoutPlan& plan);

}  // namespace steptime
