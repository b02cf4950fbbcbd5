#include "sim/events/causes.h"

#include <algorithm>
#include <utility>

namespace steptime {

Reason Causes::reason(std::string_view cause, std::string_view resource) {
  const auto same = std::find_if(names_.begin(), names_.end(), [&](const Cause& name) {
    return name.cause == cause && name.resource == resource;
  });
  if (same != names_.end()) return static_cast<Reason>(same - names_.begin());
  names_.push_back({std::string(cause), std::string(resource)});
  return static_cast<Reason>(names_.size() - 1);
}

CauseId Causes::add(When since, Time end, Reason reason) {
  STEPTIME_CHECK(know(since), "a cause ends when its effect begins");
  const Record record{since.time, end, static_cast<std::uint32_t>(since.cause), reason};
  std::size_t id = records_.size();
  if (free_.empty()) {
    STEPTIME_CHECK(id < ~std::uint32_t{0}, "causes without number");
    records_.push_back(record);
    leads_.push_back(0);
  } else {
    id = free_.back();
    free_.pop_back();
    records_[id] = record;
    leads_[id] = 0;
  }
  young_.push_back(static_cast<std::uint32_t>(id));
  return id;
}

When Causes::until(When since, Time end, Reason reason) {
  STEPTIME_CHECK(end >= since.time, "an effect comes before its cause");
  if (end == since.time) return since;
  Record& before = records_[since.cause];
  if (before.reason == reason && know(since)) {
    before.end = std::max(before.end, end);
    return When(end, since.cause);
  }
  Record& latest = records_[latest_];
  if (latest.since == since.cause && latest.start == since.time && latest.reason == reason)
    latest.end = std::max(latest.end, end);
  else
    latest_ = add(since, end, reason);
  return When(end, latest_);
}

CauseId Causes::begin(When since, Reason reason) {
  return add(since, kOpen, reason);
}

When Causes::finish(CauseId id, Time end) {
  Record& record = records_[id];
  STEPTIME_CHECK(record.end == kOpen && end >= record.start,
                 "what has begun ends once, and not before it began");
  record.end = end;
  return When(end, id);
}

When Causes::let_go(CauseId held) {
  const Record& record = records_[held];
  finish(held, record.start);
  return When(record.start, record.since);
}

/// Of the young: what ends from now on may lead to something yet, and whatever led to that.
void Causes::sweep(Time now) {
  for (const std::uint32_t id : young_) {
    if (records_[id].end < now) continue;
    for (std::uint32_t back = id; leads_[back] == 0; back = records_[back].since)
      leads_[back] = 1;
  }
  for (const std::uint32_t id : young_) {
    if (leads_[id] != 0) continue;
    records_[id] = {kGone, kGone};
    free_.push_back(id);
  }
  young_.clear();
}

/// The old are looked at again only when they have become twice as many.
void Causes::collect(Time now) {
  sweep(now);
  if (size() < sweep_all_at_) return;
  for (std::uint32_t id = 1; id < records_.size(); ++id) {
    if (records_[id].end == kGone) continue;
    leads_[id] = 0;
    young_.push_back(id);
  }
  sweep(now);
  sweep_all_at_ = std::max(4 * kYoung, 2 * size());
}

/// Ways back meet and are one from the start of a record on: each is visited once, with the number
/// of ways that lead through it. `times` are in picoseconds.
void Causes::add_paths(const std::vector<When>& tops, std::vector<double>& times) const {
  constexpr std::size_t kNobody = ~std::size_t{0};
  std::vector<std::size_t> first(records_.size(), kNobody);  ///< way that comes through a record
  for (std::size_t way = 0; way < tops.size(); ++way) {
    for (CauseId id = tops[way].cause; id != 0 && first[id] == kNobody; id = records_[id].since)
      first[id] = way;
  }
  std::vector<double> joining(records_.size());  ///< ways that come to a record from another one
  for (std::size_t way = tops.size(); way-- > 0;) {
    double ways = 1;
    for (When at = tops[way]; at.cause != 0;) {
      const Record& record = records_[at.cause];
      times[record.reason] += ways * static_cast<double>((at.time - record.start).count());
      if (first[at.cause] != way) {
        joining[at.cause] += ways;
        break;
      }
      ways += std::exchange(joining[at.cause], 0);
      at = When(record.start, record.since);
    }
  }
}

std::vector<Cause> Causes::attribution(const std::vector<When>& ends, double share) const {
  std::vector<double> times(names_.size());
  std::vector<When> tops;
  for (When end : ends) {
    while (records_[end.cause].start > end.time)
      end.cause = records_[end.cause].since;
    tops.push_back(end);
  }
  add_paths(tops, times);
  std::vector<Cause> list;
  constexpr double kSecond = 1e12;
  for (Reason r = 0; r < times.size(); ++r) {
    if (times[r] > 0)
      list.push_back({names_[r].cause, names_[r].resource, times[r] / kSecond / share});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Cause& a, const Cause& b) { return a.seconds > b.seconds; });
  return list;
}

}  // namespace steptime
