// What is seen of training with MXNet's Module API: when each key is under way, what GPU 0 computes
// and waits for, and the drawing of all GPUs and the host.
//
// Labels of operations are the number of a call, or behind these of a segment.
#pragma once
#include "sim/events/rank_timeline.h"
#include "sim/mxnet/merge.h"
#include "sim/mxnet/node_rank.h"
#include "sim/mxnet/rank_record.h"
#include "sim/mxnet/training_graph.h"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace steptime {

class ModuleRecord final : public NodeRank::Observer {
 public:
  using OperationId = NodeRank::OperationId;

  struct Shown {
    std::vector<KeyRange> calls;  ///< the keys of each, in the order of the calls
    std::int64_t period = 1;      ///< steps from one exchange to the next
    Timeline* timeline = nullptr;
  };
  /// All must outlive the record.
  ModuleRecord(Engine& clock, const TrainingGraph& graph, RankRecord& recorder, const Shown& shown);
  /// Before anything happens in it.
  void watch(const NodeRank& process);

  std::size_t calls() const { return calls_.size(); }
  KeyRange keys(std::size_t call) const { return calls_[call].keys; }
  std::uint32_t label_of_segment(std::size_t segment) const {
    return static_cast<std::uint32_t>(calls_.size() + segment);
  }
  /// So many operations more belong to the call in every exchange.
  void said(std::size_t call, std::size_t operations) {
    calls_[call].operations += static_cast<std::int64_t>(operations);
  }
  /// The main thread has pushed all operations of the call in a step.
  void pushed(std::size_t call, std::int64_t step);
  /// The main thread waits for samples from now on.
  void awaits_samples();
  void samples_came(Time awaited_since);
  /// By step, when its last operation so far ended.
  const std::vector<Duration>& ends() const { return ends_; }

 private:
  /// What of a call is under way, by exchange modulo 2.
  struct Call {
    KeyRange keys;
    std::int64_t operations = 0;          ///< in an exchange
    std::array<std::int64_t, 2> ended{};  ///< operations of the exchange that are over
    std::array<bool, 2> is_pushed{};
    std::array<bool, 2> is_under_way{};
    std::int64_t over = 0;  ///< exchanges in which it is
  };

  void started(OperationId id) override;
  void ended(OperationId id) override;
  std::size_t index_of(OperationId id) const { return process_->engine().label(id); }
  std::size_t parity_of(std::int64_t step) const {
    return static_cast<std::size_t>(step / period_ % 2);
  }
  /// In which the exchange that is over next began.
  std::int64_t exchange_step(const Call& call) const { return (call.over + 1) * period_ - 1; }
  void segment_started(OperationId id);
  void segment_ended(const ComputeSegment& segment);
  void end_if_over(Call& call, std::size_t parity);
  /// Tells the recorder when GPU 0, whose first segment comes next, waits for nothing else.
  void tell_missing_samples();
  void draw(OperationId id);
  Timeline::Details details_of(OperationId id) const;

  Engine& clock_;
  const TrainingGraph& graph_;
  RankRecord& recorder_;
  std::int64_t period_;
  Timeline* timeline_;
  const NodeRank* process_ = nullptr;
  std::vector<Call> calls_;
  std::vector<RankTimeline> drawn_;               ///< each GPU's, then the host's
  std::unordered_map<OperationId, Time> starts_;  ///< while drawing
  std::vector<Duration> ends_;
  bool awaits_samples_ = false;
};

}  // namespace steptime
