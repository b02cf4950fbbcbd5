#include "sim/events/causes.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace steptime {

Reason Causes::reason(std::string_view cause, std::string_view resource) {
  const auto same = std::find_if(names_.begin(), names_.end(), [&](const Cause& name) {
    return name.cause == cause && name.resource == resource;
  });
  if (same != names_.end()) return static_cast<Reason>(same - names_.begin());
  STEPTIME_CHECK(names_.size() < kReasons, "reasons without number");
  names_.push_back({std::string(cause), std::string(resource)});
  return static_cast<Reason>(names_.size() - 1);
}

/// Makes `since` the latest point.
void Causes::begin(When since) {
  expect_known(since);
  latest_ = since.cause == 0 ? 0 : add(since);
}

/// From 1 on, the same for the same stretches; 0: there are too many.
std::uint32_t Causes::number(const Stretches& stretches) {
  constexpr std::size_t kPlaces = 1 << 13;
  if (numbers_.empty()) numbers_.resize(kPlaces);
  const auto first = static_cast<std::uint64_t>(stretches.first.length.count());
  const auto second = static_cast<std::uint64_t>(stretches.second.length.count());
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  std::size_t place = ((first * kGolden ^ second) * kGolden) >> 51;
  for (; numbers_[place] != 0; place = (place + 1) % kPlaces) {
    if (stretches_[numbers_[place] - 1U] == stretches) return numbers_[place];
  }
  if (stretches_.size() == kMostStretches) return 0;
  stretches_.push_back(stretches);
  numbers_[place] = static_cast<std::uint16_t>(stretches_.size());
  return numbers_[place];
}

Reason Causes::reason(const Stretches& stretches) {
  const std::uint32_t found = number(stretches);
  STEPTIME_CHECK(found > 0, "stretches without number");
  return kReasons + found - 1;
}

When Causes::until(When since, Time end, const Stretches& stretches) {
  if (end == since.time) return since;
  if (const std::uint32_t found = number(stretches); found > 0)
    return follow(since, end, kReasons + found - 1);
  for (const Stretch& each : {stretches.first, stretches.second})
    since = until(since, std::min(end, since.time + each.length), each.reason);
  return until(since, end, stretches.rest);
}

inline std::uint32_t Causes::add(When at) {
  while (true) {
    if (next_ == end_) go_on();
    if (points_[next_].state == kFree) break;
    ++next_;
  }
  Point& point = points_[next_];
  point.at = at;
  point.last = at.time;
  point.state = kYoung;
  return next_++;
}

std::span<Causes::Point> Causes::block(std::uint32_t number) {
  const std::size_t first = std::size_t{number} * kBlock;
  return std::span(points_).subspan(first, std::min<std::size_t>(kBlock, points_.size() - first));
}

/// Behind the last place of a block.
void Causes::go_on() {
  if (end_ % kBlock != 0) {  // small runs do with a part of the first
    end_ = std::min(kBlock, std::max(2 * end_, kBlock / 64));
    return points_.resize(end_);
  }
  std::size_t number = points_.size() / kBlock;
  if (roomy_.empty()) {
    STEPTIME_CHECK(number < (std::uint64_t{1} << kPointBits) / kBlock - 1, "causes without number");
    if (number == 1)
      points_.reserve(std::size_t{64} * kBlock);  // memory that is not used yet costs nothing
    points_.resize(points_.size() + kBlock);
  } else {
    number = roomy_.back();
    roomy_.pop_back();
  }
  young_.push_back(static_cast<std::uint32_t>(number));
  next_ = young_.back() * kBlock;
  end_ = next_ + kBlock;
  tidy_at_ = young_.size() == 1 ? end_ - kBlock / 8 : 0;
}

/// Of the young, which are in these blocks: what ends from now on may lead to something yet, and
/// whatever led to that.
void Causes::sweep(const std::vector<std::uint32_t>& blocks, Time now) {
  // No branch depends on what nobody can foretell: sweeps are most of what points cost.
  std::array<Point*, kBlock> lead{};
  for (const std::uint32_t number : blocks) {
    std::size_t count = 0;
    for (Point& point : block(number)) {
      lead[count] = &point;
      count += ((point.last >= now) | (point.holders > 0)) ? 1 : 0;
    }
    for (Point* point : std::span(lead).first(count)) {
      for (; point->state == kYoung; point = &points_[point_of(point->at.cause)]) {
        point->state = kOld;
        ++old_;
      }
    }
  }
  for (const std::uint32_t number : blocks) {
    std::uint32_t room = 0;
    for (Point& point : block(number)) {
      point.state &= kOld;  // who is young still is free now
      room += point.state == kFree ? 1 : 0;
    }
    if (room >= kBlock / 2) roomy_.push_back(number);
  }
}

/// The old are looked at again only when they have become twice as many.
void Causes::collect(Time now) {
  std::reverse(young_.begin(), young_.end());  // so that the one that was filled first goes on
  sweep(young_, now);
  if (old_ >= sweep_all_at_) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t number = 0; number < points_.size() / kBlock; ++number)
      all.push_back(number);
    for (std::size_t id = 1; id < points_.size(); ++id) {
      if (points_[id].state == kOld) points_[id].state = kYoung;
    }
    old_ = 0;
    roomy_.clear();
    sweep(all, now);
    sweep_all_at_ = std::max<std::size_t>(std::size_t{16} * kBlock, 2 * old_);
  }
  latest_ = 0;  // it may be gone
  young_.clear();
  end_ = kBlock;
  go_on();
}

std::size_t Causes::size() const {
  return static_cast<std::size_t>(std::count_if(points_.begin(), points_.end(),
                                                [](const Point& p) { return p.state != kFree; }));
}

/// add(reason, length), of each of them, when so much time has passed.
template <typename Add>
void Causes::add_stretches(const Stretches& of, Duration passed, Add add) {
  const std::int64_t periods = of.period > Duration{} ? passed / of.period : 0;
  Duration begun = passed - periods * of.period;
  for (const Stretch& each : {of.first, of.second}) {
    const Duration part = std::min(begun, each.length);
    add(each.reason, periods * each.length + part);
    begun -= part;
    passed -= periods * each.length + part;
  }
  add(of.rest, passed);
}

/// Ways back meet and are one from a point on: each is visited once, with the number of ways that
/// lead through it. `times` are in picoseconds.
void Causes::add_paths(const std::vector<When>& tops, std::vector<double>& times) const {
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<std::uint32_t> first(points_.size(), kNobody);  ///< way that comes through a point
  for (std::size_t way = 0; way < tops.size(); ++way) {
    for (CauseId at = tops[way].cause; at != 0 && first[point_of(at)] == kNobody;
         at = points_[point_of(at)].at.cause)
      first[point_of(at)] = static_cast<std::uint32_t>(way);
  }
  std::unordered_map<std::uint32_t, double> joining;  ///< ways that come to a point from another
  for (std::size_t way = tops.size(); way-- > 0;) {
    double ways = 1;
    for (When at = tops[way]; at.cause != 0;) {
      expect_known(at);
      const std::uint32_t id = point_of(at.cause);
      const When since = points_[id].at;
      const auto add = [&](Reason reason, Duration length) {
        times[reason] += ways * static_cast<double>(length.count());
      };
      const Duration passed = at.time - since.time;
      if (const Reason reason = reason_of(at.cause); reason < kReasons)
        add(reason, passed);
      else
        add_stretches(stretches_[reason - kReasons], passed, add);
      if (first[id] != way) {
        joining[id] += ways;
        break;
      }
      if (const auto others = joining.find(id); others != joining.end()) ways += others->second;
      at = since;
    }
  }
}

std::vector<Cause> Causes::attribution(const std::vector<When>& ends, double share) const {
  std::vector<double> times(names_.size());
  std::vector<When> tops;
  for (When end : ends) {
    while (points_[point_of(end.cause)].at.time > end.time)
      end.cause = points_[point_of(end.cause)].at.cause;
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
