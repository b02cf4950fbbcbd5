#include "sim/drawing/report_data.h"

#include "sim/core/error.h"
#include "sim/drawing/fabric_drawing.h"
#include "sim/drawing/node_drawing.h"
#include "sim/drawing/swept_axis.h"
#include "sim/experiment/assessment.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/explain.h"
#include "sim/experiment/jobs.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"
#include "sim/sweeps/run_sweep.h"
#include "sim/sweeps/sweep.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::int64_t kMostPoints = 2000;
constexpr std::size_t kMostSpans = 3000;
constexpr std::int64_t kMostNodes = 256;   // of the picture of what connects them
constexpr std::int64_t kMostWorkers = 64;  // that are played in messages for the sake of the load
constexpr double kPastTheStep = 1.02;      // of a step, that the timeline shows

double milliseconds(Time time) {
  return to_seconds(since_start(time)) * 1e3;
}

Json known_or_null(std::int64_t value) {
  return value < 0 ? Json() : Json(value);
}

/// Rank 0's first step.
Json timeline_data(const Experiment& experiment, double step_s, const OnProgress& on_progress) {
  const Time end = Time(from_seconds(step_s * kPastTheStep));
  Timeline timeline({.to = end, .last_rank = 0});
  Json spans = Json::array();
  Json tracks = Json::array();
  try {
    simulate(experiment, timeline, nullptr, on_progress);
  } catch (const InputError& e) {  // more bars than a timeline takes
    return {{"tracks", tracks}, {"spans", spans}, {"note", one_line(e.what())}};
  }
  for (const Timeline::Track& track : timeline.tracks())
    tracks.push_back(track.actor.empty() ? track.name : track.actor + ": " + track.name);
  std::vector<Timeline::Span> first = timeline.spans();
  std::stable_sort(first.begin(), first.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  std::string note;
  if (first.size() > kMostSpans) {
    note = fmt::format("the first {} of {} spans", kMostSpans, first.size());
    first.resize(kMostSpans);
  }
  for (const Timeline::Span& span : first) {
    spans.push_back({span.track, span.name, milliseconds(span.start),
                     milliseconds(std::min(span.end, end)), known_or_null(span.details.bytes),
                     known_or_null(span.details.bucket)});
  }
  return {{"tracks", std::move(tracks)}, {"spans", std::move(spans)}, {"note", note}};
}

/// What each link carries. An analytic run knows no links: its messages are played for that.
std::vector<LinkUse> load(const std::shared_ptr<const Document>& config,
                          const Experiment& experiment, const Result& result, std::string& note) {
  if (!result.links.empty() || (result.workers == 1 && !experiment.jobs)) return result.links;
  if (experiment.jobs) {
    note = "no load: what several jobs send is not counted link by link";
    return {};
  }
  if (experiment.run->fidelity == Fidelity::kMessage) {
    note = "no load: this run has messages, but does not count them link by link";
    return {};
  }
  const std::string closed = "no load: closed forms know no traffic of single links";
  if (result.workers > kMostWorkers) {
    note = fmt::format("{}, and messages are played for up to {} workers, of which this run has {}",
                       closed, kMostWorkers, result.workers);
    return {};
  }
  try {
    const std::vector<std::string> sets{"/run/fidelity=message"};
    std::vector<SentBucket> buckets;  // asked for in full: with links
    const Result played =
        simulate(read_experiment(with_sets(std::make_shared<Document>(*config), sets)), &buckets);
    note = fmt::format("load of the same step in messages, which takes {:.3f} ms",
                       played.step_time_s * 1e3);
    return played.links;
  } catch (const InputError&) {  // such as a collective that is known by its time only
    note = closed + ", and this step cannot be played in messages";
    return {};
  }
}

Json record_data(const KindOfStep& kind) {
  Json rows = Json::array();
  for (const RecordRow& row : TrackRecord::of(kind).rows_of(kind)) {
    rows.push_back({{"id", row.id},
                    {"testbed", row.testbed},
                    {"workers", row.workers},
                    {"share", row.share - kLeastShare},
                    {"error_pct", row.error_pct}});
  }
  return rows;
}

/// [[place, label]] of an axis of numbers; null of another one, or where the user names values.
Json ticks_data(const Axis& axis) {
  if (axis.pointers.size() > 1) return {};
  std::vector<ResultRow> rows;
  for (const auto& values : axis.values) {
    if (values.front().is_named) return {};
    rows.push_back(
        {.figures = Json{{"params", Json{{axis.pointers.front(), values.front().value}}}}});
  }
  std::vector<const ResultRow*> shown;
  shown.reserve(rows.size());
  for (const ResultRow& row : rows)
    shown.push_back(&row);
  const std::vector<SweptAxis> found = axes_of(shown);
  if (found.empty() || !found.front().has_numbers) return {};
  Json ticks = Json::array();
  for (const auto& [place, label] : named_places(found.front(), kMostTicks))
    ticks.push_back({place, label});
  return ticks;
}

Json axis_data(const Axis& axis) {
  std::string name;
  for (const std::string& pointer : axis.pointers)
    name += (name.empty() ? "" : ", ") + swept_name(pointer);
  Json labels = Json::array();
  Json numbers = Json::array();
  for (const auto& values : axis.values) {
    std::string label;
    for (const SweptValue& value : values)
      label += (label.empty() ? "" : ", ") + value.label;
    labels.push_back(label);
    const auto number = place_on_axis(values.front().value);
    if (number && !numbers.is_null())
      numbers.push_back(*number);
    else
      numbers = Json();
  }
  return {{"name", name},
          {"labels", std::move(labels)},
          {"numbers", std::move(numbers)},
          {"ticks", ticks_data(axis)}};
}

Json sweep_data(const Sweep& sweep, int threads, const OnProgress& on_progress) {
  if (sweep.points() == 1) return {};
  Json axes = Json::array();
  for (const Axis& axis : sweep.axes())
    axes.push_back(axis_data(axis));
  Json rows = Json::array();
  SweepOptions options{.threads = threads};
  options.on_row = [&](const SweepRow& row, std::string_view line) {
    Json figures = Json::parse(line);
    std::vector<std::size_t> places;
    sweep.find(row.point, places);
    Json shown{{"at", places}};
    for (const char* key :
         {"error", "step_time_s", "step_time_interval_s", "compute_time_s", "exposed_comm_s",
          "throughput_samples_per_s", "speedup", "scaling_efficiency", "workers"}) {
      if (figures.contains(key)) shown[key] = figures[key];
    }
    if (row.result) shown["domain"] = row.result->domain.word();
    rows.push_back(std::move(shown));
  };
  const auto points = static_cast<double>(sweep.points());
  options.on_progress = [&](std::int64_t, double done) {
    if (on_progress) on_progress(std::min(1., done / points));
  };
  run_sweep(sweep, options);
  return {{"axes", std::move(axes)}, {"rows", std::move(rows)}};
}

std::string counted(std::int64_t count, std::string_view what, std::string_view plural = "s") {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : plural);
}

std::string trained(const Trace& trace) {
  return fmt::format("{} on {}, batch {} per worker", trace.model, trace.device, trace.batch);
}

/// Model, device, batch and who trains.
std::string shape_of(const Experiment& experiment, const Result& result) {
  if (experiment.jobs) {
    return fmt::format("{} on {}",
                       counted(static_cast<std::int64_t>(experiment.jobs->jobs.size()), "job"),
                       counted(experiment.jobs->network->nodes, "node"));
  }
  const Trace& trace = experiment.workload->workload.trace;
  if (experiment.layout == nullptr)
    return trained(trace) + ", " + counted(result.workers, "worker");
  const LayoutPlan& plan = *experiment.layout;
  return fmt::format("{} on {}, {} of {} a replica, {} on {}", trace.model, trace.device,
                     counted(plan.micro_batches, "micro-batch", "es"), plan.work.samples,
                     counted(plan.layout.data(), "replica"), counted(result.workers, "GPU"));
}

/// What the result does not say of its jobs.
Json jobs_data(const Experiment& experiment) {
  Json jobs = Json::array();
  if (!experiment.jobs) return jobs;
  for (const Job& job : experiment.jobs->jobs) {
    jobs.push_back(
        {{"workload", trained(job.experiment->workload->workload.trace)}, {"nodes", job.nodes}});
  }
  return jobs;
}

/// A part of a listener's range.
OnProgress part(const OnProgress& listener, double from, double to) {
  if (!listener) return {};
  return [listener, from, to](double share) { listener(from + share * (to - from)); };
}

}  // namespace

Json report_data(const std::shared_ptr<const Document>& config, int threads,
                 const OnProgress& on_progress) {
  const Sweep sweep(config);
  if (sweep.points() > kMostPoints) {
    throw InputError(fmt::format("{}: /sweep: a report shows {} points at most, got {}",
                                 config->file, kMostPoints, sweep.points()));
  }
  const Explanation explanation = explain(config, part(on_progress, 0, 0.6));
  auto alone = std::make_shared<Document>(*config);
  alone->root.erase("sweep");
  if (alone->root.contains("run") && alone->root["run"].is_object())
    alone->root["run"].erase("convergence");
  const Experiment experiment = read_experiment(alone);
  const Cluster& cluster = *experiment.cluster;
  const Result& result = explanation.result;
  const Prediction prediction = prediction_of(experiment, result);
  std::string note;
  const std::vector<LinkUse> links = load(alone, experiment, result, note);
  const bool has_inside = cluster.node != nullptr || cluster.gpus_per_node > 1;
  const Cluster& connected = experiment.jobs ? *experiment.jobs->network : cluster;
  const bool is_drawn = connected.nodes > 1 && connected.nodes <= kMostNodes;
  if (connected.nodes > kMostNodes)
    note += fmt::format("{}what connects more than {} nodes is not drawn", note.empty() ? "" : "; ",
                        kMostNodes);
  return {{"name", explanation.name},
          {"description", config->root.value("description", "")},
          {"workload", shape_of(experiment, result)},
          {"jobs", jobs_data(experiment)},
          {"result", full_json(result, explanation.buckets, alone->root)},
          {"explanation", explanation.json()},
          {"summary", result.domain.text()},
          {"kind", prediction.kind.text()},
          {"share", prediction.share() - kLeastShare},
          {"record", record_data(prediction.kind)},
          {"timeline", timeline_data(experiment, result.step_time_s, part(on_progress, 0.6, 0.7))},
          {"node", has_inside ? picture(node_of(cluster), links) : Json()},
          {"fabric", is_drawn ? picture(graph_of(connected)) : Json()},
          {"links", links_json(links)},
          {"topology_note", note},
          {"sweep", sweep_data(sweep, threads, part(on_progress, 0.7, 1))}};
}

}  // namespace steptime
