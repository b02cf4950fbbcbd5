#include "sim/experiment/summary.h"

#include "sim/experiment/figures.h"
#include "sim/experiment/used_path.h"
#include "sim/layouts/play.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::size_t kMostWaits = 3;
constexpr std::size_t kMostCauses = 6;
constexpr std::size_t kMostLinks = 3;
constexpr double kSmall = 0.005;  // of the step: what is less is not told apart

/// Milliseconds, as most lines show times.
constexpr Shown ms(std::string_view key, std::string_view name) {
  return {key, name, 1e3, 3, " ms"};
}

std::string milliseconds(Duration time) {
  return fmt::format("{:.3f} ms", to_seconds(time) * 1e3);
}

class Lines {
 public:
  explicit Lines(const Result& result) : result_(result) {}

  void add(std::string_view name, std::string_view value, std::string_view note = "") {
    text_ += fmt::format("  {:<14}{:>16}{}{}\n", name, value, note.empty() ? "" : "   ", note);
  }
  /// Nothing where the run has no such figure.
  void add(const Shown& how, std::string_view note = "") {
    const std::string value = shown(how, result_);
    if (!value.empty()) add(how.name, value, note);
  }
  std::string value(const Shown& how) const { return shown(how, result_); }
  const std::string& text() const { return text_; }

 private:
  const Result& result_;
  std::string text_;
};

void add_step(Lines& lines, const Result& r) {
  const bool has_servers = r.training && r.training->has_servers();
  const std::string messages = fmt::format("{} message{}", r.messages, r.messages == 1 ? "" : "s");
  const auto between = [](const Interval& interval) {
    return fmt::format("{:.3f} to {:.3f}", interval.low * 1e3, interval.high * 1e3);
  };
  lines.add(ms("step_time_s", "step time"),
            between(r.step_time_interval_s) + " on what is known of such runs");
  if (r.cold_step_time_s.value_or(r.step_time_s) != r.step_time_s)
    lines.add(ms("cold_step_time_s", "  cold"), "the first step, with nothing under way before it");
  if (const std::int64_t steps = r.training ? r.training->unsettled_steps() : 0; steps > 0) {
    lines.add("  not steady", fmt::format("{}", steps),
              "steps came to no steady state: times are means over their second half");
  }
  if (r.profile_interval_s)
    lines.add("", "", between(*r.profile_interval_s) + " by the profile's 95 % intervals");
  if (r.step_percentiles) {
    lines.add(
        ms("step_time_p50_s", "  median"),
        fmt::format("of {} seeds; p95 {}, p99 {}", r.seeds, lines.value(ms("step_time_p95_s", "")),
                    lines.value(ms("step_time_p99_s", ""))));
  }
  lines.add(ms("forward_time_s", "  forward"));
  lines.add(ms("backward_time_s", "  backward"));
  if (r.embedded) {
    lines.add(ms("exposed_comm_s", "  waits"),
              fmt::format("of the slowest worker: {}, main thread, copies, updates", messages));
  } else {
    // Exchanges that share links take longer together than each by itself.
    const char* of = r.exposed_comm_s > r.comm_busy_s ? "alone they take" : "of";
    lines.add(ms("exposed_comm_s", "  exposed comm"),
              has_servers
                  ? messages
                  : fmt::format("{} {} in {}", of, lines.value(ms("comm_busy_s", "")), messages));
  }
  lines.add(ms("exposed_input_s", "  exposed input"), "the next step waits for its samples");
}

/// The way back from the end of the step, the longest causes first.
void add_causes(Lines& lines, const Result& r) {
  const auto add = [&](const std::string& name, double seconds, const std::string& what) {
    lines.add(name, fmt::format("{:.3f} ms", seconds * 1e3),
              fmt::format("{:4.1f} %  {}", seconds / r.step_time_s * 100, what));
  };
  double rest = r.step_time_s;
  for (std::size_t i = 0; i < r.attribution.size(); ++i) {
    const Cause& c = r.attribution[i];
    const bool is_small = i >= kMostCauses / 2 && rest < kSmall * r.step_time_s;
    if (i + 1 < r.attribution.size() && (i + 1 == kMostCauses || is_small))
      return add("", rest, "other causes");
    add(i > 0      ? ""
        : r.layout ? "of the step"
                   : "critical path",
        c.seconds, c.resource.empty() ? c.cause : fmt::format("{} ({})", c.cause, c.resource));
    rest -= c.seconds;
  }
}

/// GB of what is needed and of what there is.
void add_memory(Lines& lines, const TrainingMemory& memory,
                const std::optional<Interval>& interval) {
  const auto gb = [](Bytes bytes) { return static_cast<double>(bytes.count) / 1e9; };
  std::string note = "at least";
  if (memory.device) note += fmt::format(", of {:.4g} GB", gb(*memory.device));
  if (memory.is_too_much()) note += ": it does not fit";
  lines.add("memory", fmt::format("{:.4g} GB", gb(memory.total())), note);
  if (interval) {
    lines.add("", "",
              fmt::format("{:.4g} to {:.4g} GB by what published runs allocated",
                          interval->low / 1e9, interval->high / 1e9));
  }
}

/// How the model is cut, and what that takes of the GPUs.
void add_layout(Lines& lines, const LayoutPlan& plan) {
  const Layout& layout = plan.layout;
  lines.add("layout", fmt::format("{} replica{}", layout.data(), layout.data() == 1 ? "" : "s"),
            fmt::format("of {} tensor x {} context x {} pipeline ranks; {} micro-batch{} of {}",
                        layout.tensor(), layout.context(), layout.pipeline(), plan.micro_batches,
                        plan.micro_batches == 1 ? "" : "es", plan.work.samples));
  lines.add({"tokens_per_s", "tokens", 1, 0, " /s"},
            fmt::format("{} a GPU", lines.value({"tokens_per_s_per_gpu", "", 1, 0, " /s"})));
  lines.add({"mfu", "mfu", 100, 1, " %"},
            fmt::format("of the peak; with what is computed again {} (hfu)",
                        lines.value({"hfu", "", 100, 1, " %"})));
}

void add_servers(Lines& lines, const Result& r) {
  lines.add({"fullest_server", "fullest server", 1, 2, " x"},
            fmt::format("an even share of the bytes on {} servers", r.training->servers));
  if (r.comm_busy_s > 0)
    lines.add(ms("comm_busy_s", "busiest server"), "that its thread works in a step");
  if (r.training->mean_staleness() > 0) {
    lines.add({"staleness_mean", "staleness", 1, 1},
              "updates that an update has not seen, on average");
  }
}

void add_engine(Lines& lines, const EmbeddedStep& e) {
  const Attribution& a = e.attribution;
  lines.add("communication",
            milliseconds(a.hidden_under_backward + a.hidden_under_forward + a.exposed));
  lines.add(ms("hidden_under_backward_s", "  in backward"), "hidden under GPU 0's backward pass");
  lines.add(ms("hidden_under_forward_s", "  in forward"), "hidden under its next forward pass");
  lines.add(ms("exposed_s", "  exposed"), "while it computes nothing");
  lines.add(ms("idle_without_communication_s", "GPU 0 idle"),
            fmt::format("without communication: {}main thread, copies, other ranks",
                        a.input > Duration{} ? "samples, " : ""));
  for (std::size_t i = 0; i < std::min(a.waits.size(), kMostWaits); ++i)
    lines.add("  GPU 0 waits", milliseconds(a.waits[i].second), "for " + a.waits[i].first);
  lines.add(
      ms("transient_s", "transient"),
      a.settles
          ? fmt::format("by which the first {} of {} steps take longer than steady ones, in all",
                        a.transient_steps, a.steps)
          : fmt::format("as {} steps did not settle: times are means over their second half",
                        a.steps));
  lines.add({"funnel_over_depcha_forward", "Funnel/DepCha", 1, 3, " x"},
            fmt::format("bound in forward key order; {} in backward order",
                        lines.value({"funnel_over_depcha_backward", "", 1, 3})));
}

/// The busiest first.
void add_links(Lines& lines, const Result& r) {
  for (std::size_t i = 0; i < std::min(r.links.size(), kMostLinks); ++i) {
    const LinkUse& link = r.links[i];
    lines.add(i == 0 ? "busiest links" : "", fmt::format("{:.1f} %", link.busy * 100),
              fmt::format("{}{}, {:.3f} MB a step",
                          link.from == link.to ? "between nodes"
                                               : fmt::format("{} to {}", link.from, link.to),
                          link.kind.empty() ? "" : " (" + link.kind + ")",
                          static_cast<double>(link.bytes) / 1e6));
  }
}

/// Jobs on one network, of which the first one's figures are shown.
void add_jobs(Lines& lines, const Result& r) {
  for (const JobTimes& job : r.jobs) {
    lines.add(&job == &r.jobs.front() ? "jobs" : "", fmt::format("{:.3f} x", job.slowdown()),
              fmt::format("{} of {} workers: {:.3f} ms a step, alone {:.3f}", job.name, job.workers,
                          job.step_s * 1e3, job.alone_s * 1e3));
  }
}

/// In hours, as trainings that meet failures take long.
void add_failures(Lines& lines, const Failures& f) {
  const auto hours = [](std::string_view key, std::string_view name) {
    return Shown{key, name, 1. / 3600, 2, " h"};
  };
  lines.add(hours("training_time_s", "training"),
            fmt::format("of {} steps; median {}, p95 {}, p99 {} of {} seeds", f.steps,
                        lines.value(hours("training_time_p50_s", "")),
                        lines.value(hours("training_time_p95_s", "")),
                        lines.value(hours("training_time_p99_s", "")), f.seeds));
  lines.add({"useful_share", "  useful", 100, 1, " %"},
            fmt::format("with a checkpoint after every {} of work",
                        lines.value({"checkpoint_interval_s", "", 1. / 60, 1, " min"})));
}

void add_learning(Lines& lines, const TrainingOutcome& t) {
  const std::string seeds =
      t.seeds.size() == 1 ? "one seed" : fmt::format("{} seeds", t.seeds.size());
  lines.add({"final_accuracy", "accuracy", 100, 1, " %"},
            fmt::format("at the end, mean of {}", seeds));
  std::string note = fmt::format("to {:.4g} %, median of {}", t.target * 100, seeds);
  if (t.time_to_target() && t.slowest_to_target() && t.seeds.size() > 1) {
    note += fmt::format(", which take {} to {} s", lines.value({"time_to_target_min_s", "", 1, 1}),
                        lines.value({"time_to_target_max_s", "", 1, 1}));
  }
  if (const auto epochs = t.epochs_to_target())
    note += fmt::format("; {:.4g} epochs of what is learnt", *epochs);
  lines.add({"time_to_target_s", "time", 1, 1, " s"}, note);
}

/// What stands behind the figures, and each reason to doubt them on a line.
void add_domain(Lines& lines, const Validity& domain) {
  std::vector<std::string> notes = domain.beyond;
  if (domain.n > 0) {
    std::string note = fmt::format("{} measurement{}, typically {:g} % off", domain.n,
                                   domain.n == 1 ? "" : "s", domain.typical_pct);
    if (domain.worst_pct) note += fmt::format(", at most {:g} %", *domain.worst_pct);
    notes.insert(notes.begin(), std::move(note));
  }
  lines.add("domain", domain.word(), notes.empty() ? "" : notes.front());
  for (std::size_t i = 1; i < notes.size(); ++i)
    lines.add("", "", notes[i]);
}

}  // namespace

std::string summary(const Experiment& e, const Result& r) {
  Lines lines(r);
  add_step(lines, r);
  add_causes(lines, r);
  if (r.layout) add_layout(lines, *r.layout->plan);
  if (r.training && r.training->has_servers()) add_servers(lines, r);
  if (r.embedded) add_engine(lines, *r.embedded);
  add_jobs(lines, r);
  add_links(lines, r);
  if (const std::string path = path_text(used_path(e, r)); !path.empty())
    lines.add("collectives", "over", path);
  lines.add({"throughput_samples_per_s", "throughput", 1, 2, " /s"}, "samples, all workers");
  lines.add({"speedup", "speedup", 1, 2, " x"},
            fmt::format("of {}: scaling efficiency {} %",
                        r.layout ? fmt::format("{} replicas", r.layout->plan->layout.data())
                                 : fmt::format("{}", r.workers),
                        lines.value({"scaling_efficiency", "", 100, 1})));
  lines.add({"epoch_time_s", "epoch", 1, 1, " s"},
            fmt::format("of {} samples", e.workload->workload.dataset_samples.value_or(0)));
  if (e.run->failures) add_failures(lines, *e.run->failures);
  if (r.training && r.training->learns) add_learning(lines, *r.training);
  if (r.memory) add_memory(lines, *r.memory, r.memory_interval_bytes);
  add_domain(lines, r.domain);
  lines.add({"fingerprint", "fingerprint"});
  const Trace& trace = e.workload->workload.trace;
  return fmt::format("{}: {} on {}, batch {} per worker, {} worker{}\n\n", e.name, trace.model,
                     trace.device, trace.batch, r.workers, r.workers == 1 ? "" : "s") +
         lines.text();
}

}  // namespace steptime
