#include "sim/experiment/runs/jobs_run.h"

#include "sim/collective/message_time.h"
#include "sim/core/error.h"
#include "sim/core/limits.h"
#include "sim/experiment/jobs.h"
#include "sim/experiment/runs/training_result.h"
#include "sim/experiment/training_run.h"
#include "sim/network/machine.h"
#include "sim/training/jobs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace {

/// What keeps a job from being played beside others; "" for nothing.
std::string refusal(const Experiment& e) {
  if (e.layout)
    return "/strategy/layout: unexpected beside other jobs, as replicas stand for each other";
  if (e.aggregation->servers.count > 0 || e.aggregation->merge)
    return "/strategy/aggregation: jobs all-reduce; expected {\"type\": \"all-reduce\"}";
  if (e.embedding->has_main_thread())
    return "/strategy/embedding: unexpected beside other jobs; expected {\"type\": \"async\"}";
  if (e.run->convergence) return "/run/convergence: unexpected beside other jobs";
  if (e.run->variation.seeds > 1)
    return fmt::format("/run/variation/seeds: expected 1 beside other jobs, got {}",
                       e.run->variation.seeds);
  if (e.workload->workload.input_rate) return "/workload/input: unexpected beside other jobs";
  return "";
}

void check_messages(double messages, const std::string& pointer) {
  check_events(messages, pointer, "messages of two links",
               "fewer steps, workers or jobs have fewer");
}

/// Messages of two links that others play before the last job starts: at about 120 ns each half a
/// minute, which tells nothing of any job.
constexpr double kMostBeforeStart = 3e8;

/// What there is to play in a step: messages, counted in those of two links.
double messages_of(const Experiment& e, const TrainingPlan& plan) {
  if (plan.members() == 1 && !plan.workers_meet()) return 1;
  const Machine machine(*e.cluster);
  double sum = 1;  // the step itself
  for (const Bucket& bucket : plan.step.buckets)
    sum += play_cost(e.collective->programs(bucket.bytes), machine);
  return sum;
}

/// Of each bucket the collective is played by itself, which is refused where it would take too
/// long.
void check_plan(const Experiment& e) {
  Experiment in_closed_form = e;
  auto run = std::make_shared<RunSettings>(*e.run);
  run->fidelity = Fidelity::kAnalytic;
  in_closed_form.run = std::move(run);
  check_messages(messages_of(e, plan_training(in_closed_form)), "/cluster/nodes");
}

TrainingPlan plan_beside_others(const Experiment& e, Duration start) {
  if (e.cluster->workers() > 1)
    expect_messages(*e.collective, "/strategy/aggregation/collective: fidelity");
  check_plan(e);
  TrainingPlan plan = plan_training(e);
  plan.start = Time{} + start;
  // Steady states are those of jobs that are alone.
  plan.reported =
      plan.layers_wait() ? TrainingPlan::Reported::kAfterTwo : TrainingPlan::Reported::kAll;
  plan.inside_parts = {};
  return plan;
}

/// Both by job.
struct Played {
  std::vector<TrainingTimes> alone;
  std::vector<TrainingTimes> together;
};

class Jobs {
 public:
  explicit Jobs(const Experiment& e) : set_(*e.jobs) {
    std::int64_t seed = e.run->seed;
    for (const Job& job : set_.jobs) {
      try {
        jobs_.push_back({plan_beside_others(*job.experiment, job.start), job.nodes, seed++});
      } catch (const PlacedError& error) {
        throw PlacedError(text_of_job(jobs_.size(), job, error.what()));
      }
      messages_.push_back(messages_of(*job.experiment, jobs_.back().plan));
    }
    check_starts();
  }

  /// What only a step tells that is played: how long each job's takes on its nodes alone.
  void check_first_steps() const {
    double longest = 0;
    std::vector<double> steps;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      SharedJob first = jobs_[j];
      first.plan.steps = 1;
      first.plan.start = Time{};
      steps.push_back(play_jobs(*set_.network, {first}).front().step_s);
      if (steps.back() == 0) throw RangeError("a step takes no time at all");
      const auto count = static_cast<double>(jobs_[j].plan.played_steps());
      const double end = to_seconds(set_.jobs[j].start) + count * steps.back();
      if (end > kLongestSeconds) {
        throw PlacedError(fmt::format(
            "/jobs/{}: {:.0f} steps of about {:.3g} s end after {:.3g} s, of the {:.0f} s that can "
            "be simulated",
            j, count, steps.back(), end, kLongestSeconds));
      }
      longest = std::max(longest, end);
    }
    double messages = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      messages += messages_[j] * std::ceil(longest / steps[j]);
    check(messages);
  }

  Played play(const Wanted& wanted, Causes* causes) const {
    check_first_steps();
    Played played;
    double longest = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      check(messages_[j] * static_cast<double>(jobs_[j].plan.played_steps()));
      played.alone.push_back(play_jobs(*set_.network, {jobs_[j]}).front());
      longest = std::max(longest, played.alone.back().end_s);
      if (wanted.on_progress)
        wanted.on_progress(0.5 * static_cast<double>(j + 1) / static_cast<double>(jobs_.size()));
    }
    double messages = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      messages += messages_[j] * std::ceil(longest / played.alone[j].step_s);
    check(messages);
    if (wanted.timeline != nullptr) {
      const TrainingPlan& first = jobs_.front().plan;
      check_bars(
          std::ceil(longest / played.alone.front().step_s) *
          static_cast<double>(first.step.buckets.size() + 2 * first.workload->trace.layers.size()));
    }
    OnProgress on_progress;
    if (wanted.on_progress)
      on_progress = [&wanted](double share) { wanted.on_progress(0.5 + share / 2); };
    played.together = play_jobs(*set_.network, jobs_, on_progress, wanted.timeline, causes);
    return played;
  }

  std::vector<JobTimes> times(const Played& played) const {
    std::vector<JobTimes> times;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const Job& job = set_.jobs[j];
      times.push_back({job.name, job.experiment->cluster->workers(), to_seconds(job.start),
                       played.together[j].step_s, played.alone[j].step_s});
    }
    return times;
  }
  const TrainingPlan& first() const { return jobs_.front().plan; }

 private:
  static void check(double messages) { check_messages(messages, "/run/steps"); }

  /// What a step of a job takes at least, s.
  double least_step(std::size_t j) const {
    const StepPlan& step = jobs_[j].plan.step;
    return to_seconds(std::max(step.forward + step.backward, step.input));
  }
  double least_run(std::size_t j) const {
    return least_step(j) * static_cast<double>(jobs_[j].plan.played_steps());
  }

  /// Jobs go on until all have their steps: at least so many messages, if all started at once.
  double least_messages() const {
    double end = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      end = std::max(end, least_run(j));
    double messages = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const auto own = static_cast<double>(jobs_[j].plan.played_steps());
      const double step = least_step(j);
      messages += messages_[j] * (step > 0 ? std::max(own, end / step) : own);
    }
    return messages;
  }

  /// What the jobs play at most until a time, s.
  double messages_before(double time) const {
    double messages = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const double passed = time - to_seconds(set_.jobs[j].start);
      if (passed > 0 && least_step(j) > 0) messages += messages_[j] * passed / least_step(j);
    }
    return messages;
  }

  /// The time until which they play no more than is allowed before a start, s.
  double latest_start(double too_late) const {
    double low = 0;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + too_late) / 2;
      (messages_before(middle) > kMostBeforeStart ? too_late : low) = middle;
    }
    return low;
  }

  void check_starts() const {
    const auto last = static_cast<std::size_t>(
        std::ranges::max_element(set_.jobs, {}, &Job::start) - set_.jobs.begin());
    const std::string pointer = fmt::format("/jobs/{}/start", last);
    if (const double end = to_seconds(set_.jobs[last].start) + least_run(last);
        end > kLongestSeconds) {
      throw PlacedError(
          fmt::format("{}: its steps end after {} s or more, of the {} s that can be "
                      "simulated",
                      pointer, end, kLongestSeconds));
    }
    check(least_messages());
    const double start = to_seconds(set_.jobs[last].start);
    if (const double before = messages_before(start); before > kMostBeforeStart) {
      throw PlacedError(fmt::format(
          "{}: expected {:.3g} s at most, got {:.6g} s: until then others play about {:.1g} "
          "messages of two links, of {:.0g} that a start may wait for",
          pointer, latest_start(start), start, before, kMostBeforeStart));
    }
  }

  const JobSet& set_;
  std::vector<SharedJob> jobs_;
  std::vector<double> messages_;
};

}  // namespace

void JobsRun::check(const Experiment& e, const DocumentOf&) const {
  if (e.run->fidelity != Fidelity::kMessage) {
    throw InputError(fmt::format(
        "{}: /jobs: closed forms know no link by itself; expected \"message\" under /run/fidelity",
        e.file));
  }
  std::size_t place = 0;
  for (const Job& job : e.jobs->jobs) {
    if (const std::string why = refusal(*job.experiment); !why.empty())
      throw InputError(fmt::format("{}: {}", e.file, text_of_job(place, job, why)));
    ++place;
  }
}

void JobsRun::check_training(const Experiment& e) const {
  Jobs(e).check_first_steps();
}

Result JobsRun::run(const Experiment& e, const Wanted& wanted) const {
  spdlog::debug("{}: {} jobs, each alone and all together", e.name, e.jobs->jobs.size());
  const Jobs jobs(e);
  Causes kept;
  Played played = jobs.play(wanted, wanted.buckets != nullptr ? &kept : nullptr);
  std::vector<JobTimes> times = jobs.times(played);
  TrainingOutcome outcome;
  outcome.seeds = {e.run->seed};
  outcome.runs = {std::move(played.together.front())};
  Result r = result_of_training(e, jobs.first(), std::move(outcome), wanted,
                                {"what other jobs do on its links is the experiment's own"});
  r.jobs = std::move(times);
  return r;
}

}  // namespace steptime
