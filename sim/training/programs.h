// The strategies of training, each as the program of a worker's main thread. What follows a
// collective inside a client, or brings values back to its workers, are Reduction and Spread, which
// a client has beside it.
#pragma once
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/servers/servers.h"
#include "sim/training/decider.h"
#include "sim/training/worker.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace steptime {

/// What a worker does with a bucket: it joins a collective, asks servers for an exchange, or tells
/// a policy that the bucket is ready.
using Sends = std::function<void(std::size_t bucket)>;

/// Every bucket is sent when its last gradient is there, in the order of the backward pass, and the
/// next step waits for all of them: PyTorch DDP, Caffe-MPI, Horovod, MXNet's dist_sync and
/// dist_async (001 section 4), and MPI clients of servers, inside.
Task trains_step_by_step(Worker& me, Sends sends);
/// ByteScheduler, P3: a layer of the next forward pass waits for its own gradients only.
Task trains_layer_by_layer(Worker& me, Sends sends);
/// Pulls at the start of a step what the one before has pushed; a layer waits for its own values.
/// TensorFlow's parameter servers.
Task pulls_first(Worker& me, Sends pulls, Sends sends);
/// Elastic averaging (001 equations 2 and 3): in steps that exchange, parameters go to the servers
/// at the start, and come back beside the step. `inside`: what a gradient goes through among a
/// client's workers; null: a client of one.
Task averages_elastically(Worker& me, Sends exchange, Sends inside);
/// Local SGD with servers: in steps that exchange, parameters go to these at the end.
Task averages_at_servers(Worker& me, Sends exchange, Sends inside);

/// Where workers that train by themselves come together, to add up their parameters.
class Meeting {
 public:
  Meeting(TrainingRun& training, std::size_t workers) : training_(training), workers_(workers) {}
  /// A worker has come.
  void come();
  /// When the last one came.
  Time all_came() const { return all_came_; }

 private:
  TrainingRun& training_;
  std::size_t workers_;
  std::size_t come_ = 0;
  Time all_came_{};
};
/// Local SGD without servers: when all workers have ended such a step, a collective adds up their
/// parameters, bucket by bucket.
Task averages_in_collective(Worker& me, Meeting& meeting, Sends sends);

/// What watches the collectives of a client, and what a bucket's sum does then.
class Reduction final : public Group::Watch {
 public:
  using Then = std::function<void(std::span<const std::int32_t> buckets)>;
  /// `workers`: who has the gradients. `decider`: whose decisions these are; null: buckets in
  /// order. `meeting`: since when all of them are there; null: each is when its last gradient is.
  Reduction(TrainingRun& training, std::vector<Worker*> workers, Decider* decider,
            const Meeting* meeting, Then then);
  void ended(std::int64_t call, Bytes bytes, Time start) override;

 private:
  TrainingRun& training_;
  std::vector<Worker*> workers_;
  Decider* decider_;
  const Meeting* meeting_;
  Then then_;
};

/// Brings what rank 0 has pulled to the other workers of a client: a broadcast of each bucket, one
/// after another.
class Spread final : public Client, private Group::Watch {
 public:
  /// `group`: of one program, for the workers that move as one. `next` hears of the end.
  Spread(TrainingRun& training, Group& group, Client& next);
  void came(std::int32_t bucket, When end) override;
  bool counts() const override { return next_.counts(); }
  void push_is_in(std::int32_t bucket, When in) override { next_.push_is_in(bucket, in); }

 private:
  void ended(std::int64_t call, Bytes bytes, Time start) override;

  TrainingRun& training_;
  Group& group_;
  Client& next_;
  std::vector<std::int32_t> under_way_;  ///< buckets, in the order of their calls
};

}  // namespace steptime
