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

CauseId Causes::add(Record record) {
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
  STEPTIME_CHECK(know(since), "a cause ends when its effect begins");
  STEPTIME_CHECK(end >= since.time, "an effect comes before its cause");
  if (end == since.time) return since;
  return When(end, add({end, static_cast<std::uint32_t>(since.cause), reason}));
}

CauseId Causes::begin(When since, Reason reason) {
  STEPTIME_CHECK(know(since), "a cause ends when its effect begins");
  return add({Time::max(), static_cast<std::uint32_t>(since.cause), reason});
}

When Causes::finish(CauseId id, Time end) {
  Record& record = records_[id];
  STEPTIME_CHECK(record.end == Time::max() && end >= records_[record.since].end,
                 "what has begun ends once, and not before it began");
  record.end = end;
  return When(end, id);
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
    records_[id] = {Time::min(), 0, 0};
    free_.push_back(id);
  }
  young_.clear();
}

/// The old are looked at again only when they have become twice as many.
void Causes::collect(Time now) {
  sweep(now);
  if (size() < sweep_all_at_) return;
  for (std::uint32_t id = 1; id < records_.size(); ++id) {
    if (records_[id].end == Time::min()) continue;
    leads_[id] = 0;
    young_.push_back(id);
  }
  sweep(now);
  sweep_all_at_ = std::max(4 * kYoung, 2 * size());
}

/// Ways back meet and are one from there on: each record is visited once, with the number of ways
/// that lead through it. `times` are in picoseconds.
void Causes::add_paths(const std::vector<CauseId>& tops, std::vector<double>& times) const {
  constexpr std::size_t kNobody = ~std::size_t{0};
  std::vector<std::size_t> first(records_.size(), kNobody);  ///< way that comes through a record
  first[0] = tops.size();
  for (std::size_t way = 0; way < tops.size(); ++way) {
    for (CauseId id = tops[way]; first[id] == kNobody; id = records_[id].since)
      first[id] = way;
  }
  std::vector<double> joining(records_.size());  ///< ways that come to a record from another one
  for (std::size_t way = tops.size(); way-- > 0;) {
    double ways = 1;
    CauseId id = tops[way];
    for (; first[id] == way; id = records_[id].since) {
      ways += std::exchange(joining[id], 0);
      times[records_[id].reason] += ways * length(id);
    }
    joining[id] += ways;
  }
}

std::vector<Cause> Causes::attribution(const std::vector<When>& ends, double share) const {
  std::vector<double> times(names_.size());
  std::vector<CauseId> tops;
  for (const When& end : ends) {
    CauseId id = end.cause;
    for (; records_[id].end > end.time; id = records_[id].since) {
      const Time since = records_[records_[id].since].end;
      if (since < end.time)
        times[records_[id].reason] += static_cast<double>((end.time - since).count());
    }
    tops.push_back(id);
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
