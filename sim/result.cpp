#include "sim/result.h"

#include "sim/error.h"

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

/// Of a run in a framework's engine: means per step.
struct EngineFigure {
  std::string_view key;
  Duration Attribution::*time;
};

constexpr std::array kEngineFigures{
    EngineFigure{"hidden_under_backward_s", &Attribution::hidden_under_backward},
    EngineFigure{"hidden_under_forward_s", &Attribution::hidden_under_forward},
    EngineFigure{"exposed_s", &Attribution::exposed},
    EngineFigure{"idle_without_communication_s", &Attribution::idle}};

template <class Visit>
void visit_engine(const Result& result, Visit visit) {
  if (!result.embedded) return;
  for (const EngineFigure& figure : kEngineFigures)
    visit(figure.key, to_seconds(result.embedded->attribution.*figure.time));
}

constexpr std::array<std::string_view, 3> kTexts{"domain", "fingerprint", "version"};

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

Json attribution_json(const Attribution& a) {
  Json waits = Json::array();
  for (const auto& [what, time] : a.waits)
    waits.push_back(Json{{"for", what}, {"seconds", to_seconds(time)}});
  Json json{{"gpu_waits", waits},
            {"steps", a.steps},
            {"transient_steps", a.transient_steps},
            {"transient_s", to_seconds(a.transient)}};
  for (const EngineFigure& figure : kEngineFigures)
    json[std::string(figure.key)] = to_seconds(a.*figure.time);
  return json;
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
  const auto match = [&](std::string_view name, double value) {
    if (name == key) found = value;
  };
  visit_training(*this, match);
  visit_engine(*this, match);
  if (found) return *found;
  for (const TrainingFigure& figure : kTrainingFigures) {
    if (figure.key == key) throw InputError(fmt::format("\"{}\" is not known for this run", key));
  }
  throw InputError(fmt::format("\"{}\" is no figure of a result; known: {}", key,
                               fmt::join(result_keys().first(kFigures.size()), ", ")));
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
  const auto append = [&](std::string_view key, double value) {
    fmt::format_to(out, "\"{}\":{},", key, value);
  };
  visit_training(result, append);
  visit_engine(result, append);
  if (result.embedded && !result.embedded->attribution.waits.empty()) {
    const auto& [what, time] = result.embedded->attribution.waits.front();
    append("longest_gpu_wait_s", to_seconds(time));
    fmt::format_to(out, "\"longest_gpu_wait_for\":{},", Json(what).dump());
  }
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
  const bool has_servers = r.training && r.training->has_servers;
  const std::string messages = fmt::format("{} message{}", r.messages, r.messages == 1 ? "" : "s");
  line("  exposed comm", milliseconds(r.exposed_comm_s),
       has_servers ? fmt::format("{}; the busiest server's thread works {}", messages,
                                 milliseconds(r.comm_busy_s))
                   : fmt::format("of {} in {}", milliseconds(r.comm_busy_s), messages));
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
