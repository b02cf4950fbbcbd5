// A rank of a place of the pipeline as earliest_starts.h goes through its step: what StageRank
// (stage_rank.h) is to programs.
#pragma once
#include "sim/core/error.h"
#include "sim/layouts/layout_times.h"
#include "sim/layouts/link_timetable.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/segments.h"
#include "sim/layouts/shared_links.h"
#include "sim/layouts/unit_weights.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace steptime {

/// Longer steps are not counted: 11 days, so that no sum of a few such times overflows.
inline constexpr Duration kMostCounted{1'000'000'000'000'000'000};

/// The calls of a group, one after another, each with the time that it takes by itself.
class CallLine {
 public:
  /// `links` null: the calls meet no others.
  CallLine(LinkTimetable& timetable, const GroupLinks* links);

  struct Call {
    Time end;
    Duration alone;
  };
  /// Called at `from`, which is not before that of the last call.
  Call call(const Collective& collective, Bytes bytes, Time from);
  /// Of the call with this number, from 1 on; all are over at the end of the last one.
  Time end_of(std::int64_t call) const { return ends_[static_cast<std::size_t>(call - 1)]; }
  Time over() const { return ends_.empty() ? Time{} : ends_.back(); }
  std::int64_t calls() const { return std::ssize(ends_); }
  bool is_in_range() const { return is_in_range_; }

 private:
  struct Known {
    Duration alone;
    std::vector<Stage> stages;
  };
  const Known& known(const Collective& collective, Bytes bytes);

  const GroupLinks* links_;
  LinkTimetable::Line* in_node_ = nullptr;
  LinkTimetable::Line* between_nodes_ = nullptr;
  std::map<std::pair<const Collective*, std::int64_t>, Known> known_;
  std::vector<Time> ends_;
  bool is_in_range_ = true;
};

/// When micro-batches came for a chunk, from the first that is not used yet on.
class CameAt {
 public:
  /// Of the next micro-batch.
  void add(Time at) {
    if (end_ - first_ == std::ssize(times_)) grow();
    time(end_++) = at;
  }
  bool has(std::int64_t micro_batch) const { return micro_batch < end_; }
  bool are_all_used() const { return first_ == end_; }
  /// Micro-batches are used in turn.
  Time use(std::int64_t micro_batch) {
    STEPTIME_CHECK(micro_batch == first_, "a chunk takes its micro-batches in turn");
    return time(first_++);
  }

 private:
  Time& time(std::int64_t micro_batch) {
    return times_[static_cast<std::size_t>(micro_batch) & (times_.size() - 1)];
  }
  void grow();

  std::vector<Time> times_{std::vector<Time>(8)};  ///< as many as a power of two
  std::int64_t first_ = 0;
  std::int64_t end_ = 0;
};

class EarliestRank {
 public:
  /// `order`: its passes. All must outlive it. `remembers`: what its memory holds.
  EarliestRank(const LayoutPlan& plan, const SharedLinks& links, LinkTimetable& timetable,
               const std::vector<ChunkPasses>& passes, std::span<const Pass> order,
               std::int32_t place, bool remembers);
  EarliestRank(const EarliestRank&) = delete;
  EarliestRank& operator=(const EarliestRank&) = delete;
  /// Its neighbours in the ring.
  void join(EarliestRank& before, EarliestRank& after);

  // In this order.
  void gathers_updates();
  /// Goes through passes until one waits for what has not come; appends those who waited for what
  /// it has sent.
  void go_on(std::vector<EarliestRank*>& woken);
  /// And nothing that was sent to it is left.
  bool passes_are_over() const {
    return next_ == count_ && std::ranges::all_of(activations_, &CameAt::are_all_used) &&
           std::ranges::all_of(gradients_, &CameAt::are_all_used);
  }
  std::int64_t passes_made() const { return next_; }
  void sums_gradients();
  /// Of the first rank: the sum of the tied embedding, to which both ends have come at `from`.
  Time sums_ends(Time from);
  void ends_are_summed(Time end);
  void ends_step(Time all_there);
  /// What it has done, with its memory. For one that remembers.
  StageTimes times();

  Time at() const { return at_; }
  /// Whether a pass may have waited for what it exchanged with other replicas.
  bool has_waited_for_replicas() const;
  /// What an update takes that it shares with nobody.
  Duration update_alone() const;
  /// False: its step may be longer than what is counted.
  bool is_in_range() const { return is_in_range_ && calls_are_in_range(); }

 private:
  /// Of each chunk.
  using Inflow = std::vector<CameAt>;
  /// To one neighbour.
  struct Outflow {
    Duration alone{};
    std::vector<Stage> stages{};  ///< on shared links
    LinkTimetable::Line* in_node = nullptr;
    LinkTimetable::Line* between_nodes = nullptr;
    std::int64_t sent = 0;
    Time over{};  ///< when the latest transfer is over
    /// The end of each transfer, where ranks remember these, and then one that never comes.
    std::vector<Time> ends{};
  };
  /// Whose costs a pass has: a segment's weights may be waited for, and its gradients summed.
  enum Way : std::uint8_t {
    kForward,
    kFirstForward,
    kBackward,
    kLastBackward,
    kInput,
    kWeight,
    kLastWeight,
    kWays
  };
  /// What all passes of a way through a chunk have in common.
  struct Kind {
    CameAt* comes = nullptr;  ///< what it waits for; null: nothing
    Duration travels{};       ///< how long what it waits for travels by itself
    Outflow* out = nullptr;   ///< where it sends what it has made; null: nowhere
    CameAt* to = nullptr;
    EarliestRank* receiver = nullptr;
    bool sums = false;  ///< its gradients are summed up
    const std::vector<Segment>* segments = nullptr;
    Duration length{};
    bool is_plain = true;  ///< it calls nothing, and waits for nothing once it has begun
    std::int64_t made = 0;
    Bytes activations{};  ///< acquired when it begins
    Bytes logits{};
    Bytes let_go{};  ///< activations, when it ends
    Bytes logits_let_go{};
  };
  struct Made {
    Time received;  ///< it has what it waits for
    Time end;
    std::uint32_t kind;
    bool receives;
  };
  struct Change {
    Time when;  ///< in the last one, which ends the list, never
    Bytes more;
  };

  void gathers(Bytes more);
  const GroupLinks* shared(const SharedLinks& links, GroupKind kind) const;
  Outflow outflow(const SharedLinks& links, LinkTimetable& timetable, bool back);
  void learn(const ChunkPasses& chunk, bool has_units);
  Way way_of(Pass pass) const;
  bool calls_are_in_range() const {
    return shards_.is_in_range() && replicas_.is_in_range() && ends_.is_in_range();
  }
  bool receive(const Kind& kind, std::int32_t micro_batch);
  void work_through(Pass pass, const Kind& kind);
  void send(const Pass& pass, const Kind& kind, std::vector<EarliestRank*>& woken);
  void sums_by_itself(std::int32_t chunk);
  void launch(const Collective& collective, Bytes bytes);
  void sum_over_replicas(Bytes bytes, Time from);
  void count(GroupKind kind, Bytes bytes, Duration alone, std::int64_t times = 1);
  void make_buckets(std::int32_t chunk, std::size_t from, std::size_t to);
  void spend(Spent what, Duration length) { spent_[static_cast<std::size_t>(what)] += length; }
  void wait_until(Time end, Spent what) {
    if (end <= at_) return;
    spend(what, end - at_);
    at_ = end;
  }
  RankMemory remember() const;

  const LayoutPlan& plan_;
  std::span<const Pass> order_;
  std::int32_t place_;
  bool sums_every_micro_batch_;
  bool is_in_range_ = true;
  EarliestRank* before_ = nullptr;
  EarliestRank* after_ = nullptr;
  std::vector<const StageWork*> stages_;     ///< the work of the rank's chunks
  std::vector<std::size_t> buckets_before_;  ///< how many buckets the chunks before each one have
  std::vector<Kind> kinds_;                  ///< all ways through the first chunk, then the next
  Outflow forward_;
  Outflow backward_;
  Inflow activations_;
  Inflow gradients_;
  const CameAt* waits_for_ = nullptr;
  CallLine shards_;
  CallLine replicas_;
  CallLine ends_;
  Duration gather_{};  ///< what tensor ranks take to gather a micro-batch that has come
  std::optional<UnitWeights> units_;
  std::vector<Change> gathered_;
  std::int64_t updates_ = 0;  ///< gatherings of updated weights
  std::int64_t next_ = 0;     ///< pass
  std::int64_t count_;
  bool remembers_;
  std::vector<Made> made_;  ///< where it remembers
  std::int64_t received_ = 0;
  Time at_{};
  TimesSpent spent_{};
  BytesOfGroups bytes_{};
  Duration exchanging_{};
  std::int64_t exchanges_ = 0;
};

}  // namespace steptime
