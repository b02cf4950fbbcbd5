#include "sim/training/reported_steps.h"

#include "sim/events/causes_between.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace steptime {
namespace {

constexpr std::int64_t kMostSteps = 64;
/// Shared transfers are rounded to a picosecond now and then, and long times to what a double holds
/// of them.
constexpr Duration kSame{1000};
constexpr std::int64_t kSameShare = 1'000'000'000'000;

bool is_same(Duration a, Duration b) {
  const Duration same = std::max(kSame, a / kSameShare);
  return a - b <= same && b - a <= same;
}

}  // namespace

std::int64_t least_steps(const TrainingPlan& plan) {
  using Reported = TrainingPlan::Reported;
  if (plan.reported == Reported::kAfterTwo) return plan.warm_up() + plan.steps;
  const std::int64_t until_steady =
      plan.reported == Reported::kSteady ? ReportedSteps::kSameInARow * plan.update->period() : 0;
  return std::max(plan.steps, until_steady);
}

ReportedSteps::ReportedSteps(const TrainingPlan& plan, Engine& engine)
    : plan_(plan),
      engine_(engine),
      period_(plan.update->period()),
      reported_(plan.steps),
      first_(plan_.reported == Kind::kAfterTwo ? plan.warm_up() : 0),
      played_(first_ + plan.steps),
      together_(plan.update->has_met(period_)),
      clients_(static_cast<std::size_t>(plan.trainers()), OfClient{plan.start, plan.start}) {
  constexpr std::int64_t kAny = std::int64_t{1} << 62;
  if (plan_.reported == Kind::kSteady)
    played_ = kAny;
  else
    last_ = played_;
}

/// The latest end so far, and of equal ones the first.
void ReportedSteps::keep(End& end, Time time, When led) {
  engine_.release(end.led);
  end = {time, engine_.hold(led)};
}

bool ReportedSteps::ended(std::int32_t client, std::int64_t step, Time end, When led) {
  if (!together_) {
    OfClient& me = clients_[static_cast<std::size_t>(client)];
    if (step + 1 == period_) me.cold = end;
    if (step + 1 == first_) me.before = end;
    if (step + 1 == played_) keep(me.end, end, led);
    return false;
  }
  const auto ahead = static_cast<std::size_t>(step) - over_.size();
  while (open_.size() <= ahead)
    open_.push_back({clients_.size()});
  Open& open = open_[ahead];
  if (open.missing == clients_.size() || end > open.end.time) keep(open.end, end, led);
  if (--open.missing > 0) return false;
  const End last = open.end;
  open_.pop_front();
  return is_over(last);
}

/// All clients have ended a step.
bool ReportedSteps::is_over(const End& end) {
  over_.push_back(end.time);
  const auto steps = static_cast<std::int64_t>(over_.size());
  const bool is_known = last_ == 0 && compare(steps);
  if (last_ == 0 || steps <= last_) {
    engine_.release(end_.led);
    end_ = end;
  } else {
    engine_.release(end.led);
  }
  return is_known;
}

/// Whether the steps up to here, which are over, are enough.
bool ReportedSteps::compare(std::int64_t steps) {
  if (steps % period_ != 0) return false;
  const Duration length = over_at(steps - 1) - over_at(steps - 1 - period_);
  same_ = steps > period_ && is_same(length, length_) ? same_ + 1 : 1;
  length_ = length;
  const bool is_steady = same_ == kSameInARow;
  if (!is_steady && steps < std::max(kMostSteps, kSameInARow * period_)) return false;
  last_ = steps;
  if (is_steady) {
    last_ = std::max(steps, steps - same_ * period_ + reported_);
  } else {
    reported_ = std::max(reported_, steps / period_ / 2 * period_);
    last_ = std::max(steps, reported_);
  }
  played_ = std::max(last_, begun_);
  return true;
}

double ReportedSteps::per_step() const {
  const Update& update = *plan_.update;
  const std::int64_t reported = update.exchanges_in(last_) - update.exchanges_in(last_ - reported_);
  if (reported == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(update.exchanges_in(played_)) * this->reported() /
         static_cast<double>(reported);
}

SumOfTimes ReportedSteps::sum(const std::vector<SumOfTimes>& by_step) const {
  const auto behind = static_cast<std::int64_t>(by_step.size());
  const std::int64_t end = plan_.reported == Kind::kAll ? behind : last_;
  const std::int64_t begin = plan_.reported == Kind::kAll ? 0 : end - reported_;
  SumOfTimes sum;
  for (std::int64_t step = begin; step < std::min(end, behind); ++step)
    sum.add(by_step[static_cast<std::size_t>(step)]);
  return sum;
}

double ReportedSteps::step_s() const {
  if (together_) return to_seconds(end_.time - over_at(last_ - reported_ - 1)) / reported();
  double sum = 0;
  for (const OfClient& client : clients_)
    sum += to_seconds(client.end.time - client.before);
  return sum / static_cast<double>(clients_.size()) / reported();
}

std::optional<double> ReportedSteps::rate_per_s() const {
  if (together_) return std::nullopt;
  double sum = 0;
  for (const OfClient& client : clients_)
    sum += reported() / to_seconds(client.end.time - client.before);
  return sum / static_cast<double>(clients_.size());
}

std::optional<double> ReportedSteps::cold_step_s() const {
  if (plan_.reported == Kind::kAll) return std::nullopt;
  const auto period = static_cast<double>(period_);
  if (together_) return to_seconds(over_at(period_ - 1) - plan_.start) / period;
  double sum = 0;
  for (const OfClient& client : clients_)
    sum += to_seconds(client.cold - plan_.start);
  return sum / static_cast<double>(clients_.size()) / period;
}

std::vector<Cause> ReportedSteps::attribution(const Causes& causes) const {
  std::vector<PathPart> parts;
  const auto add = [&](const End& end, Time begin) {
    parts.push_back({begin, When(end.time, end.led.when.cause)});
  };
  if (together_) {
    add(end_, over_at(last_ - reported_ - 1));
  } else {
    for (const OfClient& client : clients_)
      add(client.end, client.before);
  }
  return causes_between(causes, parts, static_cast<double>(parts.size()) * reported());
}

}  // namespace steptime
