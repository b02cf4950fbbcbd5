// What one rank's steps looked like: when they began, what hid the communication, and what the GPU
// waited for. Memory does not grow with the number of steps.
#pragma once
#include "sim/core/units.h"
#include "sim/events/causes.h"
#include "sim/events/engine.h"
#include "sim/mxnet/client_steps.h"
#include "sim/mxnet/communicators.h"
#include "sim/mxnet/input_pipeline.h"
#include "sim/mxnet/training_graph.h"
#include "sim/step/step.h"
#include "sim/workload/slowed_medium.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// Where the time of a mean step goes. Communication is a time in which an all-reduce is in
/// progress at all ranks.
struct Attribution {
  Duration hidden_under_backward{};
  Duration hidden_under_forward{};
  Duration exposed{};  ///< communication while the GPU has nothing to compute
  Duration idle{};   ///< neither communication nor computing: copies, the main thread, other ranks
  Duration input{};  ///< the part of exposed and idle in which only samples are missing
  /// What the step's time is spent on along its critical path; none where nobody keeps causes.
  std::vector<Cause> causes;
  /// What compute segments waited for, and how long; longest first.
  std::vector<std::pair<std::string, Duration>> waits;
  std::int64_t steps = 0;  ///< simulated
  /// Whether steps that are played until they take the same time come to do so; else those that are
  /// measured are the last half.
  bool settles = true;
  std::int64_t transient_steps = 0;  ///< as many of them go before the steady state, or that half
  Duration transient{};              ///< by how much those took longer than steady ones; at least 0
};

class RankRecord final : public Communicators::Listener, public ClientSteps {
 public:
  /// `steps`: none: until the steady state, where every step takes the same time. `input`: null:
  /// samples hold up nothing; else what it is ahead is used up where steady steps would do that.
  /// `period`: every so many steps, at the end of the last of them, keys are reduced; what is
  /// measured are that many together. `ends`: of so many steps, from the first one on, it keeps
  /// when they ended.
  RankRecord(Engine& clock, const TrainingGraph& graph, std::optional<std::int64_t> steps,
             InputPipeline* input = nullptr, std::int64_t period = 1, std::int64_t ends = 1);

  /// Whose all-reduces take longer than by themselves.
  void share(const ComputingGpu& gpu) { slowed_ = &gpu; }

  /// The same answer for every rank that asks. What one has begun all do.
  bool wants_step(std::int64_t step) override;

  /// `waited_for`: a key whose update held the segment up, or nullopt: the main thread.
  void segment_started(std::size_t segment, std::int64_t step,
                       std::optional<std::int32_t> waited_for);
  /// Its gradients are there.
  void segment_ended();
  /// The GPU waits for nothing but a step's samples, until they are there: what happens then does
  /// so because of this wait.
  void waits_for_samples();
  void samples_came();
  /// What these waits are told to be.
  Reason input() const { return input_reason_; }
  void collective_started(Communicators::Subject subject) override;
  void collective_ended(Communicators::Subject subject) override;
  void operation_ended(std::int32_t /*rank*/, std::int64_t step) override {
    if (step < std::ssize(ends_)) ends_[static_cast<std::size_t>(step)] = since_start(clock_.now());
  }

  /// The steps that are measured: from this one on, before the other.
  std::int64_t measured_from() const { return from_.step; }
  std::int64_t measured_to() const { return to_.step; }
  /// How many steps have begun.
  std::int64_t step() const { return sums_.step; }
  /// Every key was reduced as often as any other, once in every period at least.
  bool is_complete() const;
  /// From the start of a step's forward pass to that of the next, in the steady state.
  Duration step_time() const;
  /// By how much longer its all-reduces took than by themselves.
  Duration lost() const { return (to_.lost - from_.lost) / (to_.step - from_.step); }
  /// When the last operation of each step ended. Nothing before the first one hid or held it up.
  const std::vector<Duration>& ends() const { return ends_; }
  /// `causes`: what the clock keeps them in; null: nobody does.
  Attribution attribution(const Causes* causes = nullptr) const;
  /// Of the last step, by key, after the start of its forward pass.
  const std::vector<BucketTimes>& key_times() const { return key_times_; }

 private:
  enum Gpu : std::uint8_t { kIdle, kForward, kBackward, kSamples };
  /// Sums since the start of the run.
  struct Sums {
    Time at{};
    std::int64_t step = 0;
    Duration under[4]{};          ///< communication, by what the GPU does
    Duration gpu[4]{};            ///< what it does
    Duration lost{};              ///< by all-reduces, to what is computed beside them
    std::vector<Duration> waits;  ///< by key; the last one: the main thread
  };

  /// Adds the time since the last change to the sums.
  void advance();
  bool settles() const;
  void step_started(std::int64_t step);

  Engine& clock_;
  const TrainingGraph& graph_;
  std::optional<std::int64_t> steps_;  ///< to measure
  InputPipeline* input_;
  std::int64_t period_;
  const ComputingGpu* slowed_ = nullptr;  ///< null: nothing slows its all-reduces down
  std::optional<std::int64_t> stops_before_;
  std::int64_t begun_ = -1;  ///< step, by the rank that is furthest
  Gpu gpu_ = kIdle;
  std::size_t segment_ = 0;  ///< the latest that started
  Time advanced_to_{};
  Time segment_end_{};
  std::int64_t in_progress_ = 0;
  Sums sums_;
  Sums from_;           ///< at the start of what is measured
  Sums to_;             ///< at the start of the latest period
  Held led_{};          ///< what led to that
  Held samples_led_{};  ///< what led to the wait for samples
  Reason input_reason_;
  Time first_start_{};
  Time starts_[2]{};         ///< when the latest two steps began, by step modulo 2
  Duration length_{};        ///< what the latest whole period took
  std::int64_t steady_ = 0;  ///< how many periods up to that one took the same time
  std::int64_t steady_from_step_ = 0;
  Time steady_from_{};
  std::vector<std::int64_t> reduced_;  ///< by key: how often
  /// By key: what was reduced last that its times are told of.
  std::vector<Communicators::Subject> told_;
  std::vector<Time> key_start_;
  std::vector<BucketTimes> key_times_;
  std::vector<Duration> ends_;
};

}  // namespace steptime
