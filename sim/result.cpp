#include "sim/result.h"

#include "sim/error.h"
#include "sim/fingerprint.h"
#include "sim/message_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

struct Figure {
  std::string_view key;
  std::optional<double> (*get)(const Result&);
};

constexpr std::array kFigures{
    Figure{"step_time_s", [](const Result& r) -> std::optional<double> { return r.step_time_s; }},
    Figure{"compute_time_s",
           [](const Result& r) -> std::optional<double> { return r.compute_time_s; }},
    Figure{"forward_time_s",
           [](const Result& r) -> std::optional<double> { return r.forward_time_s; }},
    Figure{"backward_time_s",
           [](const Result& r) -> std::optional<double> { return r.backward_time_s; }},
    Figure{"comm_busy_s", [](const Result& r) -> std::optional<double> { return r.comm_busy_s; }},
    Figure{"exposed_comm_s",
           [](const Result& r) -> std::optional<double> { return r.exposed_comm_s; }},
    Figure{"throughput_samples_per_s",
           [](const Result& r) -> std::optional<double> { return r.throughput_samples_per_s; }},
    Figure{"speedup", [](const Result& r) -> std::optional<double> { return r.speedup; }},
    Figure{"scaling_efficiency",
           [](const Result& r) -> std::optional<double> { return r.scaling_efficiency; }},
    Figure{"workers",
           [](const Result& r) -> std::optional<double> { return static_cast<double>(r.workers); }},
    Figure{
        "messages",
        [](const Result& r) -> std::optional<double> { return static_cast<double>(r.messages); }},
    Figure{"epoch_time_s", [](const Result& r) { return r.epoch_time_s; }}};

/// Of a training run.
struct TrainingFigure {
  std::string_view key;
  std::optional<double> (*get)(const TrainingOutcome&);
};

constexpr std::array kTrainingFigures{
    TrainingFigure{"staleness_mean",
                   [](const TrainingOutcome& t) -> std::optional<double> {
                     return t.has_servers ? std::optional(t.mean_staleness()) : std::nullopt;
                   }},
    TrainingFigure{"final_accuracy", [](const TrainingOutcome& t) { return t.final_accuracy(); }},
    TrainingFigure{"time_to_target_s", [](const TrainingOutcome& t) { return t.time_to_target(); }},
    TrainingFigure{"time_to_target_min_s",
                   [](const TrainingOutcome& t) { return t.fastest_to_target(); }},
    TrainingFigure{"time_to_target_max_s",
                   [](const TrainingOutcome& t) { return t.slowest_to_target(); }},
    TrainingFigure{"epochs_to_target",
                   [](const TrainingOutcome& t) { return t.epochs_to_target(); }}};

template <class Visit>
void visit_training(const Result& result, Visit visit) {
  if (!result.training) return;
  for (const TrainingFigure& figure : kTrainingFigures) {
    if (const auto value = figure.get(*result.training)) visit(figure.key, *value);
  }
}

/// A bar of a timeline takes about 100 B: as much memory as 1e8 bars fit in.
constexpr double kEventsPerBar = 100;

constexpr std::array<std::string_view, 3> kTexts{"domain", "fingerprint", "version"};

struct PlannedStep {
  const PreparedWorkload& workload;
  const std::vector<GradientUnit>& units;
  StepPlan plan;
};

/// `played`: the costs at message fidelity, if they are known.
PlannedStep plan_of(const Experiment& e, const std::vector<Duration>* played,
                    const OnProgress& on_progress = {}) {
  const auto& units = e.workload->units(e.schedule->granularity());
  BucketPlan buckets;
  if (e.cluster->workers() > 1) buckets = e.schedule->plan(units, *e.collective);
  PlannedStep step{
      *e.workload, units,
      plan_step(e.workload->workload, units, buckets, *e.collective, e.cluster->workers())};
  if (played != nullptr) {
    for (std::size_t i = 0; i < played->size(); ++i)
      step.plan.buckets[i].cost = (*played)[i];
  } else if (e.run->fidelity == Fidelity::kMessage) {
    play_buckets(step.plan, *e.cluster, *e.collective, on_progress);
  }
  return step;
}

std::string domain_of(const Experiment& e, const StepPlan& plan) {
  std::string domain = e.workload->workload.trace.domain;
  for (const Bucket& bucket : plan.buckets) {
    const std::string outside = e.collective->outside_domain(bucket.bytes);
    if (outside.empty()) continue;
    return domain == "inside" ? outside : domain + "; " + outside;
  }
  return domain;
}

/// The figures that follow from step and compute time.
void derive(const Experiment& e, Result& r) {
  const Workload& workload = e.workload->workload;
  const auto workers = static_cast<double>(e.cluster->workers());
  const auto batch = static_cast<double>(workload.trace.batch);
  if (r.step_time_s == 0) throw RangeError("a step takes no time at all");
  r.throughput_samples_per_s = workers * batch / r.step_time_s;
  r.scaling_efficiency = r.compute_time_s / r.step_time_s;
  r.speedup = workers * r.scaling_efficiency;
  r.workers = e.cluster->workers();
  if (workload.dataset_samples) {
    const double steps =
        std::ceil(static_cast<double>(*workload.dataset_samples) / (workers * batch));
    r.epoch_time_s = steps * r.step_time_s;
  }
}

Result result_of(const Experiment& e, const StepPlan& plan, const StepTimes& times) {
  const Duration compute = plan.forward + plan.backward;
  Result r;
  r.step_time_s = to_seconds(times.step);
  r.compute_time_s = to_seconds(compute);
  r.forward_time_s = to_seconds(plan.forward);
  r.backward_time_s = to_seconds(plan.backward);
  r.comm_busy_s = to_seconds(times.comm_busy);
  r.exposed_comm_s = to_seconds(times.exposed_comm);
  r.messages = static_cast<std::int64_t>(plan.buckets.size());
  r.domain = domain_of(e, plan);
  r.fingerprint = times.fingerprint;
  if (e.run->fidelity == Fidelity::kMessage) {
    std::vector<Duration> played;
    for (const Bucket& bucket : plan.buckets)
      played.push_back(bucket.cost);
    r.played = std::make_shared<const std::vector<Duration>>(std::move(played));
  }
  derive(e, r);
  return r;
}

Result training_result(const Experiment& e, const OnProgress& on_progress) {
  TrainingPlan plan = plan_training(e);
  plan.on_progress = on_progress;
  auto outcome = std::make_shared<TrainingOutcome>(run_training(e, plan));
  const auto runs = static_cast<double>(outcome->runs.size());
  Result r;
  double messages = 0;
  for (const TrainingTimes& run : outcome->runs) {
    r.step_time_s += run.step_s / runs;
    r.compute_time_s += run.compute_s / runs;
    r.comm_busy_s += run.server_busy_s / runs;
    messages += static_cast<double>(run.messages) / runs / static_cast<double>(plan.steps);
    r.fingerprint = mix(r.fingerprint, run.fingerprint);
  }
  const double nominal = to_seconds(plan.step.forward + plan.step.backward);
  const double stretch = nominal > 0 ? r.compute_time_s / nominal : 0;
  r.forward_time_s = to_seconds(plan.step.forward) * stretch;
  r.backward_time_s = to_seconds(plan.step.backward) * stretch;
  r.exposed_comm_s = r.step_time_s - r.compute_time_s;
  r.messages = std::llround(messages);
  r.domain = domain_of(e, plan.step);
  r.training = std::move(outcome);
  derive(e, r);
  return r;
}

EmbeddedStep play(const Experiment& e, const PlannedStep& step, Timeline* timeline) {
  return embedded_step(*e.embedding, step.plan, step.workload.workload, step.units,
                       e.collective->startup(),
                       {.workers = e.cluster->workers(),
                        .latency = e.cluster->bottleneck().latency,
                        .steps = e.run->steps,
                        .seed = e.run->seed,
                        .timeline = timeline});
}

Result result_of(const Experiment& e, const PlannedStep& step, Timeline* timeline) {
  const auto embedded = std::make_shared<EmbeddedStep>(play(e, step, timeline));
  Result result = result_of(e, step.plan, embedded->times);
  result.embedded = embedded;
  return result;
}

/// What is out of range comes from several numbers, so only the file can be named.
template <class Run>
Result naming_the_file(const Experiment& experiment, Run run) {
  try {
    return run();
  } catch (const RangeError& e) {
    throw InputError(fmt::format("{}: {}", experiment.file, e.what()));
  }
}

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

Json attribution_json(const Attribution& a) {
  Json waits = Json::array();
  for (const auto& [what, time] : a.waits)
    waits.push_back(Json{{"for", what}, {"seconds", to_seconds(time)}});
  return {{"hidden_under_backward_s", to_seconds(a.hidden_under_backward)},
          {"hidden_under_forward_s", to_seconds(a.hidden_under_forward)},
          {"exposed_s", to_seconds(a.exposed)},
          {"idle_without_communication_s", to_seconds(a.idle)},
          {"gpu_waits", waits},
          {"steps", a.steps},
          {"transient_steps", a.transient_steps},
          {"transient_s", to_seconds(a.transient)}};
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f} ms", seconds * 1e3);
}

}  // namespace

double Result::figure(std::string_view key) const {
  for (const Figure& figure : kFigures) {
    if (figure.key != key) continue;
    if (const auto value = figure.get(*this)) return *value;
    throw InputError(fmt::format("\"{}\" is not known for this run", key));
  }
  std::optional<double> found;
  visit_training(*this, [&](std::string_view name, double value) {
    if (name == key) found = value;
  });
  if (found) return *found;
  for (const TrainingFigure& figure : kTrainingFigures) {
    if (figure.key == key) throw InputError(fmt::format("\"{}\" is not known for this run", key));
  }
  throw InputError(fmt::format("\"{}\" is no figure of a result; known: {}", key,
                               fmt::join(result_keys().first(kFigures.size()), ", ")));
}

Result simulate(const Experiment& experiment, const OnProgress& on_progress) {
  return naming_the_file(experiment, [&] {
    if (needs_training(experiment)) return training_result(experiment, on_progress);
    const PlannedStep step = plan_of(experiment, nullptr, on_progress);
    if (experiment.embedding->settings()) return result_of(experiment, step, nullptr);
    return result_of(experiment, step.plan, closed_step(step.plan));
  });
}

Result simulate(const Experiment& experiment, Timeline& timeline, const OnProgress& on_progress) {
  return naming_the_file(experiment, [&] {
    if (needs_training(experiment)) {
      throw RangeError("a timeline is drawn for all-reduce without variation only");
    }
    const PlannedStep step = plan_of(experiment, nullptr, on_progress);
    if (experiment.embedding->settings()) return result_of(experiment, step, &timeline);
    check_events(static_cast<double>(experiment.run->steps) *
                     static_cast<double>(2 * step.plan.buckets.size() +
                                         2 * experiment.workload->workload.trace.layers.size()) *
                     kEventsPerBar,
                 "/run/steps", "events", "a timeline shows every step");
    return result_of(experiment, step.plan,
                     event_step(step.plan, step.workload.workload, step.units,
                                experiment.run->steps, &timeline));
  });
}

namespace {

/// Of client 0's first step.
std::vector<SentBucket> training_buckets(const Experiment& experiment) {
  TrainingPlan plan = plan_training(experiment);
  plan.steps = 1;
  const TrainingTimes times = play_training(plan, experiment.run->seed, nullptr, nullptr, 0);
  const auto& units = experiment.workload->units(experiment.schedule->granularity());
  std::vector<SentBucket> sent;
  for (std::size_t i = 0; i < plan.step.buckets.size(); ++i) {
    const Bucket& bucket = plan.step.buckets[i];
    sent.push_back({{},
                    bucket.bytes,
                    to_seconds(times.bucket_ready[i]),
                    to_seconds(times.bucket_sent[i]),
                    to_seconds(times.bucket_end[i])});
    for (std::int32_t u = 0; u < bucket.units; ++u)
      sent.back().tensors.push_back(units[static_cast<std::size_t>(bucket.first_unit + u)].name);
  }
  return sent;
}

}  // namespace

std::vector<SentBucket> sent_buckets(const Experiment& experiment, const Result& result) {
  if (needs_training(experiment)) return training_buckets(experiment);
  const PlannedStep step = plan_of(experiment, result.played.get());
  std::vector<StepRecorder::KeyTimes> times(step.plan.buckets.size());
  if (experiment.embedding->settings()) {
    times = result.embedded ? result.embedded->buckets : play(experiment, step, nullptr).buckets;
  } else {
    std::vector<Duration> ends(times.size());
    closed_step(step.plan, ends);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Bucket& bucket = step.plan.buckets[i];
      times[i] = {bucket.ready, ends[i] - bucket.cost, ends[i]};
    }
  }
  std::vector<SentBucket> sent;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Bucket& bucket = step.plan.buckets[i];
    SentBucket row{{},
                   bucket.bytes,
                   to_seconds(times[i].ready),
                   to_seconds(times[i].start),
                   to_seconds(times[i].end)};
    for (std::int32_t u = 0; u < bucket.units; ++u) {
      row.tensors.push_back(step.units[static_cast<std::size_t>(bucket.first_unit + u)].name);
    }
    sent.push_back(std::move(row));
  }
  std::stable_sort(sent.begin(), sent.end(),
                   [](const SentBucket& a, const SentBucket& b) { return a.start_s < b.start_s; });
  return sent;
}

std::span<const std::string_view> result_keys() {
  static constexpr auto kKeys = [] {
    std::array<std::string_view, kFigures.size() + kTexts.size()> keys;
    std::size_t i = 0;
    for (const Figure& figure : kFigures)
      keys[i++] = figure.key;
    for (const std::string_view text : kTexts)
      keys[i++] = text;
    return keys;
  }();
  return kKeys;
}

void append_json(std::string& text, const Result& result) {
  auto out = std::back_inserter(text);
  for (const Figure& figure : kFigures) {
    if (const auto value = figure.get(result))
      fmt::format_to(out, "\"{}\":{},", figure.key, *value);
  }
  visit_training(result, [&](std::string_view key, double value) {
    fmt::format_to(out, "\"{}\":{},", key, value);
  });
  fmt::format_to(out, "\"domain\":{},\"fingerprint\":\"{:016x}\",\"version\":\"{}\"",
                 result.domain == "inside" ? "\"inside\"" : Json(result.domain).dump(),
                 result.fingerprint, STEPTIME_VERSION);
}

Json full_json(const Result& result, std::span<const SentBucket> buckets, const Json& config) {
  Json json;
  for (const Figure& figure : kFigures) {
    const auto value = figure.get(result);
    if (value && (figure.key == "workers" || figure.key == "messages")) {
      json[std::string(figure.key)] = static_cast<std::int64_t>(*value);
    } else if (value) {
      json[std::string(figure.key)] = *value;
    }
  }
  visit_training(result,
                 [&](std::string_view key, double value) { json[std::string(key)] = value; });
  if (result.training) json["training"] = result.training->json();
  json["buckets"] = Json::array();
  for (const SentBucket& b : buckets) {
    json["buckets"].push_back(Json{{"tensors", b.tensors},
                                   {"bytes", b.bytes.count},
                                   {"ready_s", b.ready_s},
                                   {"start_s", b.start_s},
                                   {"end_s", b.end_s}});
  }
  if (result.embedded) {
    json["attribution"] = attribution_json(result.embedded->attribution);
    json["funnel_over_depcha_at_most"] =
        Json{{"serial_s", to_seconds(result.embedded->bounds.serial)},
             {"forward_key_order", result.embedded->bounds.forward_order},
             {"backward_key_order", result.embedded->bounds.backward_order}};
  }
  json["domain"] = result.domain;
  json["fingerprint"] = fingerprint_text(result.fingerprint);
  json["version"] = STEPTIME_VERSION;
  json["config"] = resolved(config);
  return json;
}

std::vector<std::string> csv_cells(const Result& result) {
  std::vector<std::string> cells;
  for (const Figure& figure : kFigures) {
    const auto value = figure.get(result);
    cells.push_back(value ? fmt::format("{}", *value) : "");
  }
  cells.push_back(result.domain);
  cells.push_back(fingerprint_text(result.fingerprint));
  cells.emplace_back(STEPTIME_VERSION);
  return cells;
}

std::string summary(const Experiment& e, const Result& r) {
  const Trace& trace = e.workload->workload.trace;
  std::string text =
      fmt::format("{}: {} on {}, batch {} per worker, {} worker{}\n\n", e.name, trace.model,
                  trace.device, trace.batch, r.workers, r.workers == 1 ? "" : "s");
  const auto line = [&](std::string_view label, const std::string& value, const std::string& note) {
    text += fmt::format("  {:<14}{:>16}{}{}\n", label, value, note.empty() ? "" : "   ", note);
  };
  line("step time", milliseconds(r.step_time_s), "");
  line("  forward", milliseconds(r.forward_time_s), "");
  line("  backward", milliseconds(r.backward_time_s), "");
  line("  exposed comm", milliseconds(r.exposed_comm_s),
       fmt::format("of {} in {} message{}", milliseconds(r.comm_busy_s), r.messages,
                   r.messages == 1 ? "" : "s"));
  if (r.embedded) {
    const Attribution& a = r.embedded->attribution;
    const auto ms = [](Duration d) { return milliseconds(to_seconds(d)); };
    line("communication", ms(a.hidden_under_backward + a.hidden_under_forward + a.exposed), "");
    line("  hidden", ms(a.hidden_under_backward), "under the backward pass");
    line("  hidden", ms(a.hidden_under_forward), "under the next forward pass");
    line("  exposed", ms(a.exposed), "");
    line("GPU idle", ms(a.idle), "without communication: main thread, copies, other ranks");
    for (std::size_t i = 0; i < std::min<std::size_t>(a.waits.size(), 3); ++i)
      line("  GPU waits", ms(a.waits[i].second), "for " + a.waits[i].first);
    line("transient", ms(a.transient),
         fmt::format("difference from steady of the first {} of {} steps in all", a.transient_steps,
                     a.steps));
    line("Funnel/DepCha", fmt::format("{:.3f} x", r.embedded->bounds.forward_order),
         fmt::format("bound in forward key order; {:.3f} in backward order",
                     r.embedded->bounds.backward_order));
  }
  line("throughput", fmt::format("{:.2f} /s", r.throughput_samples_per_s), "samples, all workers");
  line("speedup", fmt::format("{:.2f} x", r.speedup),
       fmt::format("of {}: scaling efficiency {:.1f} %", r.workers, r.scaling_efficiency * 100));
  if (r.epoch_time_s) line("epoch", fmt::format("{:.1f} s", *r.epoch_time_s), "");
  visit_training(r, [&](std::string_view key, double value) {
    line(std::string(key), fmt::format("{:.4g}", value), "");
  });
  line("domain", r.domain == "inside" ? "inside" : "extrapolated",
       r.domain == "inside" ? "" : r.domain);
  line("fingerprint", fingerprint_text(r.fingerprint), "");
  return text;
}

}  // namespace steptime
