// Predicts the step of each schedule from all-reduces measured a moment before, writes that down,
// runs the steps for real, and compares.
#include "calibration/disturbance.h"
#include "calibration/mpi/measure.h"
#include "calibration/mpi/programs.h"
#include "calibration/mpi/real_collectives.h"
#include "calibration/mpi/step_runner.h"
#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/core/text_table.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr Verb kReplayVerb{
    "replay",
    "CONFIG",
    "predicts, runs for real under mpirun, compares",
    "",
    "mpirun --oversubscribe -n 4 steptime replay tests/calibration/replay.json",
    nullptr};
constexpr double kApart = 1.1;  // predictions whose order must be right

struct Request {
  std::string config;
  std::vector<std::string> sets;
  std::int64_t steps = 12;
  std::int64_t rounds = 12;
  std::string all_reduce;
  std::string compute;
  std::string from;
  double most_waiting_pct = 0;
  std::optional<double> tolerance_pct;
  std::string folder;
};

/// A schedule or an embedding: what was predicted, and what was measured.
struct Replayed {
  std::string schedule;  ///< or the embedding's name
  Experiment experiment;
  StepPlan plan;
  Result predicted;
  std::vector<double> seconds;  ///< what the steps took, in order

  double quantile(double share) const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], at - std::floor(at));
  }
  double median() const { return quantile(0.5); }
  double error_pct() const { return (predicted.step_time_s / median() - 1) * 100; }
};

struct Waits {
  double machine_pct = 0;
  double own_pct = 0;  ///< what a rank waited, on average
};

/// From when it is made.
class WaitClock {
 public:
  Waits waits(const MpiProcesses& world, double of_other_threads_s = 0) const {
    const double machine = machine_wait_s() - machine_;
    const double own = thread_wait_s() - own_ + of_other_threads_s;
    const double wall = std::chrono::duration<double>(Clock::now() - start_).count();
    return {machine / wall * 100, world.sum(own) / world.ranks() / wall * 100};
  }

 private:
  double machine_ = machine_wait_s();
  double own_ = thread_wait_s();
  Clock::time_point start_ = Clock::now();
};

/// Of two times of a run, the one with more.
Waits worse_of(const Waits& a, const Waits& b) {
  return a.own_pct > b.own_pct ? a : b;
}

/// Throws InputError for what an engine cannot be replayed with.
class Replayable final : public RealSteps {
 public:
  Replayable(const Request& request, const Experiment& e) : request_(request), e_(e) {}
  void of_schedule() override {}
  void of_engine() override {
    const Embedding& embedding = *e_.embedding;
    if (embedding.settings().jitter > 0 || e_.run->variation.any())
      throw InputError(fmt::format("{}: ranks that differ are not replayed in an engine", e_.file));
    if (e_.transport->policy(*e_.schedule, {}, *e_.cluster)) {
      throw InputError(
          fmt::format("{}: who decides while steps run is not replayed in an engine", e_.file));
    }
    if (request_.compute != "sleep" || request_.all_reduce != "mpi") {
      throw InputError(fmt::format(
          "{}: an engine is replayed with --compute sleep and --all-reduce mpi only", e_.file));
    }
  }

 private:
  const Request& request_;
  const Experiment& e_;
};

/// `key` of the strategy, "schedule" or "embedding", is that of this name; "": as the config says.
Experiment experiment_of(const Request& request, const char* key, const std::string& name,
                         const MpiProcesses& world) {
  std::vector<std::string> sets = request.sets;
  sets.emplace_back("/run/fidelity=analytic");
  if (!name.empty()) sets.push_back(fmt::format(R"(/strategy/{}={{"type": "{}"}})", key, name));
  Experiment e = read_experiment(load_document(request.config, sets));
  if (e.cluster->workers() != world.ranks()) {
    throw InputError(fmt::format(
        "{}: /cluster: has {} workers, but mpirun started {} ranks; --set /cluster/nodes=N", e.file,
        e.cluster->workers(), world.ranks()));
  }
  if (e.aggregation->servers.count > 0 || e.aggregation->merge || e.aggregation->clients > 1 ||
      e.update->sends_parameters()) {
    throw InputError(
        fmt::format("{}: /strategy: only synchronous SGD by all-reduce is replayed", e.file));
  }
  Replayable replayable(request, e);
  e.execution->run_for_real(replayable);
  return e;
}

std::vector<std::int64_t> sizes_of(const Experiment& e) {
  std::int64_t least = 0;
  std::int64_t all = 0;
  for (const GradientUnit& unit : e.workload->by_tensor) {
    all += unit.bytes.count;
    if (least == 0 || unit.bytes.count < least) least = unit.bytes.count;
  }
  if (least == 0) throw InputError(e.file + ": /workload: has no gradients to send");
  return size_grid(std::max<std::int64_t>(4, least), all, std::sqrt(2.0));
}

/// With the measured all-reduce in the place of the config's; null: with the config's own.
void predict(Replayed& replayed, const std::shared_ptr<const Collective>& measured) {
  Experiment& e = replayed.experiment;
  if (measured) {
    auto aggregation = std::make_shared<Aggregation>(*e.aggregation);
    aggregation->inside = measured;
    e.aggregation = std::move(aggregation);
    e.collective = measured;
  }
  const auto& units = e.workload->units(e.schedule->granularity());
  replayed.plan = plan_step(e.workload->workload, units, e.schedule->plan(units, *e.collective),
                            *e.collective, e.cluster->workers());
  replayed.predicted = simulate(e);
}

Json json_of(const Replayed& r) {
  const auto& interval = r.predicted.profile_interval_s;
  Json json{{"schedule", r.schedule},
            {"messages", r.predicted.messages},
            {"predicted_s", r.predicted.step_time_s}};
  if (interval) json["interval_s"] = {interval->low, interval->high};
  if (r.seconds.empty()) return json;
  json["measured_s"] = r.median();
  json["p10_s"] = r.quantile(0.1);
  json["p90_s"] = r.quantile(0.9);
  json["error_pct"] = r.error_pct();
  json["steps_s"] = r.seconds;
  return json;
}

/// Pairs that are predicted at least 10 % apart, and how many of them come in that order.
struct Order {
  int pairs = 0;
  int right = 0;
};

Order order_of(const std::vector<Replayed>& all) {
  Order order;
  for (const Replayed& fast : all) {
    for (const Replayed& slow : all) {
      if (slow.predicted.step_time_s < kApart * fast.predicted.step_time_s) continue;
      ++order.pairs;
      if (slow.median() > fast.median()) ++order.right;
    }
  }
  return order;
}

/// The file: the prediction alone, or with what was measured.
Json file_of(const Request& request, const MpiProcesses& world, const std::vector<Replayed>& all,
             const std::optional<MeasuredOperation>& operation, const std::optional<Waits>& waits) {
  Json list = Json::array();
  for (const Replayed& r : all)
    list.push_back(json_of(r));
  const char* status = "predicted";
  if (waits) status = waits->own_pct > request.most_waiting_pct ? "disturbed" : "measured";
  Json json{{"format", "steptime-replay"},
            {"version", 1},
            {"name", all.front().experiment.name},
            {"status", status},
            {"from", request.from},
            {"mpi", world.library()},
            {"ranks", world.ranks()},
            {"nodes", world.nodes()}};
  if (waits) {
    json["cpu_pressure_pct"] = waits->machine_pct;
    json["cpu_waits_per_rank_pct"] = waits->own_pct;
    json["most_waits_pct"] = request.most_waiting_pct;
    const Order order = order_of(all);
    json["pairs_apart"] = order.pairs;
    json["pairs_in_order"] = order.right;
  }
  json["schedules"] = list;
  if (operation) json["operations"] = operations_json({{"all-reduce", *operation}});
  return json;
}

std::string table_of(const std::vector<Replayed>& all) {
  TextTable table({"schedule", "messages", "predicted ms", "by its all-reduces", "measured ms",
                   "10 to 90 %", "error %"});
  const auto ms = [](double seconds) { return fmt::format("{:.1f}", seconds * 1e3); };
  for (const Replayed& r : all) {
    const auto& interval = r.predicted.profile_interval_s;
    const bool ran = !r.seconds.empty();
    table.add({r.schedule, fmt::format("{}", r.predicted.messages), ms(r.predicted.step_time_s),
               interval ? fmt::format("{} to {}", ms(interval->low), ms(interval->high)) : "-",
               ran ? ms(r.median()) : "",
               ran ? fmt::format("{} to {}", ms(r.quantile(0.1)), ms(r.quantile(0.9))) : "",
               ran ? fmt::format("{:+.1f}", r.error_pct()) : ""});
  }
  return table.text();
}

/// Steps in MXNet's engine, back to back, as the next forward pass overlaps what is sent.
class EmbeddedRunner {
 public:
  EmbeddedRunner(const MpiProcesses& world, const Replayed& replayed)
      : world_(world), experiment_(replayed.experiment), plan_(replayed.plan) {
    const auto keys = static_cast<std::int64_t>(plan_.buckets.size());
    std::int64_t most = 0;
    for (const Bucket& bucket : plan_.buckets)
      most = std::max(most, bucket.bytes.count);
    const std::int64_t own = experiment_.embedding->communicators(keys);
    collectives_ = std::make_unique<MpiCollectives>(
        world, most, std::clamp<std::int64_t>(own, 1, std::max<std::int64_t>(1, keys)));
  }
  /// Seconds of a step on the slowest rank, in the mean of two after four that fill the pipeline.
  double run() {
    const auto& units = experiment_.workload->units(experiment_.schedule->granularity());
    const EmbeddedStep step =
        embedded_step(*experiment_.embedding, plan_, experiment_.workload->workload, units,
                      experiment_.collective->startup(),
                      {.workers = world_.ranks(),
                       .update = experiment_.update.get(),
                       .steps = 2,
                       .real = collectives_.get()});
    return world_.most(to_seconds(step.times.step));
  }

 private:
  const MpiProcesses& world_;
  const Experiment& experiment_;
  const StepPlan& plan_;
  std::unique_ptr<MpiCollectives> collectives_;
};

/// What runs the steps of a schedule or an embedding.
class Runners final : public RealSteps {
 public:
  Runners(const Request& request, const MpiProcesses& world, AllReduce& all_reduce)
      : request_(request), world_(world), all_reduce_(all_reduce) {}
  void add(const Replayed& replayed) {
    added_ = &replayed;
    replayed.experiment.execution->run_for_real(*this);
  }
  void of_schedule() override {
    of_schedules.push_back(std::make_shared<StepRunner>(
        world_, all_reduce_, *added_->experiment.schedule, added_->plan,
        request_.compute == "work" ? ComputeAs::kWork : ComputeAs::kSleep));
    runs.emplace_back([runner = of_schedules.back()] { return runner->run(); });
  }
  void of_engine() override {
    runs.emplace_back(
        [runner = std::make_shared<EmbeddedRunner>(world_, *added_)] { return runner->run(); });
  }
  std::vector<std::shared_ptr<StepRunner>> of_schedules;
  std::vector<std::function<double()>> runs;  ///< one for each schedule or embedding, in order

 private:
  const Request& request_;
  const MpiProcesses& world_;
  AllReduce& all_reduce_;
  const Replayed* added_ = nullptr;
};

/// Interleaved, so that what changes on the machine changes for all of them; the first step of
/// each, in which memory is touched for the first time, does not count.
Waits run_steps(const Request& request, const MpiProcesses& world, AllReduce& all_reduce,
                std::vector<Replayed>& all, const OnProgress& on_progress) {
  Runners runners(request, world, all_reduce);
  for (const Replayed& r : all)
    runners.add(r);
  const WaitClock clock;
  for (std::int64_t step = -1; step < request.steps; ++step) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      const double seconds = runners.runs[k]();
      if (step >= 0) all[k].seconds.push_back(seconds);
    }
    on_progress(static_cast<double>(step + 1) / static_cast<double>(request.steps));
  }
  double communication = 0;
  for (const auto& runner : runners.of_schedules)
    communication += runner->communication_waited_s();
  return clock.waits(world, communication);
}

/// "a,b": a and b.
std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < names.size();) {
    const std::size_t comma = std::min(names.find(',', from), names.size());
    parts.push_back(names.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

Request read_request(const po::variables_map& values, Request request) {
  request.config = values["CONFIG"].as<std::string>();
  if (values.contains("tolerance")) request.tolerance_pct = values["tolerance"].as<double>();
  for (const auto& [name, value] :
       {std::pair{"--steps", request.steps}, {"--rounds", request.rounds}}) {
    if (value < 2 || value > 100'000)
      throw InputError(fmt::format("{}: expected 2 to 100000, got {}", name, value));
  }
  if (!(request.most_waiting_pct >= 0) || !(request.most_waiting_pct <= 100)) {
    throw InputError(fmt::format("--most-waiting: expected 0 to 100 per cent, got {}",
                                 request.most_waiting_pct));
  }
  if (request.tolerance_pct &&
      (!(*request.tolerance_pct >= 0) || !std::isfinite(*request.tolerance_pct))) {
    throw InputError(fmt::format("--tolerance: expected per cent of at least 0, got {}",
                                 *request.tolerance_pct));
  }
  for (const auto& [name, value, words] :
       {std::tuple{"--all-reduce", request.all_reduce, std::array{"mpi", "program"}},
        {"--compute", request.compute, std::array{"sleep", "work"}},
        {"--from", request.from, std::array{"measured", "profile"}}}) {
    if (value != words[0] && value != words[1])
      throw InputError(fmt::format("{}: unknown {}; known: {}, {}", name, brief(Json(value)),
                                   words[0], words[1]));
  }
  return request;
}

}  // namespace

Exit replay(const MpiProcesses& world, std::span<const std::string> args,
            const Terminal& terminal) {
  Request request;
  std::string schedules, embeddings;
  po::options_description options("options");
  options.add_options()("schedules", po::value(&schedules),
                        "names, separated by commas; default: the config's")(
      "embeddings", po::value(&embeddings),
      "names such as funnel,concum,depcha: each with the config's schedule")(
      "set", po::value(&request.sets)->composing(),
      "/pointer=value: replaces a value of the config")(
      "steps", po::value(&request.steps)->default_value(12), "of each schedule, interleaved")(
      "rounds", po::value(&request.rounds)->default_value(12),
      "of measuring all-reduces before the prediction")(
      "all-reduce", po::value(&request.all_reduce)->default_value("mpi"),
      "mpi: MPI's own; program: the messages of the config's collective")(
      "compute", po::value(&request.compute)->default_value("sleep"),
      "sleep until absolute deadlines, or work: keep a processor busy until then")(
      "from", po::value(&request.from)->default_value("measured"),
      "measured: predicts with all-reduces that are measured just before; profile: with those of "
      "the config's own collective, as a profile or a network model has them")(
      "most-waiting", po::value(&request.most_waiting_pct)->default_value(10),
      "per cent of the time that a rank may wait for a processor; beyond, the machine was "
      "disturbed")(
      "tolerance", po::value<double>(),
      "per cent: exit 1 when a prediction is further off, an order is wrong or the machine was "
      "disturbed")("output,o", po::value(&request.folder),
                   "folder that gets NAME.prediction.json, before the run, and NAME.replay.json");
  const auto values = parse_arguments(kReplayVerb, args, options, {"CONFIG"}, terminal);
  if (!values) return Exit::kOk;
  request = read_request(*values, std::move(request));
  if (world.ranks() < 2)
    throw InputError("expected at least 2 ranks, got 1: mpirun -n 4 steptime replay CONFIG");

  std::vector<Replayed> all;
  for (const auto& [key, names] : {std::pair{"schedule", schedules}, {"embedding", embeddings}}) {
    for (const std::string& name : split(names)) {
      all.push_back({name, experiment_of(request, key, name, world), {}, {}, {}});
    }
  }
  if (all.empty())
    all.push_back({"the config's", experiment_of(request, "", "", world), {}, {}, {}});

  const Experiment& first = all.front().experiment;
  AllReduce all_reduce(world, request.all_reduce == "program" ? first.collective : nullptr);
  std::optional<MeasuredOperation> operation;
  std::shared_ptr<const Collective> measured;
  Waits waits;
  if (request.from == "measured") {
    const WaitClock clock;
    ProgressLine line(terminal);
    operation = fit_curve(measure_all_reduce(world, all_reduce, sizes_of(first), request.rounds,
                                             line.listener()))
                    .operation;
    operation->ranks = world.ranks();
    measured = std::make_shared<MeasuredCollective>(*operation, "this run");
    waits = clock.waits(world);
  }
  for (Replayed& r : all)
    predict(r, measured);
  if (world.is_first() && !request.folder.empty()) {
    create_folder(request.folder);
    const std::string path = request.folder + "/" + first.name + ".prediction.json";
    write_file(path, file_of(request, world, all, operation, {}).dump(2) + "\n", kReplay);
    terminal.err << "wrote " << path << "\n";
  }

  {
    ProgressLine line(terminal);
    waits = worse_of(waits, run_steps(request, world, all_reduce, all, line.listener()));
  }
  const Order order = order_of(all);
  const bool disturbed = waits.own_pct > request.most_waiting_pct;
  terminal.out
      << table_of(all)
      << fmt::format(
             "compute: as the config has it; all-reduces: {}; when each is sent, and what waits: "
             "simulated\n"
             "{} of {} pairs that are predicted at least 10 % apart come in that order\n"
             "a rank waited {:.1f} % of the time for a processor (the machine: {:.1f} %): {}\n",
             measured ? "measured just before" : "predicted by the config's collective",
             order.right, order.pairs, waits.own_pct, waits.machine_pct,
             disturbed ? fmt::format("disturbed, not measured; the limit is {} %",
                                     request.most_waiting_pct)
                       : "measured");
  if (world.is_first() && !request.folder.empty()) {
    const std::string path = request.folder + "/" + first.name + ".replay.json";
    write_file(path, file_of(request, world, all, operation, waits).dump(2) + "\n", kReplay);
    terminal.err << "wrote " << path << "\n";
  }
  if (!request.tolerance_pct) return Exit::kOk;
  const bool is_close = std::all_of(all.begin(), all.end(), [&](const Replayed& r) {
    return std::abs(r.error_pct()) <= *request.tolerance_pct;
  });
  return is_close && order.right == order.pairs && !disturbed ? Exit::kOk : Exit::kComparisonFailed;
}

}  // namespace steptime
