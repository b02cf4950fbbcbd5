#include "sim/mxnet/embedding.h"

#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/events/engine.h"
#include "sim/mxnet/communicators.h"
#include "sim/mxnet/deadlock.h"
#include "sim/mxnet/mean_step.h"
#include "sim/mxnet/mpi_rank.h"
#include "sim/mxnet/paced_step.h"
#include "sim/runtime/world.h"
#include "sim/training/plan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {

Task Embedding::main_thread(MpiRank& worker, Trains trains) const {
  for (;;) {
    const bool goes_on = co_await worker.next_batch();
    if (!goes_on) co_return;
    co_await worker.samples();
    co_await (this->*trains)(worker);
    co_await worker.update_metric();
  }
}

Task Embedding::descends_by_sums(MpiRank& worker) const {
  co_await worker.forward_backward();
  co_await aggregate(worker);
}

Task Embedding::averages_at_end(MpiRank& worker) const {
  co_await worker.forward_backward();
  for (const std::int32_t key : worker.keys())
    co_await worker.update(key);
  if (!worker.exchanges()) co_return;
  worker.sends(RankOps::Sent::kParameters);
  co_await aggregate(worker);
}

void Embedding::check(const Config& strategy, const Aggregation& aggregation,
                      const Update& /*update*/) const {
  if (!has_main_thread() || (aggregation.merge == nullptr && !aggregation.beyond)) return;
  strategy.fail(
      "embedding",
      fmt::format("issues all-reduces, but this kvstore merges by operations of its own; expected "
                  "{}{{\"type\": \"async\"}}",
                  aggregation.beyond ? "" : "{\"type\": \"module\"} or "));
}

Task Embedding::aggregate(MpiRank& /*worker*/) const {
  STEPTIME_CHECK(false, "an embedding without settings has no main thread to play");
  co_return;
}

namespace {

/// Dissemination: in round i every rank tells the one 2^i further on.
Duration barrier_time(const EmbeddedRun& run) {
  std::int64_t rounds = 0;
  while ((std::int64_t{1} << rounds) < run.workers)
    ++rounds;
  return rounds * run.latency;
}

/// What each batch is to its main thread.
class Chosen final : public ClientPrograms {
 public:
  explicit Chosen(const Update& update) { update.choose(*this); }
  Embedding::Trains trains() const { return trains_; }

 private:
  void send_gradients() override { trains_ = &Embedding::descends_by_sums; }
  void send_parameters_at_end() override { trains_ = &Embedding::averages_at_end; }
  void send_parameters_at_start() override {
    STEPTIME_CHECK(false, "ranks that meet without servers have no centre to average with");
  }

  Embedding::Trains trains_ = nullptr;
};

bool ranks_differ(const MxnetSettings& settings, const EmbeddedRun& run) {
  return settings.jitter > 0 || run.variation.any();
}

/// Without what tells ranks apart one stands for all that wait for each other in every all-reduce:
/// for those of a client, where clients meet at servers.
std::int64_t ranks_played(const MxnetSettings& settings, const EmbeddedRun& run) {
  if (!takes(FastPath::kOneRankForAll, !ranks_differ(settings, run))) return run.workers;
  return run.served != nullptr ? run.served->aggregation.clients : 1;
}

/// The sizes of a run stay within their types and in memory.
void check_size(const StepPlan& plan, const TrainingGraph& graph, const MxnetSettings& settings,
                const EmbeddedRun& run) {
  constexpr std::size_t kMostIndices = std::size_t{1} << 24;  // of an operation's tag
  if (graph.segments.size() >= kMostIndices || graph.keys.size() >= kMostIndices) {
    throw RangeError(fmt::format("{} compute segments and {} keys, more than the {} of an engine",
                                 graph.segments.size(), graph.keys.size(), kMostIndices));
  }
  const bool is_random = ranks_differ(settings, run);
  const auto ranks = static_cast<double>(ranks_played(settings, run));
  const auto period = static_cast<double>(run.update->period());
  const auto in_a_step = static_cast<double>(graph.keys.size() + graph.segments.size());
  constexpr double kMostOfAPeriod = 2e6;
  if (period > 1 && in_a_step * period > kMostOfAPeriod) {
    throw PlacedError(
        fmt::format("/strategy/update: {} steps from one exchange to the next, with {} keys and {} "
                    "compute segments each, are more than fit in an engine; expected fewer",
                    run.update->period(), graph.keys.size(), graph.segments.size()));
  }
  constexpr double kMostRankKeys = 2e7;  // about 10 GB
  const double rank_keys = ranks * in_a_step * period;
  if (rank_keys > kMostRankKeys) {
    throw RangeError(fmt::format(
        "with jitter or variation every rank is simulated: {} ranks with {} keys and {} compute "
        "segments each are more than fit; without, one rank stands for all",
        run.workers, graph.keys.size(), graph.segments.size()));
  }
  const double steps = static_cast<double>(run.steps) + 8 * period;
  if (run.timeline != nullptr) {
    // A key: two copies, its collective, an update, and waits of the main thread.
    const auto bars = static_cast<double>(8 * graph.keys.size() + graph.segments.size());
    check_bars(bars * (is_random ? static_cast<double>(run.workers) * steps : 72 * period));
  }
  // Twenty events for a key or segment; measured, at about 150 ns each.
  const double runs = is_random || run.learning > 0 ? static_cast<double>(run.seeds) : 0;
  check_events(20 * ranks * in_a_step * steps * runs, "/run/steps", "events",
               "without jitter and variation one rank stands for all, in a few steps");
  // No step takes longer than everything in it one after the other.
  const double calls = to_seconds(settings.python_call) + to_seconds(settings.engine_push) +
                       to_seconds(settings.wake_up);
  const double stretch = 1 + settings.jitter;
  const auto keys = static_cast<double>(graph.keys.size());
  double step = (to_seconds(plan.forward) + to_seconds(plan.backward)) * stretch *
                    std::max(1.0, run.variation.most()) +
                8 * calls * (keys + static_cast<double>(graph.segments.size()) + 1) +
                to_seconds(plan.input) +
                keys * (to_seconds(settings.update) + 32 * to_seconds(run.latency));
  for (const Bucket& bucket : plan.buckets) {
    step += to_seconds(bucket.cost) +
            2 * stretch *
                (to_seconds(settings.copy_latency) + static_cast<double>(bucket.bytes.count) /
                                                         settings.copy_bandwidth.bytes_per_second);
  }
  const double most = is_random ? steps : 72 * period;
  if (!(step * most <= kLongestSeconds)) {
    throw RangeError(
        fmt::format("{} steps of up to {} s each, more than the {} s that can be simulated", most,
                    step, kLongestSeconds));
  }
}

/// On one communicator no two all-reduces are in flight together: then what each takes alone, as
/// the plan says, is exact at both fidelities, unless kernels change the speed of links.
Communicators::Ways ways_of(const EmbeddedRun& run, std::int32_t communicators) {
  Communicators::Ways ways{.barrier = barrier_time(run),
                           .links = run.links,
                           .real = run.real,
                           .decided = run.decided,
                           .served = run.served};
  const bool are_alone = run.served != nullptr ||
                         (communicators == 1 && !run.decided.policy && run.overlap.links == 1);
  if (!takes(FastPath::kCollectivesAlone, are_alone)) ways.played = run.played;
  return ways;
}

/// Of a mean step, which begins when the slowest rank's gradients are there.
Duration compute_of_slowest(const TrainingGraph& graph, const RankOps& operations, double jitter,
                            const EmbeddedRun& run, const RankRecord& recorder) {
  const RandomStream random(run.seed, Purpose::kSegmentTime);
  const auto computed = [&](std::int64_t rank, std::int64_t step) {
    const RankOps::Pace pace{run.variation.factor(run.seed, rank, step), jitter, random,
                             static_cast<std::int32_t>(rank), step};
    Duration sum{};
    for (std::size_t i = 0; i < graph.segments.size(); ++i) {
      const RankOps::Label label = RankOps::label_of(RankOps::Kind::kCompute, i);
      sum += pace.time_of(label, operations.body(label));
    }
    return sum;
  };
  const MeetingSteps steps{recorder.measured_from(), recorder.measured_to(), run.update->period()};
  return computed_by_slowest(steps, run.workers, computed) / (steps.last - steps.first);
}

EmbeddedStep play_step(const Embedding& embedding, const StepPlan& plan, const Workload& workload,
                       std::span<const GradientUnit> units, Duration startup,
                       const EmbeddedRun& run) {
  MxnetSettings settings = embedding.settings();
  const TrainingGraph graph = training_graph(plan, workload, units, startup, settings.bulk);
  const auto keys = static_cast<std::int64_t>(graph.keys.size());
  // What hands a key over, to a policy or servers, holds no thread until it returns.
  if (run.decided.policy || run.served != nullptr)
    settings.collective_threads = std::max<std::int64_t>(keys, 1);
  const bool is_random = ranks_differ(settings, run);
  const auto ranks = static_cast<std::int32_t>(ranks_played(settings, run));
  const auto communicators = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(embedding.communicators(keys), 1, std::max<std::int64_t>(keys, 1)));
  Communicators::Ways ways = ways_of(run, communicators);
  check_size(plan, graph, settings, run);
  const Update& update = *run.update;
  const std::int64_t period = update.period();

  Causes kept;
  Causes* const causes = run.attributes ? &kept : nullptr;
  World world(causes);
  Engine& clock = world.engine;
  const bool counts_steps = is_random || run.real != nullptr || run.learning > 0;
  InputPipeline input(plan.input);
  RankRecord recorder(clock, graph, counts_steps ? std::optional(run.steps) : std::nullopt, &input,
                      period, std::max(run.learning, period));
  std::optional<RankGpus> gpus;
  if (run.overlap.any()) {
    ways.gpus = &gpus.emplace(world, run.overlap, ranks, run.workers);
    recorder.share(gpus->of(0));
  }
  Communicators mpi(world, graph, ways, ranks, communicators, recorder);
  check_events(mpi.play_cost() * static_cast<double>(run.steps / period + 8) *
                   static_cast<double>(run.seeds),
               "/run/fidelity", "messages of two links",
               "analytic fidelity plays none, and neither do embeddings with one communicator");
  RankOps operations(graph, settings);
  const EngineReasons reasons(clock);
  const MpiRank::Run shared{clock,
                            graph,
                            settings,
                            operations,
                            mpi,
                            recorder,
                            input,
                            reasons,
                            RandomStream(run.seed, Purpose::kSegmentTime),
                            run.variation,
                            update,
                            run.seed,
                            run.one_clock || !is_random || run.timeline != nullptr || gpus,
                            ways.gpus};
  std::vector<std::unique_ptr<MpiRank>> workers;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    workers.push_back(std::make_unique<MpiRank>(shared, rank, run.timeline));
  std::vector<Task> main_threads;
  for (const auto& worker : workers)
    main_threads.push_back(embedding.main_thread(*worker, Chosen(update).trains()));
  const auto start = [&](std::int32_t rank) {
    world.start({"rank", rank}, std::move(main_threads[static_cast<std::size_t>(rank)]));
  };
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    Domain& own = workers[static_cast<std::size_t>(rank)]->domain();
    own.at(When{}, Phase::kNormal, [&start, rank] { start(rank); });
    own.start();
  }
  if (run.real != nullptr) run.real->run(clock);
  constexpr std::int64_t kBatch = 16;  // every rank may run far ahead between two events
  for (std::int64_t events = 1; clock.step(); ++events) {
    if (run.on_progress && events % kBatch == 0) {
      run.on_progress(static_cast<double>(recorder.step()) /
                      static_cast<double>(run.steps + 8 * period));
    }
  }
  mpi.expect_over();
  const bool all_ended = std::all_of(workers.begin(), workers.end(), [](const auto& worker) {
    return worker->engine().pending() == 0;
  });
  if (!world.stuck().empty() || !all_ended) {
    for (const auto& worker : workers)
      worker->draw_stuck();
    Time now{};
    for (const auto& worker : workers)
      now = std::max(now, worker->domain().now());
    throw ModelFailure(describe_deadlock(mpi, workers, now));
  }
  Duration busy{};
  for (const Bucket& bucket : plan.buckets)
    busy += bucket.cost;
  busy = busy / period + recorder.lost();
  const Duration compute =
      is_random ? compute_of_slowest(graph, operations, settings.jitter, run, recorder)
                : plan.forward + plan.backward;
  EmbeddedStep step = recorded_step(plan, recorder, compute, busy, causes);
  if (update.ends_together()) step.bounds = funnel_bounds(plan, settings);
  step.cold = recorder.ends()[static_cast<std::size_t>(period - 1)] / period;
  step.ends = {recorder.ends().begin(),
               recorder.ends().begin() + std::max<std::int64_t>(run.learning, 1)};
  step.simulated_ranks = ranks;
  step.links = mpi.links_to_servers(to_seconds(clock.now() - Time{}),
                                    static_cast<double>(recorder.step() + 1));
  return step;
}

}  // namespace

EmbeddedStep embedded_step(const Embedding& embedding, const StepPlan& plan,
                           const Workload& workload, std::span<const GradientUnit> units,
                           Duration startup, const EmbeddedRun& run) {
  const bool draws = run.timeline != nullptr;
  const auto play = [&](const StepPlan& of, bool is_drawn) {
    EmbeddedRun played = run;
    if (!is_drawn) played.timeline = nullptr;
    return play_step(embedding, of, workload, units, startup, played);
  };
  if (run.real != nullptr || ranks_differ(embedding.settings(), run)) return play(plan, draws);
  if (run.learning == 0) return paced_step(plan, draws, play);
  EmbeddedRun steady = run;
  steady.learning = 0;
  EmbeddedStep step = embedded_step(embedding, plan, workload, units, startup, steady);
  step.ends = play(plan, false).ends;
  return step;
}

FunnelBounds funnel_bounds(const StepPlan& plan, const MxnetSettings& settings) {
  Duration serial{};
  double s = 0;
  for (const Bucket& bucket : plan.buckets) {
    serial += 3 * settings.python_call + 4 * settings.engine_push + settings.wake_up +
              settings.copy_latency + inverse(settings.copy_bandwidth) * bucket.bytes;
    s += to_seconds(bucket.cost);
  }
  const double f = to_seconds(plan.forward);
  const double b = to_seconds(plan.backward);
  const double nd = to_seconds(serial);
  return {serial, (f + b + s + nd) / (b + std::max(f, s)),
          (f + std::max(b, s + nd)) / std::max(f + b, s)};
}

}  // namespace steptime
