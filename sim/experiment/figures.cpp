#include "sim/experiment/figures.h"

#include "sim/config/json_text.h"
#include "sim/core/error.h"
#include "sim/experiment/read_experiment.h"
#include "sim/layouts/play.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/compile.h>
#include <fmt/format.h>

namespace steptime {
namespace {

using Number = std::optional<double>;
using Integer = std::optional<std::int64_t>;

template <auto member>
auto of_step(const Result& r) {
  return std::optional(r.*member);
}

/// Of a run in which clients need not move in step.
template <Number (TrainingOutcome::*get)() const>
Number of_training(const Result& r) {
  return r.training ? ((*r.training).*get)() : std::nullopt;
}

/// Of a run in a framework's engine: means per step.
template <Duration Attribution::*time>
Number of_engine(const Result& r) {
  return r.embedded ? Number(to_seconds(r.embedded->attribution.*time)) : std::nullopt;
}
template <std::int64_t Attribution::*count>
Integer count_of_engine(const Result& r) {
  return r.embedded ? Integer(r.embedded->attribution.*count) : std::nullopt;
}
template <double FunnelBounds::*bound>
Number of_bounds(const Result& r) {
  return r.embedded && r.embedded->bounds ? Number((*r.embedded->bounds).*bound) : std::nullopt;
}

/// Of the seeds of a run that varies.
template <double Percentiles::*percentile>
Number of_seeds(const Result& r) {
  return r.step_percentiles ? Number((*r.step_percentiles).*percentile) : std::nullopt;
}

/// Of a training on nodes that fail.
template <double FailureTimes::*value>
Number of_failures(const Result& r) {
  return r.failures ? Number((*r.failures).*value) : std::nullopt;
}
template <double Percentiles::*percentile>
Number of_trainings(const Result& r) {
  return r.failures ? Number(r.failures->percentiles.*percentile) : std::nullopt;
}

/// What a GPU waited longest for, or null.
const std::pair<std::string, Duration>* longest_wait(const Result& r) {
  if (!r.embedded || r.embedded->attribution.waits.empty()) return nullptr;
  return &r.embedded->attribution.waits.front();
}

Json waits(const Result& r, const Details*) {
  if (!r.embedded) return nullptr;
  Json list = Json::array();
  for (const auto& [what, time] : r.embedded->attribution.waits)
    list.push_back(Json{{"for", what}, {"seconds", to_seconds(time)}});
  return list;
}

Json sent(const Result&, const Details* details) {
  if (details == nullptr) return nullptr;
  Json list = Json::array();
  for (const SentBucket& b : details->buckets) {
    list.push_back(Json{{"tensors", b.tensors},
                        {"bytes", b.bytes.count},
                        {"ready_s", b.ready_s},
                        {"start_s", b.start_s},
                        {"end_s", b.end_s}});
  }
  return list;
}

Json causes(const Result& r, const Details*) {
  return r.attribution.empty() ? Json() : causes_json(r.attribution);
}

Json links(const Result& r, const Details* details) {
  return details == nullptr || r.links.empty() ? Json() : links_json(r.links);
}

Json jobs(const Result& r, const Details*) {
  if (r.jobs.empty()) return nullptr;
  Json list = Json::array();
  for (const JobTimes& job : r.jobs) {
    list.push_back(Json{{"name", job.name},
                        {"workers", job.workers},
                        {"start_s", job.start_s},
                        {"step_time_s", job.step_s},
                        {"alone_step_time_s", job.alone_s},
                        {"slowdown", job.slowdown()}});
  }
  return list;
}

std::string fingerprint(const Result& r) {
  return fmt::format(FMT_COMPILE("{:016x}"), r.fingerprint);
}

/// A text that JSON writes as it stands.
constexpr Figure plain_text(std::string_view key, std::string_view help,
                            std::string (*get)(const Result&),
                            void (*raw)(std::string&, const Result&)) {
  return {.key = key, .help = help, .text = get, .raw = raw};
}

std::string fits(const Result& r) {
  if (!r.layout || !r.memory) return "";
  return r.layout->fits() ? "true" : "false";
}

/// With a shape.
Number tokens_per_s(const Result& r) {
  if (!r.layout || r.layout->plan->work.tokens == 0) return std::nullopt;
  return r.throughput_samples_per_s * static_cast<double>(r.layout->plan->work.tokens);
}

/// `flops`: of a sample.
Number utilization(const Result& r, double flops) {
  if (!r.layout || flops == 0) return std::nullopt;
  return flops * r.throughput_samples_per_s /
         (r.layout->plan->work.peak_flops * static_cast<double>(r.workers));
}

Json stages(const Result& r, const Details* details) {
  if (details == nullptr || !r.layout) return nullptr;
  Json list = Json::array();
  for (std::size_t rank = 0; rank < r.layout->times.ranks.size(); ++rank) {
    const StageTimes& times = r.layout->times.ranks[rank];
    Json spent = Json::array();
    for (std::size_t i = 0; i < kSpent; ++i) {
      if (times.spent[i] > Duration{}) {
        spent.push_back(
            {{"cause", name_of(static_cast<Spent>(i))}, {"seconds", to_seconds(times.spent[i])}});
      }
    }
    Json stage{{"rank", rank}, {"attribution", std::move(spent)}};
    if (r.memory) {
      Json& memory = stage["memory"];
      for (std::size_t i = 0; i < kHeldFor; ++i)
        memory[std::string(kNamesOfHeld[i]) + "_bytes"] = times.at_peak[i];
      stage["peak_bytes"] = times.peak;
      stage["peak_s"] = to_seconds(times.peak_at);
    }
    list.push_back(std::move(stage));
  }
  return list;
}

Json memory_json(const TrainingMemory& memory) {
  return {{"weights_bytes", memory.weights.count},
          {"gradients_bytes", memory.gradients.count},
          {"optimizer_bytes", memory.optimizer.count},
          {"activations_bytes", memory.activations.count},
          {"context_bytes", memory.context.count}};
}

constexpr Figure number(std::string_view key, std::string_view unit, std::string_view help,
                        Number (*get)(const Result&)) {
  return {.key = key, .unit = unit, .help = help, .number = get};
}
constexpr Figure integer(std::string_view key, std::string_view help,
                         Integer (*get)(const Result&)) {
  return {.key = key, .help = help, .integer = get};
}
constexpr Figure interval(std::string_view key, std::string_view unit, std::string_view help,
                          std::optional<Interval> (*get)(const Result&)) {
  return {.key = key, .unit = unit, .help = help, .interval = get};
}
constexpr Figure text(std::string_view key, std::string_view help,
                      std::string (*get)(const Result&)) {
  return {.key = key, .help = help, .text = get};
}
constexpr Figure list(std::string_view key, std::string_view help,
                      Json (*get)(const Result&, const Details*)) {
  return {.key = key, .help = help, .list = get};
}

constexpr std::array kFigures{
    number("step_time_s", "s",
           "from the start of a step to that of the next, in the steady state; mean over the run's "
           "steps where these differ",
           of_step<&Result::step_time_s>),
    number("compute_time_s", "s",
           "forward plus backward pass, of the slowest worker where workers wait for each other; "
           "else the mean",
           of_step<&Result::compute_time_s>),
    number("forward_time_s", "s", "forward pass", of_step<&Result::forward_time_s>),
    number("backward_time_s", "s", "backward pass", of_step<&Result::backward_time_s>),
    number("comm_busy_s", "s",
           "sum over a step's all-reduces; with servers, what the busiest one's thread was "
           "busy in a step; of an embedding in step, how long any key was under way",
           of_step<&Result::comm_busy_s>),
    number("exposed_comm_s", "s",
           "step_time_s - compute_time_s - exposed_input_s: also waits for the main thread and "
           "copies; of a layout also without its pipeline's bubble and its optimizer",
           // A difference of means: what is less than a tenth of a picosecond is rounding.
           [](const Result& r) {
             return std::optional(std::abs(r.exposed_comm_s) < 1e-13 ? 0 : r.exposed_comm_s);
           }),
    number("throughput_samples_per_s", "samples/s",
           "workers x batch / step_time_s; of workers that have steps of their own (asgd, esgd) "
           "the sum of their rates",
           of_step<&Result::throughput_samples_per_s>),
    interval("step_time_interval_s", "s", "low and high: holds what would be measured with 95 %",
             [](const Result& r) { return std::optional(r.step_time_interval_s); }),
    interval("throughput_interval_samples_per_s", "samples/s",
             "the throughputs of these two step times",
             [](const Result& r) -> std::optional<Interval> {
               if (r.step_time_interval_s.low == 0) return std::nullopt;
               const double samples = r.throughput_samples_per_s * r.step_time_s;
               return Interval{samples / r.step_time_interval_s.high,
                               samples / r.step_time_interval_s.low};
             }),
    Figure{
        .key = "interval_from",
        .help = "what the intervals are of: claims, which are published steps beside simulated "
                "ones; both: and the intervals of the profile's collectives",
        .raw = [](std::string& json,
                  const Result& r) { json += r.profile_interval_s ? R"("both")" : R"("claims")"; }},
    number("speedup", "",
           "throughput over that of one worker of the same trace; of a layout over that of one "
           "replica alone on its ranks",
           of_step<&Result::speedup>),
    number(
        "scaling_efficiency", "",
        "speedup / workers: what one worker alone computes over step_time_s; of a layout speedup / "
        "replicas, above 1 where each of them updates only a part of what one alone would",
        of_step<&Result::scaling_efficiency>),
    integer("workers", "nodes x GPUs per node", of_step<&Result::workers>),
    integer("messages", "all-reduces of a step; with servers, pushes and pulls that carry bytes",
            of_step<&Result::messages>),
    number("epoch_time_s", "s", "steps of an epoch, rounded up, x step_time_s",
           [](const Result& r) { return r.epoch_time_s; }),
    number("cold_step_time_s", "s",
           "of the first step, where nothing of a step before is under way; none where every step "
           "begins like that",
           [](const Result& r) { return r.cold_step_time_s; }),
    number("exposed_input_s", "s",
           "of a step: waits for its samples, and for nothing else; of the slowest worker where "
           "workers wait for each other, else the mean",
           [](const Result& r) { return r.exposed_input_s; }),
    number(
        "memory_bytes", "B",
        "that a worker's step needs at least: weights, gradients, optimizer, activations, context",
        [](const Result& r) -> Number {
          if (!r.memory) return std::nullopt;
          return static_cast<double>(r.memory->total().count);
        }),
    interval("memory_interval_bytes", "B",
             "of a layout: low and high, as far off as the furthest of published runs",
             [](const Result& r) { return r.memory_interval_bytes; }),
    Figure{.key = "fits",
           .help = "of a layout: whether the fullest rank's memory is no more than its device has",
           .text = fits,
           .raw = [](std::string& json, const Result& r) { json += fits(r); }},
    number("tokens_per_s", "tokens/s", "of a layout: of all replicas together",
           [](const Result& r) { return tokens_per_s(r); }),
    number("tokens_per_s_per_gpu", "tokens/s", "the same over workers",
           [](const Result& r) -> Number {
             const Number tokens = tokens_per_s(r);
             if (!tokens) return std::nullopt;
             return *tokens / static_cast<double>(r.workers);
           }),
    number("mfu", "",
           "of a layout: three forward passes, with the causal half of attention, over the peak of "
           "all GPUs' products",
           [](const Result& r) {
             return utilization(r, r.layout ? r.layout->plan->work.model_flops : 0);
           }),
    number("hfu", "", "the same with what backward passes compute again",
           [](const Result& r) {
             return utilization(
                 r, r.layout ? r.layout->plan->work.model_flops + r.layout->plan->flops_again : 0);
           }),
    list("stages",
         "of a layout: each rank of the pipeline, with its attribution, which adds up to the step, "
         "its memory by part at its peak, and when that is",
         stages),
    number("device_memory_bytes", "B", "that the device has",
           [](const Result& r) -> Number {
             if (!r.memory || !r.memory->device) return std::nullopt;
             return static_cast<double>(r.memory->device->count);
           }),
    list("memory", "by what it is for",
         [](const Result& r, const Details* details) {
           return details != nullptr && r.memory ? memory_json(*r.memory) : Json();
         }),
    number("step_time_p50_s", "s", "of a run that varies: what half of the seeds do not exceed",
           of_seeds<&Percentiles::p50>),
    number("step_time_p95_s", "s", "the same of 95 %", of_seeds<&Percentiles::p95>),
    number("step_time_p99_s", "s", "the same of 99 %", of_seeds<&Percentiles::p99>),
    number("training_time_s", "s",
           "of a training on nodes that fail, checkpoints and restarts included; mean over the "
           "seeds",
           of_failures<&FailureTimes::mean>),
    number("training_time_p50_s", "s", "what half of the seeds do not exceed",
           of_trainings<&Percentiles::p50>),
    number("training_time_p95_s", "s", "the same of 95 %", of_trainings<&Percentiles::p95>),
    number("training_time_p99_s", "s", "the same of 99 %", of_trainings<&Percentiles::p99>),
    number("useful_share", "", "of training_time_s, what the steps take by themselves",
           of_failures<&FailureTimes::useful_share>),
    number("checkpoint_interval_s", "s", "of work between two checkpoints",
           of_failures<&FailureTimes::interval>),
    number("slowdown", "",
           "of the first of several jobs on one network: step_time_s over that on the same nodes "
           "without the others",
           [](const Result& r) {
             return r.jobs.empty() ? std::nullopt : Number(r.jobs.front().slowdown());
           }),
    list("jobs",
         "several jobs on one network, in their order: name, workers, start_s, step_time_s, "
         "alone_step_time_s on the same nodes without the others, and their ratio, slowdown",
         jobs),
    number("staleness_mean", "updates", "of servers: updates that an update has not seen, mean",
           [](const Result& r) -> Number {
             if (!r.training || !r.training->has_servers()) return std::nullopt;
             return r.training->mean_staleness();
           }),
    number("fullest_server", "", "of several servers: bytes on the fullest over an even share",
           [](const Result& r) -> Number {
             if (!r.training || !r.training->has_servers() || r.training->servers < 2)
               return std::nullopt;
             return r.training->fullest_server;
           }),
    number("final_accuracy", "", "of what is learnt, at the end; mean over the seeds",
           of_training<&TrainingOutcome::final_accuracy>),
    number("time_to_target_s", "s", "until the target accuracy; median over the seeds",
           of_training<&TrainingOutcome::time_to_target>),
    number("time_to_target_min_s", "s", "of the fastest seed",
           of_training<&TrainingOutcome::fastest_to_target>),
    number("time_to_target_max_s", "s", "of the slowest seed, where all reach the target",
           of_training<&TrainingOutcome::slowest_to_target>),
    number("epochs_to_target", "epochs",
           "of what is learnt, until the target; median over the seeds",
           of_training<&TrainingOutcome::epochs_to_target>),
    list("training", "of every seed: staleness histogram and accuracy curve",
         [](const Result& r, const Details* details) {
           return details != nullptr && r.training ? r.training->json() : Json();
         }),
    number("hidden_under_backward_s", "s",
           "communication under the backward pass, per step of an embedding",
           of_engine<&Attribution::hidden_under_backward>),
    number("hidden_under_forward_s", "s",
           "communication under the next forward pass, per step of an embedding",
           of_engine<&Attribution::hidden_under_forward>),
    number("exposed_s", "s",
           "communication while the GPU computes nothing, per step of an embedding",
           of_engine<&Attribution::exposed>),
    number("idle_without_communication_s", "s",
           "neither communication nor computing: main thread, copies, other ranks",
           of_engine<&Attribution::idle>),
    number("longest_gpu_wait_s", "s", "the longest wait of an embedding's GPU, per step",
           [](const Result& r) -> Number {
             const auto* wait = longest_wait(r);
             return wait == nullptr ? std::nullopt : Number(to_seconds(wait->second));
           }),
    text("longest_gpu_wait_for", "what that wait is for",
         [](const Result& r) {
           const auto* wait = longest_wait(r);
           return wait == nullptr ? std::string() : wait->first;
         }),
    list("gpu_waits", "all waits of that GPU, longest first: for, seconds", waits),
    integer("simulated_steps", "that an embedding played", count_of_engine<&Attribution::steps>),
    integer("transient_steps",
            "of those, before the steady state, or before the last half, where they do not settle",
            count_of_engine<&Attribution::transient_steps>),
    number("transient_s", "s",
           "by how much these took longer than steady ones, in all, from a step's forward "
           "pass to the next one's; 0 where they took no longer",
           of_engine<&Attribution::transient>),
    number("funnel_serial_s", "s",
           "calls, pushes, wake-ups and copies of Funnel's main thread in a step",
           [](const Result& r) -> Number {
             if (!r.embedded || !r.embedded->bounds) return std::nullopt;
             return to_seconds(r.embedded->bounds->serial);
           }),
    number("funnel_over_depcha_forward", "",
           "Funnel's step over DepCha's at most, with keys in forward order",
           of_bounds<&FunnelBounds::forward_order>),
    number("funnel_over_depcha_backward", "", "the same with keys in backward order",
           of_bounds<&FunnelBounds::backward_order>),
    list("buckets", "in the order in which they are sent: tensors, bytes, ready_s, start_s, end_s",
         sent),
    Figure{.key = "domain",
           .help =
               "how much the result is worth: status (validated, extrapolated, unvalidated); n, "
               "typical_pct and, of three testbeds or more, worst_pct of the measurements of its "
               "kind; beyond: "
               "reasons",
           .text = [](const Result& r) { return r.domain.text(); },
           .raw = [](std::string& json, const Result& r) { r.domain.append_json(json); }},
    list(
        "links",
        "what each link carries in a step, and how much of it it is busy, the one that limits "
        "first: from, to, kind, bandwidth_GBps, bytes, busy; in full results, of messages; of runs "
        "of many steps both are means over all that are played, also where step_time_s is a later "
        "one's",
        links),
    list("attribution",
         "what the step's time is spent on along its critical path, which adds up to it: cause, "
         "resource, seconds; in full results, of runs with up to 20 million messages",
         causes),
    plain_text("fingerprint", "of the order and times of all events, 16 hexadecimal digits",
               fingerprint,
               [](std::string& json, const Result& r) {
                 char digits[] = R"("0123456789abcdef")";
                 std::uint64_t rest = r.fingerprint;
                 for (std::size_t i = 16; i > 0; --i, rest >>= 4)
                   digits[i] = "0123456789abcdef"[rest & 15];
                 json += digits;
               }),
    Figure{.key = "format_version",
           .help = "of results as this one: the same number, the same keys",
           .raw = [](std::string& json, const Result&) { append_number(json, kResultFormat); }},
    plain_text(
        "version", "of Steptime", [](const Result&) { return std::string(STEPTIME_VERSION); },
        [](std::string& json, const Result&) { json += "\"" STEPTIME_VERSION "\""; }),
    list("inputs",
         "the files that it was computed from beside the config, seen from the config's folder or, "
         "of those that are shipped, behind \"steptime:\": their SHA-1; of `run`",
         [](const Result&, const Details* details) {
           return details == nullptr || details->inputs.empty() ? Json() : Json(details->inputs);
         }),
    list("config", "the experiment with every default written out",
         [](const Result&, const Details* details) {
           return details == nullptr ? Json() : resolved(details->config);
         })};

}  // namespace

Json causes_json(std::span<const Cause> causes) {
  Json list = Json::array();
  for (const Cause& c : causes)
    list.push_back(Json{{"cause", c.cause}, {"resource", c.resource}, {"seconds", c.seconds}});
  return list;
}

std::span<const Figure> figures() {
  return kFigures;
}

std::optional<double> value_of(const Figure& figure, const Result& result) {
  if (figure.number != nullptr) return figure.number(result);
  if (figure.integer == nullptr) return std::nullopt;
  const auto count = figure.integer(result);
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

std::string shown(const Shown& how, const Result& result) {
  const auto figure = std::find_if(kFigures.begin(), kFigures.end(),
                                   [&](const Figure& f) { return f.key == how.key; });
  STEPTIME_CHECK(figure != kFigures.end(), std::string(how.key));
  if (figure->text != nullptr) return figure->text(result);
  const auto value = value_of(*figure, result);
  if (value) return fmt::format("{:.{}f}{}", *value * how.factor, how.decimals, how.unit);
  const bool misses =
      result.training && result.training->learns && how.key.starts_with("time_to_target");
  return misses ? "never" : "";
}

}  // namespace steptime
