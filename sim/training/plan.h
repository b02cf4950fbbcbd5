// What a training run depends on, and what it tells: the cluster, who sends what to whom, which
// part of a bucket is where on servers. How it goes is the workers' programs (programs.h).
//
// Scope: at most `streams` all-reduces of a client are under way at once, and one broadcast; all of
// them share links with each other and with pushes and pulls. A client moves at the speed of its
// slowest worker. A bucket is one message to each server that holds a part of it, or a message of
// its own (KeyKind). Source: 001 sections 4 and 5.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/core/limits.h"
#include "sim/events/causes.h"
#include "sim/events/timeline.h"
#include "sim/learning/learning.h"
#include "sim/servers/aggregation.h"
#include "sim/servers/pieces.h"
#include "sim/servers/transport.h"
#include "sim/step/step.h"
#include "sim/workload/variation.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// When the push and the pull of a bucket are issued, from the start of a step.
struct Issued {
  Duration push;
  Duration pull;
};

class Machine;
class Network;
class Roads;
class World;
struct TrainingPlan;
/// What pushes, pulls and collectives inside a client go through: closed forms and ports, or
/// messages on links (sim/training/roads.h). World and plan must outlive it. Throw InputError.
std::unique_ptr<Roads> closed_roads(World& world, const TrainingPlan& plan);
std::unique_ptr<Roads> message_roads(World& world, const TrainingPlan& plan);

/// A network that several trainings have together, as one of them sees it.
struct SharedNetwork {
  Network* network = nullptr;
  const Machine* machine = nullptr;  ///< whose links these are
  std::vector<std::int64_t> nodes;   ///< the network's that it has, in the order of its own
  /// Whether any has steps to report yet, while which all go on, with more than they report.
  std::function<bool()> any_trains;
};

/// All that a run depends on.
struct TrainingPlan {
  Cluster cluster;
  Aggregation aggregation;
  std::shared_ptr<const Update> update{};
  Variation variation;
  std::shared_ptr<const Transport> transport{};
  std::shared_ptr<const Schedule> schedule{};  ///< null: buckets go in order
  /// Of an all-reduce inside a client, when nothing else is under way.
  std::function<Duration(Bytes)> inside_time{};
  /// What that passes for, where it is the time of its messages; null: a closed form.
  std::function<PlayedParts(Bytes)> inside_parts{};
  /// Of an all-reduce inside a client and the passes beside it; null: none.
  std::function<Slowdown(Bytes)> beside{};
  /// The same of a broadcast there.
  std::function<Slowdown(Bytes)> beside_spread{};
  /// Links inside nodes are slower while kernels run, by the cluster's factor: messages know that
  /// themselves.
  bool kernels_slow_links = false;
  StepPlan step;  ///< cost: of the all-reduce inside a client
  /// What is trained, for drawings; null: its passes are drawn as wholes.
  std::shared_ptr<const Workload> workload{};
  std::span<const GradientUnit> units{};   ///< the workload owns them
  std::vector<std::string> names;          ///< one for each bucket
  std::vector<std::vector<Piece>> pieces;  ///< where each bucket is; none without servers
  /// With servers beyond the nodes: what these hold of each piece.
  std::vector<std::vector<Piece>> pieces_beyond;
  std::vector<Issued> issued;    ///< when each bucket is; none: at once
  std::vector<Duration> needed;  ///< when the forward pass comes to each bucket's first layer
  std::int64_t steps = 1;        ///< as many are reported
  /// Which those are of the steps that the run plays (sim/training/reported_steps.h).
  enum class Reported { kAll, kAfterTwo, kSteady } reported = Reported::kAll;
  std::unique_ptr<Roads> (*roads)(World&, const TrainingPlan&) = closed_roads;
  Time start{};                           ///< when its first step begins
  const SharedNetwork* shared = nullptr;  ///< with other trainings; null: it is alone
  OnProgress on_progress{};

  /// Whether collectives and passes slow each other down, other than by their links.
  bool slows_down() const { return beside || beside_spread; }
  /// Workers of a client.
  std::int64_t members() const { return cluster.workers() / aggregation.clients; }
  /// Every worker trains parameters of its own; a collective of all adds these up.
  bool workers_meet() const { return update->sends_parameters() && aggregation.servers.count == 0; }
  /// Who trains parameters of its own: clients; without them workers.
  std::int64_t trainers() const { return workers_meet() ? cluster.workers() : aggregation.clients; }
  /// A layer of a forward pass waits for its own gradients of the step before only.
  bool layers_wait() const;
  /// Steps up to the second exchange.
  std::int64_t warm_up() const { return 2 * update->period(); }
  /// Steps that the run plays; as a rule, where it is to find its steady state.
  std::int64_t played_steps() const {
    if (reported == Reported::kAll) return steps;
    return steps + (reported == Reported::kSteady ? 2 : 1) * warm_up();
  }
  /// Clients that push as one to the last servers.
  std::int64_t pushing() const {
    return aggregation.beyond ? aggregation.clients / cluster.nodes : 1;
  }
};

/// Which steps tell what a step takes, where nothing is learnt (sim/training/reported_steps.h).
TrainingPlan::Reported reported_steps(const TrainingPlan& plan);

/// All-reduces inside clients, and messages with their servers, of a whole run.
double work_of(const TrainingPlan& plan);
/// Events of all its steps with so many seeds, about, at 60 to 900 ns each: a worker's speed, an
/// all-reduce and a message are one, two and five.
double training_events(const TrainingPlan& plan, std::int64_t seeds);
/// Throws PlacedError for a run that takes far longer than ten minutes, or whose messages with
/// servers do not fit into memory.
void check_training_work(const TrainingPlan& plan, std::int64_t seeds);

/// The pieces of every bucket; `parameters`: how many are learnt, spread over the elements of the
/// keys in forward order. Where the keys are buckets, `buckets` become the shards, each with one
/// piece, and `inside` says what a shard costs.
std::vector<std::vector<Piece>> cut_pieces(const Workload& workload,
                                           std::span<const GradientUnit> units,
                                           std::vector<Bucket>& buckets, const ServerGroup& servers,
                                           const Collective& inside, Granularity granularity,
                                           std::size_t parameters);

/// In the same way, what `beyond` hold of every piece that `servers` have; both shard tensors.
std::vector<std::vector<Piece>> cut_pieces_beyond(const Workload& workload,
                                                  std::span<const GradientUnit> units,
                                                  std::span<const Bucket> buckets,
                                                  const ServerGroup& servers,
                                                  const ServerGroup& beyond,
                                                  Granularity granularity, std::size_t parameters);

/// When a thread issues what it has to for each bucket; none when that takes no time.
std::vector<Issued> issue_times(const IssuingThread& thread, const Workload& workload,
                                std::span<const GradientUnit> units,
                                std::span<const Bucket> buckets, Granularity granularity);

/// What each is called in drawings.
std::vector<std::string> bucket_names(std::span<const Bucket> buckets,
                                      std::span<const GradientUnit> units);

/// When the forward pass comes to the first layer of each bucket; at once where the layers' times
/// are not known.
std::vector<Duration> forward_starts(const Trace& trace, std::span<const GradientUnit> units,
                                     std::span<const Bucket> buckets);

struct TrainingTimes {
  /// Mean over the reported steps: of the last client where they wait for each other, else over
  /// clients. What follows is of these steps, too.
  double step_s = 0;
  /// Where clients have steps of their own, how many of these one makes in a second, in the mean.
  std::optional<double> rate_per_s{};
  std::int64_t unsettled_steps = 0;     ///< as many were played that came to no steady state
  std::optional<double> cold_step_s{};  ///< the first exchange's, where it is another one
  /// Forward plus backward pass: the slowest client's where they wait for each other, else a mean.
  double compute_s = 0;
  double input_s = 0;         ///< mean over clients of waits for samples, before a forward pass
  double server_busy_s = 0;   ///< per step, of the busiest server's thread
  double end_s = 0;           ///< when the last client is done with the run
  std::int64_t messages = 0;  ///< pushes and pulls with bytes in the whole run
  double messages_per_step = 0;
  std::vector<std::int64_t> staleness;  ///< how many updates met a range changed that many times
                                        ///< since their client had pulled it
  std::vector<CurvePoint> curve;
  /// What client 0 sent in a step in which it exchanges: the first one that is reported, or the
  /// last one where it is the steady one. Buckets that travelled as one, and when these were ready,
  /// were sent and were back, after the start of the step.
  struct Sent {
    std::vector<std::int32_t> buckets;
    Duration ready{};
    Duration start{};
    Duration end{};
  };
  std::vector<Sent> sent;
  /// The same by bucket, where each travels by itself.
  std::vector<BucketTimes> by_bucket() const;
  double all_reduces = 0;          ///< per step, of client 0
  double reduce_busy_s = 0;        ///< per step, what these take when nothing else is under way
  std::vector<Cause> attribution;  ///< what step_s passes for; none where causes are not kept
  std::vector<LinkUse> links{};    ///< where messages were played
  std::uint64_t fingerprint = 0;

  double mean_staleness() const;
};

}  // namespace steptime
