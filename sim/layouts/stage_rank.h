// The ranks of a pipeline's stage, which move as one: what they compute, wait for, exchange and
// hold in a step. Their program is trains_a_step (rank_program.h).
#pragma once
#include "sim/events/rank_timeline.h"
#include "sim/layouts/pipeline_link.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/rank_memory.h"
#include "sim/layouts/roads.h"
#include "sim/layouts/segments.h"
#include "sim/layouts/unit_weights.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// What the ranks of a step share.
struct LayoutRun {
  World& world;
  const LayoutPlan& plan;
  LayoutRoads& roads;
  Group& all;   ///< a member for each rank of the pipeline
  Group* ends;  ///< of the first and the last, with an embedding that both have
  Timeline* timeline = nullptr;
  bool folds = true;  ///< exchanges that meet no others pass as times; else as calls of their own
};

class StageRank final : private Group::Watch {
 public:
  StageRank(LayoutRun& run, std::int32_t rank);
  StageRank(const StageRank&) = delete;
  StageRank& operator=(const StageRank&) = delete;
  /// The neighbours in the pipeline: behind the last rank comes the first one.
  void join(StageRank& before, StageRank& after) {
    before_ = &before;
    after_ = &after;
  }

  // Of its program.
  std::int64_t passes() const { return plan().order->passes(plan().shape(), rank_); }
  /// The k-th, which begins.
  Pass begin(std::int64_t k);
  /// Weights that others have updated are asked for; where nothing computes beside them, they come.
  Task gathers_updates();
  /// Awaited: the stage before has sent the micro-batch.
  Task receives_activations(Pass pass);
  Task receives_gradients(Pass pass);
  Task forward(Pass pass);
  /// The gradients of a stage's inputs, and those of its weights.
  Task backward(Pass pass);
  Task input_gradient(Pass pass);
  Task weight_gradient(Pass pass);
  Task sends_activations(Pass pass);
  Task sends_gradients(Pass pass);
  /// Awaited: all sums of gradients are there, on all ranks.
  Task sums_gradients();
  Task updates_weights();
  /// The step is over for it.
  void end();

  // Of what is told.
  Time ended() const { return end_; }
  const TimesSpent& spent() const { return spent_; }
  const BytesOfGroups& bytes() const { return bytes_; }
  /// Of its exchanges, each by itself.
  Duration exchanging() const { return exchanging_; }
  std::int64_t exchanges() const { return exchanges_; }
  const RankMemory& memory() const { return memory_; }
  std::string doing() const;

 private:
  struct Chunk {
    const StageWork* stage = nullptr;
    std::vector<Segment> forward, first_forward;   ///< the second waits for updated weights
    std::vector<Segment> backward, last_backward;  ///< the second makes buckets
    std::vector<Segment> input, weight, last_weight;
    std::unique_ptr<Arrivals> activations;
    std::unique_ptr<Arrivals> gradients;
  };
  /// Collectives of a group, in one order.
  struct Calls {
    std::optional<Group> group;
    std::vector<const Collective*> ways;
    std::int64_t spent = 0;
  };

  const LayoutPlan& plan() const { return run_.plan; }
  Chunk& chunk(Pass pass) { return chunks_[static_cast<std::size_t>(pass.chunk)]; }
  std::int32_t stage_of(Pass pass) const { return pass.chunk * plan().layout.pipeline() + rank_; }
  bool is_last(Pass pass) const { return pass.micro_batch + 1 == plan().micro_batches; }
  bool sums(Pass pass) const { return is_last(pass) || plan().states->sums_every_micro_batch(); }
  void spend(Spent what, Time since);
  void spend(const TimesSpent& spent);
  Calls& calls(GroupKind kind) { return calls_[static_cast<std::size_t>(kind)]; }
  std::size_t way(GroupKind kind, const Collective& collective);
  void launch(GroupKind kind, const Collective& collective, Bytes bytes);
  void count(GroupKind kind, Bytes bytes, Duration alone);
  /// A collective of the shard group is over: what it has summed is summed over its replicas.
  void ended(std::int64_t call, Bytes bytes, Time start) override;
  Task works(const Segment& segment);
  Task exchanges(const Leg& leg);
  Task works_through(Pass pass, const std::vector<Segment>& segments, bool is_backward);
  Task receives(Pass pass, Arrivals& from, const PipelineLink& link);
  Task sends(PipelineLink& link, Arrivals& to, StageRank& receiver);
  void make_buckets(Pass pass, std::size_t from, std::size_t to);
  void draw(std::string_view lane, Pass pass, Time start);

  LayoutRun& run_;
  std::int32_t rank_;
  Time end_{};
  StageRank* before_ = nullptr;
  StageRank* after_ = nullptr;
  std::vector<Chunk> chunks_;
  std::array<Calls, kGroupKinds> calls_;
  PipelineLink forward_;   ///< to the rank behind
  PipelineLink backward_;  ///< to the one before
  std::optional<UnitWeights> units_;
  std::deque<bool> sums_;     ///< of the shard group's calls that are not over: whether they sum
  std::int64_t updates_ = 0;  ///< gatherings of updated weights that were asked for
  std::vector<std::size_t> made_;  ///< buckets of each chunk's present pass that were summed
  std::int64_t pass_ = -1;
  TimesSpent spent_{};
  BytesOfGroups bytes_{};
  Duration exchanging_{};
  std::int64_t exchanges_ = 0;
  RankMemory memory_;
  RankTimeline timeline_;
};

}  // namespace steptime
