#include "sim/mxnet/embedding.h"

#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/events/engine.h"
#include "sim/mxnet/apart_clients.h"
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
    co_await (this->*trains)(worker);
    co_await worker.update_metric();
  }
}

Task Embedding::descends(MpiRank& worker) const {
  co_await worker.samples();
  co_await worker.forward_backward();
  worker.sends(Payload::kGradient);
  if (worker.adds_up()) {
    co_await aggregate(worker);
    co_return;
  }
  for (const std::int32_t key : worker.keys())
    co_await worker.update(key);
}

Task Embedding::averages_elastically(MpiRank& worker) const {
  if (worker.exchanges()) {
    worker.sends(Payload::kParametersBeside);
    co_await aggregate(worker);
  }
  co_await descends(worker);
}

Task Embedding::averages_at_end(MpiRank& worker) const {
  co_await descends(worker);
  if (!worker.exchanges()) co_return;
  worker.sends(Payload::kParameters);
  co_await aggregate(worker);
}

void Embedding::check(const Config& strategy, const Aggregation& aggregation,
                      const Update& /*update*/) const {
  if (!has_main_thread() || (aggregation.merge == nullptr && !aggregation.beyond)) return;
  strategy.fail(
      "embedding",
      "issues all-reduces, but a kvstore merges by operations of its own; expected {\"type\": "
      "\"module\"} or {\"type\": \"async\"}");
}

Task Embedding::aggregate(MpiRank& /*worker*/) const {
  STEPTIME_CHECK(false, "an embedding without settings has no main thread to play");
  co_return;
}

namespace {

/// Ranks that train the same parameters at servers, where others train their own.
std::int64_t members_of(const EmbeddedRun& run) {
  return run.served != nullptr ? run.served->members() : 1;
}

/// Dissemination: in round i every rank tells the one 2^i further on.
Duration barrier_time(const EmbeddedRun& run) {
  const std::int64_t ranks = run.served != nullptr ? members_of(run) : run.workers;
  std::int64_t rounds = 0;
  while ((std::int64_t{1} << rounds) < ranks)
    ++rounds;
  return rounds * run.latency;
}

/// What a batch is to a rank that stands beside so many others of its client.
class Chosen final : public ClientPrograms {
 public:
  Chosen(const Update& update, std::int64_t members, RankOps& operations)
      : adds_up_(members > 1), operations_(operations) {
    update.choose(*this);
  }
  Embedding::Trains trains() const { return trains_; }
  bool adds_up() const { return adds_up_; }

 private:
  void send_gradients() override {
    trains_ = &Embedding::descends;
    adds_up_ = true;
  }
  void send_parameters_at_end() override { trains_ = &Embedding::averages_at_end; }
  void send_parameters_at_start() override {
    trains_ = &Embedding::averages_elastically;
    operations_.keep_apart();
  }

  Embedding::Trains trains_ = nullptr;
  bool adds_up_;
  RankOps& operations_;
};

bool ranks_differ(const MxnetSettings& settings, const EmbeddedRun& run) {
  return settings.jitter > 0 || run.variation.any();
}

/// What ranks take is another in each step.
bool steps_differ(const MxnetSettings& settings, const EmbeddedRun& run) {
  return settings.jitter > 0 || run.variation.changes();
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
  const double most = steps_differ(settings, run) ? steps : 72 * period;
  if (run.timeline != nullptr) {
    // A key: two copies, its collective, an update, and waits of the main thread.
    const auto bars = static_cast<double>(8 * graph.keys.size() + graph.segments.size());
    check_bars(bars * ranks * most);
  }
  // Twenty events for a key or segment; measured, at about 150 ns each.
  const double runs =
      ranks_differ(settings, run) || run.learning > 0 ? static_cast<double>(run.seeds) : 0;
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
  if (!(step * most <= kLongestSeconds)) {
    throw RangeError(
        fmt::format("{} steps of up to {} s each, more than the {} s that can be simulated", most,
                    step, kLongestSeconds));
  }
}

/// What hands a key over, to a policy or servers, holds no thread until it returns: there are as
/// many as may be under way, of a key its gradient and its parameters.
MxnetSettings settings_of(const Embedding& embedding, const StepPlan& plan,
                          const EmbeddedRun& run) {
  MxnetSettings settings = embedding.settings();
  if (run.decided.policy || run.served != nullptr)
    settings.collective_threads = std::max<std::int64_t>(2 * std::ssize(plan.buckets), 1);
  return settings;
}

/// The ranks of a run, with all that they share.
class Ranks {
 public:
  /// `apart`: of clients that do not wait for each other; null: they do.
  Ranks(World& world, const Embedding& embedding, const StepPlan& plan, const Workload& workload,
        std::span<const GradientUnit> units, Duration startup, const EmbeddedRun& run,
        ClientSteps* apart = nullptr);
  /// Throws ModelFailure when they wait for each other for ever.
  void play();
  EmbeddedStep step(const Causes* causes) const;
  TrainingTimes times(ApartClients& apart, const Causes* causes) const;

 private:
  Communicators::Ways ways();
  std::int32_t communicators() const {
    const std::int64_t keys = std::max<std::int64_t>(std::ssize(graph_.keys), 1);
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(embedding_.communicators(keys), 1, keys));
  }
  Duration computed(std::int64_t rank, std::int64_t step) const;
  Duration computed_by_trainer(std::int64_t trainer, std::int64_t step) const;
  Duration compute_of_slowest() const;
  std::vector<LinkUse> links(double steps) const {
    return mpi_.links_to_servers(to_seconds(world_.now() - Time{}), steps);
  }

  World& world_;
  const Embedding& embedding_;
  const StepPlan& plan_;
  const EmbeddedRun& run_;
  const MxnetSettings settings_;
  const TrainingGraph graph_;
  bool differ_;
  bool steps_differ_;
  std::int32_t ranks_;
  std::int64_t period_;
  RandomStream random_;
  InputPipeline input_;
  RankRecord record_;
  ClientSteps& steps_;
  std::optional<RankGpus> gpus_;
  Communicators mpi_;
  RankOps operations_;
  const EngineReasons reasons_;
  std::vector<std::unique_ptr<MpiRank>> workers_;
  std::vector<Task> main_threads_;
};

Ranks::Ranks(World& world, const Embedding& embedding, const StepPlan& plan,
             const Workload& workload, std::span<const GradientUnit> units, Duration startup,
             const EmbeddedRun& run, ClientSteps* apart)
    : world_(world),
      embedding_(embedding),
      plan_(plan),
      run_(run),
      settings_(settings_of(embedding, plan, run)),
      graph_(training_graph(plan, workload, units, startup, settings_.bulk)),
      differ_(ranks_differ(settings_, run)),
      steps_differ_(steps_differ(settings_, run)),
      ranks_(static_cast<std::int32_t>(ranks_played(settings_, run))),
      period_(run.update->period()),
      random_(run.seed, Purpose::kSegmentTime),
      input_(plan.input),
      record_(world.engine, graph_,
              steps_differ_ || run.real != nullptr || run.learning > 0 || apart != nullptr
                  ? std::optional(run.steps)
                  : std::nullopt,
              &input_, period_, std::max(run.learning, period_)),
      steps_(apart != nullptr ? *apart : record_),
      mpi_(world, graph_, ways(), ranks_, communicators(), record_),
      operations_(graph_, settings_),
      reasons_(world.engine) {
  const std::int64_t exchanges = run.steps / period_ + 8;
  check_events(mpi_.play_cost() * static_cast<double>(exchanges) * static_cast<double>(run.seeds),
               "/run/fidelity", "messages of two links",
               "analytic fidelity plays none, and neither do embeddings with one communicator");
  const Chosen chosen(*run.update, members_of(run), operations_);
  RankGpus* const gpus = gpus_ ? &*gpus_ : nullptr;
  const bool one_clock =
      run.one_clock || !steps_differ_ || run.timeline != nullptr || gpus_ || apart != nullptr;
  const MpiRank::Run shared{world.engine,  graph_,      settings_,        operations_, mpi_,
                            record_,       steps_,      input_,           reasons_,    random_,
                            run.variation, *run.update, chosen.adds_up(), run.seed,    one_clock,
                            gpus};
  for (std::int32_t rank = 0; rank < ranks_; ++rank)
    workers_.push_back(std::make_unique<MpiRank>(shared, rank, run.timeline));
  for (const auto& worker : workers_)
    main_threads_.push_back(embedding.main_thread(*worker, chosen.trains()));
}

/// On one communicator no two all-reduces are in flight together: then what each takes alone, as
/// the plan says, is exact at both fidelities, unless kernels change the speed of links.
Communicators::Ways Ranks::ways() {
  check_size(plan_, graph_, settings_, run_);
  Communicators::Ways ways{.barrier = barrier_time(run_),
                           .links = run_.links,
                           .real = run_.real,
                           .decided = run_.decided,
                           .served = run_.served,
                           .steps = &steps_};
  const bool are_alone = run_.served != nullptr ||
                         (communicators() == 1 && !run_.decided.policy && run_.overlap.links == 1);
  if (!takes(FastPath::kCollectivesAlone, are_alone)) ways.played = run_.played;
  if (run_.overlap.any()) {
    ways.gpus = &gpus_.emplace(world_, run_.overlap, ranks_, run_.workers);
    record_.share(gpus_->of(0));
  }
  return ways;
}

void Ranks::play() {
  const auto start = [this](std::int32_t rank) {
    world_.start({"rank", rank}, std::move(main_threads_[static_cast<std::size_t>(rank)]));
  };
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    Domain& own = workers_[static_cast<std::size_t>(rank)]->domain();
    own.at(When{}, Phase::kNormal, [&start, rank] { start(rank); });
    own.start();
  }
  Engine& clock = world_.engine;
  if (run_.real != nullptr) run_.real->run(clock);
  constexpr std::int64_t kBatch = 16;  // every rank may run far ahead between two events
  const auto steps = static_cast<double>(run_.steps + 8 * period_);
  for (std::int64_t events = 1; clock.step(); ++events) {
    if (run_.on_progress && events % kBatch == 0)
      run_.on_progress(static_cast<double>(record_.step()) / steps);
  }
  mpi_.expect_over();
  const bool all_ended = std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) {
    return worker->engine().pending() == 0;
  });
  if (world_.stuck().empty() && all_ended) return;
  for (const auto& worker : workers_)
    worker->draw_stuck();
  Time now{};
  for (const auto& worker : workers_)
    now = std::max(now, worker->domain().now());
  throw ModelFailure(describe_deadlock(mpi_, workers_, now));
}

Duration Ranks::computed(std::int64_t rank, std::int64_t step) const {
  const RankOps::Pace pace{run_.variation.factor(run_.seed, rank, step), settings_.jitter, random_,
                           static_cast<std::int32_t>(rank), step};
  Duration sum{};
  for (std::size_t i = 0; i < graph_.segments.size(); ++i) {
    const RankOps::Label label = RankOps::label_of(RankOps::Kind::kCompute, i);
    sum += pace.time_of(label, operations_.body(label));
  }
  return sum;
}

/// Its ranks wait for each other in every step.
Duration Ranks::computed_by_trainer(std::int64_t trainer, std::int64_t step) const {
  const std::int64_t members = members_of(run_);
  Duration longest{};
  for (std::int64_t rank = trainer * members; rank < (trainer + 1) * members; ++rank)
    longest = std::max(longest, computed(rank, step));
  return longest;
}

/// Of a mean step, which begins when the slowest rank's gradients are there.
Duration Ranks::compute_of_slowest() const {
  if (!differ_) return plan_.forward + plan_.backward;
  const MeetingSteps steps{record_.measured_from(), record_.measured_to(), period_};
  return computed_by_slowest(steps, run_.workers / members_of(run_),
                             [this](std::int64_t trainer, std::int64_t step) {
                               return computed_by_trainer(trainer, step);
                             }) /
         (steps.last - steps.first);
}

EmbeddedStep Ranks::step(const Causes* causes) const {
  Duration busy = record_.lost();
  for (const Bucket& bucket : plan_.buckets)
    busy += bucket.cost / period_;
  if (run_.served != nullptr) {  // what keys cost there is known when they are back
    const Attribution a = record_.attribution();
    busy = a.hidden_under_backward + a.hidden_under_forward + a.exposed;
  }
  EmbeddedStep step = recorded_step(plan_, record_, compute_of_slowest(), busy, causes);
  const bool sends_gradients = run_.update->trainers(run_.workers) == 1;
  if (sends_gradients && run_.update->has_met(1)) step.bounds = funnel_bounds(plan_, settings_);
  const std::vector<Duration>& ends = record_.ends();
  step.cold = ends[static_cast<std::size_t>(period_ - 1)] / period_;
  step.ends = {ends.begin(), ends.begin() + std::max<std::int64_t>(run_.learning, 1)};
  step.simulated_ranks = ranks_;
  const auto steps = static_cast<double>(record_.step() + 1);
  step.links = links(steps);
  if (run_.served != nullptr)
    step.messages = static_cast<double>(mpi_.servers()->messages()) / steps;
  return step;
}

TrainingTimes Ranks::times(ApartClients& apart, const Causes* causes) const {
  const auto computed = [this](std::int64_t client, std::int64_t step) {
    return differ_ ? computed_by_trainer(client, step) : plan_.forward + plan_.backward;
  };
  TrainingTimes times = apart.times(*mpi_.servers(), record_, computed, causes);
  times.links = links(static_cast<double>(apart.played()));
  return times;
}

EmbeddedStep play_step(const Embedding& embedding, const StepPlan& plan, const Workload& workload,
                       std::span<const GradientUnit> units, Duration startup,
                       const EmbeddedRun& run) {
  Causes kept;
  Causes* const causes = run.attributes ? &kept : nullptr;
  World world(causes);
  Ranks ranks(world, embedding, plan, workload, units, startup, run);
  ranks.play();
  return ranks.step(causes);
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
  if (run.real != nullptr || steps_differ(embedding.settings(), run)) return play(plan, draws);
  if (run.learning == 0) return paced_step(plan, draws, play);
  EmbeddedRun steady = run;
  steady.learning = 0;
  EmbeddedStep step = embedded_step(embedding, plan, workload, units, startup, steady);
  step.ends = play(plan, false).ends;
  return step;
}

TrainingTimes embedded_clients(const Embedding& embedding, const StepPlan& plan,
                               const Workload& workload, std::span<const GradientUnit> units,
                               Duration startup, const EmbeddedRun& run, Learner* learner,
                               Causes* causes) {
  World world(causes);
  const auto ranks = static_cast<std::int32_t>(ranks_played(embedding.settings(), run));
  ApartClients apart(*run.served, world.engine, ranks, learner);
  Ranks played(world, embedding, plan, workload, units, startup, run, &apart);
  played.play();
  return played.times(apart, causes);
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
