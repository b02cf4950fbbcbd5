// The process of a node that trains with MXNet's Module API (module_step.h): the program of its
// main thread, what that pushes, and what is seen of it.
#pragma once
#include "sim/events/rank_timeline.h"
#include "sim/mxnet/client_steps.h"
#include "sim/mxnet/merge.h"
#include "sim/mxnet/module_run.h"
#include "sim/mxnet/node_process.h"
#include "sim/mxnet/rank_record.h"
#include "sim/mxnet/training_graph.h"
#include "sim/mxnet/updater.h"
#include "sim/network/network.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace steptime {

/// Where no framework is modelled, calls cost nothing but what the aggregation says.
MxnetSettings module_settings(const Embedding& embedding);

/// The process of a node that trains. Labels of its operations are the number of a call, or behind
/// these of a segment. The record is of the first node's first GPU.
class ModuleProcess final : public NodeProcess {
 public:
  /// What all processes of a run share.
  struct Shared {
    World& world;
    const TrainingGraph& graph;
    const ModuleRun& run;
    Network& network;
    const Updater& updater;
    InputPipeline& input;
    RankRecord& record;
    ClientSteps& steps;  ///< which steps the nodes play
  };
  ModuleProcess(const Shared& shared, std::int64_t node);
  /// The program of the main thread.
  Task main_thread();
  /// The main thread is through with as many.
  std::int64_t steps() const { return steps_; }

 private:
  /// Keys that are pushed, and pulled, in one call, and what of that is under way, by exchange
  /// modulo 2.
  struct Call {
    KeyRange keys;
    std::int64_t operations = 0;          ///< in an exchange
    std::array<std::int64_t, 2> ended{};  ///< operations of the exchange that are over
    std::array<bool, 2> is_pushed{};
    std::array<bool, 2> is_under_way{};
    std::int64_t over = 0;  ///< exchanges in which it is
  };

  bool wants_step();
  Task samples();
  Task pass(std::size_t from, std::size_t to);
  Task exchange();
  Task push_keys(Call& of);
  Task pull_keys(Call& of);
  Task push_call(Call& of, Duration takes, void (KvStore::*action)(KeyRange));
  Task update_metric();
  void say_segment(std::int32_t gpu, std::size_t index);

  // What is seen of it.
  void has_pushed(OperationId id, Time since) override;
  void has_started(OperationId id) override;
  void has_ended(OperationId id) override;
  bool counts() const override { return clients_.counts(asked_in_); }
  bool is_segment(OperationId id) const { return label(id) >= calls_.size(); }
  const ComputeSegment& segment(OperationId id) const {
    return graph_.segments[label(id) - calls_.size()];
  }
  std::size_t parity_of(std::int64_t step) const {
    return static_cast<std::size_t>(step / run_.update.period() % 2);
  }
  void tell(void (RankRecord::*what)(Communicators::Subject), const Call& of);
  void end_if_over(Call& of, std::size_t parity);
  void tell_missing_samples();
  const std::string& name_of(OperationId id) const;
  void draw(OperationId id);

  const TrainingGraph& graph_;
  const ModuleRun& run_;
  const MxnetSettings settings_;
  std::int32_t node_;
  bool is_first_;
  std::int32_t first_worker_;
  InputPipeline& input_;
  RankRecord& record_;
  ClientSteps& clients_;
  std::vector<Call> calls_;
  std::unique_ptr<KvStore> store_;
  Variables chains_;        ///< each GPU's segments write theirs, and so follow one another
  Variables outputs_;       ///< each GPU's forward pass writes its own
  std::int64_t steps_ = 0;  ///< the main thread is through with as many
  bool awaits_samples_ = false;
  std::optional<Time> misses_since_;              ///< it awaits samples, and GPU 0 nothing else
  std::int64_t asked_in_ = 0;                     ///< the step of what the servers were asked last
  std::vector<RankTimeline> drawn_;               ///< each GPU's, then the host's
  std::unordered_map<OperationId, Time> starts_;  ///< while drawing
};

}  // namespace steptime
