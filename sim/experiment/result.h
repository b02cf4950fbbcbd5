// What a run gives.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/config/input_files.h"
#include "sim/config/json.h"
#include "sim/events/causes.h"
#include "sim/experiment/track_record.h"
#include "sim/experiment/training_run.h"
#include "sim/mxnet/embedding.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

struct PlayedLayout;  // sim/layouts/play.h

/// One of several jobs on one network.
struct JobTimes {
  std::string name;
  std::int64_t workers = 0;
  double start_s = 0;
  double step_s = 0;   ///< mean over its steps
  double alone_s = 0;  ///< the same on the same nodes, without the other jobs

  double slowdown() const { return step_s / alone_s; }
};

struct Result {
  double step_time_s = 0;  ///< the steady step's, or the mean over steps that differ
  /// Of the first step, in which nothing of a step before is under way; none where every step
  /// begins like that.
  std::optional<double> cold_step_time_s{};
  /// Holds what would be measured with 95 %, by what measurements say of such predictions; it
  /// covers that of the profile, too.
  Interval step_time_interval_s{};
  /// With all collectives at the low, and at the high ends of the 95 % intervals of their
  /// measurements; where these are known.
  std::optional<Interval> profile_interval_s{};
  double compute_time_s = 0;
  double forward_time_s = 0;
  double backward_time_s = 0;
  double comm_busy_s = 0;
  /// What the busier ports of servers and their clients take for pushes or for pulls.
  double server_ports_s = 0;
  double exposed_comm_s = 0;
  std::optional<double> exposed_input_s{};  ///< where the input pipeline has a rate
  /// Steps of a client, in the mean, where each has its own; else one in step_time_s.
  std::optional<double> rate_per_s{};
  double throughput_samples_per_s = 0;  ///< all workers' together
  double speedup = 0;                   ///< throughput over that of one worker of the same trace
  double scaling_efficiency = 0;        ///< speedup / workers; of a layout / replicas
  std::int64_t workers = 0;
  std::int64_t messages = 0;               ///< all-reduces per step
  std::optional<double> epoch_time_s;      ///< when the workload says how large an epoch is
  std::optional<TrainingMemory> memory{};  ///< a worker's, where a device model knows it
  std::optional<Interval>
      memory_interval_bytes{};  ///< with a layout: where the sum of `memory` lies
  std::int64_t seeds = 1;       ///< times are means over as many
  /// Of step_time_s, where several seeds were played.
  std::optional<Percentiles> step_percentiles{};
  std::optional<FailureTimes> failures{};  ///< what a training of such steps meets
  Validity domain{};                       ///< how much it is worth
  std::vector<Cause> attribution;          ///< adds up to step_time_s; only where asked for in full
  std::vector<LinkUse> links{};            ///< what carries messages; only where asked for in full
  std::uint64_t fingerprint = 0;
  std::shared_ptr<const EmbeddedStep> embedded;  ///< when a framework's engine was played
  /// Set when clients need not move in step: then times are means over clients and steps; with
  /// servers comm_busy_s is the time per step of the busiest server's thread, and messages are
  /// those with bytes, per step.
  std::shared_ptr<const TrainingOutcome> training{};
  std::shared_ptr<const PlayedLayout> layout{};  ///< set with a layout
  std::vector<JobTimes> jobs{};  ///< where there are several: the figures are the first one's
};

/// A bucket as it was sent.
struct SentBucket {
  std::vector<std::string> tensors;
  Bytes bytes;
  double ready_s = 0;
  double start_s = 0;
  double end_s = 0;
};

/// What is written only where a result is asked for in full: by `run`, and by `sweep --full`.
struct Details {
  std::span<const SentBucket> buckets;
  const Json& config;     ///< as it was read
  NamedDigests inputs{};  ///< only `run` has them
};

}  // namespace steptime
