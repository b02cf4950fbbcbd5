#include "sim/collective/profile.h"

#include "sim/core/error.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params& operation_params() {
  static const Params params{
      {.key = "ranks", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e9}},
      {.key = "rounds", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e9}},
      {.key = "interval_from", .kind = Kind::kText, .words = {"rounds", "held-out sizes"}},
      {.key = "segments", .kind = Kind::kList}};
  return params;
}

const Params& segment_params() {
  static const Params params{
      {.key = "first_bytes", .kind = Kind::kInteger, .range = {.low = 0, .high = 9e18}},
      {.key = "last_bytes", .kind = Kind::kInteger, .range = {.low = 0, .high = 9e18}},
      {.key = "a_s", .kind = Kind::kNumber},
      {.key = "b_s_per_byte", .kind = Kind::kNumber, .range = kNotNegative},
      {.key = "low_s", .kind = Kind::kList},
      {.key = "high_s", .kind = Kind::kList}};
  return params;
}

/// A list of two times that are not negative.
std::pair<double, double> pair_of(const Config& segment, const char* key) {
  const Json& list = segment.raw(key);
  const auto is_time = [](const Json& x) { return x.is_number() && x.get<double>() >= 0; };
  if (!list.is_array() || list.size() != 2 || !is_time(list[0]) || !is_time(list[1]))
    segment.fail(key, fmt::format("expected two times in seconds, got {}", brief(list)));
  return {list[0].get<double>(), list[1].get<double>()};
}

MeasuredSegment segment_of(const Config& c) {
  const double a = c.get<double>("a_s");
  const double b = c.get<double>("b_s_per_byte");
  const auto [low_first, low_last] = pair_of(c, "low_s");
  const auto [high_first, high_last] = pair_of(c, "high_s");
  const auto first = static_cast<double>(c.get<std::int64_t>("first_bytes"));
  const auto last = static_cast<double>(c.get<std::int64_t>("last_bytes"));
  if (last < first) c.fail("last_bytes", "is below first_bytes");
  return {{first, a + b * first, low_first, high_first}, {last, a + b * last, low_last, high_last}};
}

MeasuredOperation operation_of(const Config& c) {
  MeasuredOperation operation{c.get<std::int64_t>("ranks"),
                              c.get<std::int64_t>("rounds"),
                              c.get<std::string>("interval_from"),
                              {}};
  for (const Config& segment : c.objects("segments", segment_params())) {
    operation.segments.push_back(segment_of(segment));
    const auto n = operation.segments.size();
    if (n > 1 && operation.segments[n - 1].first.bytes <= operation.segments[n - 2].last.bytes)
      segment.fail("first_bytes", "does not lie above the segment before");
  }
  if (operation.segments.empty()) c.fail("segments", "expected at least one, got none");
  return operation;
}

}  // namespace

MeasuredCurve::MeasuredCurve(std::span<const MeasuredSegment> segments) {
  STEPTIME_CHECK(!segments.empty(), "a curve without segments");
  Knot most{};
  for (const MeasuredSegment& segment : segments) {
    for (const Knot& knot : {segment.first, segment.last}) {
      most = {knot.bytes, std::max(most.fitted, knot.fitted), std::max(most.low, knot.low),
              std::max(most.high, knot.high)};
      if (knots_.empty() || knot.bytes > knots_.back().bytes) knots_.push_back(most);
    }
  }
}

double MeasuredCurve::at(double bytes, double Knot::*level) const {
  if (knots_.size() == 1) return knots_.front().*level;
  const auto right = std::lower_bound(knots_.begin() + 1, knots_.end() - 1, bytes,
                                      [](const Knot& knot, double x) { return knot.bytes < x; });
  const Knot& left = *(right - 1);
  return std::max(0.0, std::lerp(left.*level, (*right).*level,
                                 (bytes - left.bytes) / (right->bytes - left.bytes)));
}

Json operations_json(const MeasuredOperations& operations) {
  Json all = Json::object();
  for (const auto& [name, operation] : operations) {
    Json segments = Json::array();
    for (const MeasuredSegment& s : operation.segments) {
      segments.push_back({{"first_bytes", std::llround(s.first.bytes)},
                          {"last_bytes", std::llround(s.last.bytes)},
                          {"a_s", s.a()},
                          {"b_s_per_byte", s.b()},
                          {"low_s", {s.first.low, s.last.low}},
                          {"high_s", {s.first.high, s.last.high}}});
    }
    all[name] = {{"ranks", operation.ranks},
                 {"rounds", operation.rounds},
                 {"interval_from", operation.interval_from},
                 {"segments", segments}};
  }
  return all;
}

MeasuredOperations read_operations(const std::string& file) {
  static const Params any{{.key = "*"}};
  const Config root(std::make_shared<Document>(Document{file, parse_json(read_file(file), file)}),
                    any);
  if (!root.has("operations")) root.fail("operations", "required but missing");
  static const Params by_name{{.key = "*", .kind = Kind::kObject}};
  const Config list = root.object("operations", by_name);
  MeasuredOperations operations;
  for (const auto& [name, unused] : list.node().items())
    operations[name] = operation_of(list.object(name, operation_params()));
  return operations;
}

MeasuredCollective::MeasuredCollective(const MeasuredOperation& operation, std::string place)
    : curve_(operation.segments), place_(std::move(place)) {}

Duration MeasuredCollective::time(Bytes m) const {
  return from_seconds(curve_.fitted(static_cast<double>(m.count)));
}

std::string MeasuredCollective::outside_domain(Bytes m) const {
  const auto bytes = static_cast<double>(m.count);
  if (bytes >= curve_.first_bytes() && bytes <= curve_.last_bytes()) return "";
  return fmt::format("{} B is outside the {:.0f} to {:.0f} B that {} measured", m.count,
                     curve_.first_bytes(), curve_.last_bytes(), place_);
}

std::shared_ptr<const Collective> MeasuredCollective::at(IntervalEnd end) const {
  auto other = std::make_shared<MeasuredCollective>(*this);
  for (Knot& knot : other->curve_.knots_)
    knot.fitted = end == IntervalEnd::kLow ? knot.low : knot.high;
  return other;
}

}  // namespace steptime
