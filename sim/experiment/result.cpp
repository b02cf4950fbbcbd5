#include "sim/experiment/result.h"

#include "sim/core/error.h"

#include <algorithm>
#include <array>
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
template <std::optional<double> (TrainingOutcome::*get)() const>
std::optional<double> of_training(const Result& r) {
  return r.training ? ((*r.training).*get)() : std::nullopt;
}

constexpr std::array kTrainingFigures{
    Figure{"staleness_mean",
           [](const Result& r) -> std::optional<double> {
             if (!r.training || !r.training->has_servers) return std::nullopt;
             return r.training->mean_staleness();
           }},
    Figure{"final_accuracy", of_training<&TrainingOutcome::final_accuracy>},
    Figure{"time_to_target_s", of_training<&TrainingOutcome::time_to_target>},
    Figure{"time_to_target_min_s", of_training<&TrainingOutcome::fastest_to_target>},
    Figure{"time_to_target_max_s", of_training<&TrainingOutcome::slowest_to_target>},
    Figure{"epochs_to_target", of_training<&TrainingOutcome::epochs_to_target>}};

/// Of a run in a framework's engine: means per step.
template <Duration Attribution::*time>
std::optional<double> of_engine(const Result& r) {
  if (!r.embedded) return std::nullopt;
  return to_seconds(r.embedded->attribution.*time);
}

constexpr std::array kEngineFigures{
    Figure{"hidden_under_backward_s", of_engine<&Attribution::hidden_under_backward>},
    Figure{"hidden_under_forward_s", of_engine<&Attribution::hidden_under_forward>},
    Figure{"exposed_s", of_engine<&Attribution::exposed>},
    Figure{"idle_without_communication_s", of_engine<&Attribution::idle>}};

/// What a GPU waited longest for, or null.
const std::pair<std::string, Duration>* longest_wait(const Result& r) {
  if (!r.embedded || r.embedded->attribution.waits.empty()) return nullptr;
  return &r.embedded->attribution.waits.front();
}

constexpr std::array kWaitFigures{
    Figure{"longest_gpu_wait_s", [](const Result& r) -> std::optional<double> {
             const auto* wait = longest_wait(r);
             return wait == nullptr ? std::nullopt : std::optional(to_seconds(wait->second));
           }}};

/// All of them, in order.
constexpr auto kAllFigures = [] {
  std::array<Figure, kFigures.size() + kTrainingFigures.size() + kEngineFigures.size() +
                         kWaitFigures.size()>
      all{};
  auto* end = all.data();
  for (const std::span<const Figure> some :
       {std::span<const Figure>(kFigures), std::span<const Figure>(kTrainingFigures),
        std::span<const Figure>(kEngineFigures), std::span<const Figure>(kWaitFigures)})
    end = std::copy(some.begin(), some.end(), end);
  return all;
}();

template <class Visit>
void visit(const Result& result, std::span<const Figure> figures, Visit visit_one) {
  for (const Figure& figure : figures) {
    if (const auto value = figure.get(result)) visit_one(figure.key, *value);
  }
}

constexpr std::array<std::string_view, 4> kTexts{"longest_gpu_wait_for", "domain", "fingerprint",
                                                 "version"};

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

Json attribution_json(const Result& result) {
  const Attribution& a = result.embedded->attribution;
  Json waits = Json::array();
  for (const auto& [what, time] : a.waits)
    waits.push_back(Json{{"for", what}, {"seconds", to_seconds(time)}});
  Json json{{"gpu_waits", waits},
            {"steps", a.steps},
            {"transient_steps", a.transient_steps},
            {"transient_s", to_seconds(a.transient)}};
  visit(result, kEngineFigures, [&](auto key, double value) { json[std::string(key)] = value; });
  return json;
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f} ms", seconds * 1e3);
}

}  // namespace

double Result::figure(std::string_view key) const {
  for (const Figure& figure : kAllFigures) {
    if (figure.key != key) continue;
    if (const auto value = figure.get(*this)) return *value;
    throw InputError(fmt::format("\"{}\" is not known for this run", key));
  }
  throw InputError(fmt::format("\"{}\" is no figure of a result; known: {}", key,
                               fmt::join(result_keys().first(kAllFigures.size()), ", ")));
}

std::span<const std::string_view> result_keys() {
  static constexpr auto kKeys = [] {
    std::array<std::string_view, kAllFigures.size() + kTexts.size()> keys;
    std::size_t i = 0;
    for (const Figure& figure : kAllFigures)
      keys[i++] = figure.key;
    for (const std::string_view text : kTexts)
      keys[i++] = text;
    return keys;
  }();
  return kKeys;
}

void append_json(std::string& text, const Result& result) {
  auto out = std::back_inserter(text);
  visit(result, kAllFigures,
        [&](std::string_view key, double value) { fmt::format_to(out, "\"{}\":{},", key, value); });
  if (const auto* wait = longest_wait(result))
    fmt::format_to(out, "\"longest_gpu_wait_for\":{},", Json(wait->first).dump());
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
  visit(result, kTrainingFigures, [&](auto key, double value) { json[std::string(key)] = value; });
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
    json["attribution"] = attribution_json(result);
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
  for (const Figure& figure : kAllFigures) {
    const auto value = figure.get(result);
    cells.push_back(value ? fmt::format("{}", *value) : "");
  }
  const auto* wait = longest_wait(result);
  cells.push_back(wait == nullptr ? "" : wait->first);
  cells.push_back(result.domain);
  cells.push_back(fingerprint_text(result.fingerprint));
  cells.emplace_back(STEPTIME_VERSION);
  return cells;
}

namespace {

template <class Line>
void add_servers(const Line& line, const Result& r) {
  const TrainingOutcome& t = *r.training;
  if (t.servers > 1) {
    line("fullest server", fmt::format("{:.2f} x", t.fullest_server),
         fmt::format("an even share of the bytes on {} servers", t.servers));
  }
  if (r.comm_busy_s > 0)
    line("busiest server", milliseconds(r.comm_busy_s), "that its thread works in a step");
  if (t.mean_staleness() > 0) {
    line("staleness", fmt::format("{:.1f}", t.mean_staleness()),
         "updates that an update has not seen, on average");
  }
}

template <class Line>
void add_learning(const Line& line, const TrainingOutcome& t) {
  const std::string seeds =
      t.seeds.size() == 1 ? "one seed" : fmt::format("{} seeds", t.seeds.size());
  line("accuracy", fmt::format("{:.1f} %", t.final_accuracy().value_or(0) * 100),
       fmt::format("at the end, mean of {}", seeds));
  const auto time = t.time_to_target();
  const auto fastest = t.fastest_to_target();
  const auto slowest = t.slowest_to_target();
  std::string note = fmt::format("to {:.4g} %, median of {}", t.target * 100, seeds);
  if (time && fastest && slowest && t.seeds.size() > 1)
    note += fmt::format(", which take {:.1f} to {:.1f} s", *fastest, *slowest);
  if (const auto epochs = t.epochs_to_target())
    note += fmt::format("; {:.4g} epochs of what is learnt", *epochs);
  line("time", time ? fmt::format("{:.1f} s", *time) : "never", note);
}

}  // namespace

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
  const bool has_servers = r.training && r.training->has_servers;
  const std::string messages = fmt::format("{} message{}", r.messages, r.messages == 1 ? "" : "s");
  line("  exposed comm", milliseconds(r.exposed_comm_s),
       has_servers ? messages : fmt::format("of {} in {}", milliseconds(r.comm_busy_s), messages));
  if (has_servers) add_servers(line, r);
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
  if (r.epoch_time_s) {
    line("epoch", fmt::format("{:.1f} s", *r.epoch_time_s),
         fmt::format("of {} samples", *e.workload->workload.dataset_samples));
  }
  if (r.training && r.training->learns) add_learning(line, *r.training);
  line("domain", r.domain == "inside" ? "inside" : "extrapolated",
       r.domain == "inside" ? "" : r.domain);
  line("fingerprint", fingerprint_text(r.fingerprint), "");
  return text;
}

}  // namespace steptime
