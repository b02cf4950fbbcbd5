// A rank, or all ranks of a place of the pipeline, which then move as one: what it computes, waits
// for, exchanges and holds in a step. Its program is trains_a_step (rank_program.h).
#pragma once
#include "sim/layouts/pipeline_link.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/rank_drawing.h"
#include "sim/layouts/rank_memory.h"
#include "sim/layouts/repetition.h"
#include "sim/layouts/roads.h"
#include "sim/layouts/segments.h"
#include "sim/layouts/unit_weights.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// What the ranks of a step share.
struct LayoutRun {
  World& world;
  const LayoutPlan& plan;
  LayoutRoads& roads;
  Group& all;  ///< a member for each program
  /// What each place's passes are made of, by chunk.
  const std::vector<std::vector<ChunkPasses>>& passes;
  Repetition& repetition;
  Timeline* timeline = nullptr;  ///< shows the pipeline of rank 0
};

class StageRank final {
 public:
  StageRank(LayoutRun& run, std::int32_t rank, std::size_t program);
  StageRank(const StageRank&) = delete;
  StageRank& operator=(const StageRank&) = delete;
  /// The neighbours in the pipeline: behind the last rank comes the first one.
  void join(StageRank& before, StageRank& after) {
    before_ = &before;
    after_ = &after;
  }

  // Of its program.
  std::int64_t passes() const { return run_.repetition.passes(place_); }
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
  /// So much more or less, by passes that are not played.
  void holds(const RankMemory::Parts& added) { memory_.add(added, run_.world.now()); }

  // Of what is told.
  /// Throws ModelFailure for what neighbours have sent and it has never received.
  void expect_over() const;
  /// In the pipeline.
  std::int32_t place() const { return place_; }
  Time ended() const { return end_; }
  const TimesSpent& spent() const { return spent_; }
  const BytesOfGroups& bytes() const { return bytes_; }
  /// Of its exchanges, each by itself.
  Duration exchanging() const { return gpu_ == nullptr ? exchanging_ : exchanging_ + gpu_->lost(); }
  std::int64_t exchanges() const { return exchanges_; }
  const RankMemory& memory() const { return memory_; }
  std::string doing() const;

 private:
  struct Chunk {
    const StageWork* stage = nullptr;
    const ChunkPasses* passes = nullptr;
    std::unique_ptr<Arrivals> activations;
    std::unique_ptr<Arrivals> gradients;
  };

  struct KnownTime {
    const Collective* collective;
    Bytes bytes;
    Duration time;
  };

  const LayoutPlan& plan() const { return run_.plan; }
  Chunk& chunk(Pass pass) { return chunks_[static_cast<std::size_t>(pass.chunk)]; }
  std::int32_t stage_of(Pass pass) const { return pass.chunk * plan().layout.pipeline() + place_; }
  bool is_last(Pass pass) const { return pass.micro_batch + 1 == run_.repetition.micro_batches(); }
  bool sums(Pass pass) const { return is_last(pass) || plan().states->sums_every_micro_batch(); }
  /// An exchange of a pass that begins now, or all of a segment.
  bool passes_as_time(GroupKind kind) const;
  bool passes_as_time() const {
    return passes_as_time(GroupKind::kTensor) && passes_as_time(GroupKind::kContext);
  }
  auto lasts(Duration length) const {
    World& world = run_.world;
    return world.at(world.engine.until(world.present(), length, Reason{}));
  }
  bool has_calls_under_way() const;
  /// Awaited: so much is computed. Returns by how much longer that took.
  struct Computing {
    StageRank& me;
    Duration work;
    Time since;
    bool await_ready() const { return false; }
    void await_suspend(Suspended program) const;
    Duration await_resume() const { return me.run_.world.now() - since - work; }
  };
  Computing computes(Duration work) { return {*this, work, run_.world.now()}; }
  void spend(Spent what, Time since);
  void spend(Spent what, Duration length);
  void spend(const TimesSpent& spent);
  /// Where nothing was called yet, no group.
  const Seat& called(GroupKind kind) const { return seats_[static_cast<std::size_t>(kind)]; }
  const Seat& seat(GroupKind kind);
  /// Awaited: all that it has called of this kind is over.
  Counter::Wait over(GroupKind kind) const { return called(kind).group->over(called(kind).member); }
  /// How long a collective takes by itself. A rank calls few, over and over.
  Duration alone(const Collective& collective, Bytes bytes);
  void launch(GroupKind kind, const Collective& collective, Bytes bytes);
  void count(GroupKind kind, Bytes bytes, Duration alone);
  void sum_over_replicas(Bytes bytes);
  Task works(const Segment& segment);
  /// It is over, with nothing else on its links.
  void went_by(const Segment& segment);
  const Segment& rest(const Segment& segment, std::size_t over);
  Task exchanges(const Leg& leg);
  Task works_through(Pass pass, const std::vector<Segment>& segments, bool is_backward);
  /// `comes`: else there is nothing to wait for.
  Task receives(Pass pass, Arrivals& from, const PipelineLink& link, bool comes);
  /// `to` null: there is nobody who needs it.
  Task sends(Pass pass, PipelineLink& link, Arrivals* to, StageRank& receiver);
  Task sums_by_itself(Pass pass);
  void make_buckets(Pass pass, std::size_t from, std::size_t to);

  LayoutRun& run_;
  std::int32_t rank_;
  std::int32_t place_;
  std::size_t program_;
  bool sums_by_itself_;  ///< behind each pass, with nothing to compute beside it
  SharedGpu* gpu_;       ///< null: nothing slows it down
  Time end_{};
  StageRank* before_ = nullptr;
  StageRank* after_ = nullptr;
  std::vector<Chunk> chunks_;
  std::array<Seat, kGroupKinds> seats_{};
  std::array<Repetition::Line*, kGroupKinds> lines_{};  ///< null: nobody asks
  std::array<bool, kGroupKinds> are_alone_{};      ///< exchanges of a pass, whenever they begin
  std::array<bool, kGroupKinds> are_among_own_{};  ///< where no call of its own is under way
  std::map<std::pair<const Segment*, std::size_t>, Segment> rests_;
  std::vector<KnownTime> known_;
  RankDrawing drawing_;
  PipelineLink forward_;   ///< to the rank behind
  PipelineLink backward_;  ///< to the one before
  std::optional<UnitWeights> units_;
  std::int64_t updates_ = 0;  ///< gatherings of updated weights that were asked for
  std::int64_t pass_ = -1;
  TimesSpent spent_{};
  BytesOfGroups bytes_{};
  Duration exchanging_{};
  std::int64_t exchanges_ = 0;
  RankMemory memory_;
};

}  // namespace steptime
