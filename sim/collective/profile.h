// What was measured of the collectives of one machine: piecewise alpha-beta lines with intervals.
//
// A profile is a preset of a cluster (netmodels/presets/, or any file) with one more key:
//
//   "operations": {"all-reduce": {"ranks": 4, "rounds": 20, "interval_from": "rounds",
//     "segments": [{"first_bytes": 4, "last_bytes": 4096, "a_s": 1e-4, "b_s_per_byte": 1e-9,
//                   "low_s": [9e-5, 9.3e-5], "high_s": [1.1e-4, 1.2e-4]}, ...]}, ...}
//
// `low_s` and `high_s` are the ends of the 95 % interval at a segment's first and last size.
// Between two segments the time goes straight from the last size of the one to the first of the
// next: that is where the way of sending changed.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/config.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// Times in seconds at a size.
struct Knot {
  double bytes = 0;
  double fitted = 0;
  double low = 0;
  double high = 0;
};

/// a + b M from the first to the last size, which may be the same one.
struct MeasuredSegment {
  Knot first;
  Knot last;
  double b() const {  ///< s/B
    return last.bytes > first.bytes ? (last.fitted - first.fitted) / (last.bytes - first.bytes) : 0;
  }
  double a() const { return first.fitted - b() * first.bytes; }  ///< s
};

/// Straight lines through knots; no time decreases with size. The outer lines are prolonged.
class MeasuredCurve {
 public:
  /// At least one segment, sizes increasing.
  explicit MeasuredCurve(std::span<const MeasuredSegment> segments);
  /// Of `bytes`, in s; never negative.
  double fitted(double bytes) const { return at(bytes, &Knot::fitted); }
  double low(double bytes) const { return at(bytes, &Knot::low); }
  double high(double bytes) const { return at(bytes, &Knot::high); }
  double first_bytes() const { return knots_.front().bytes; }
  double last_bytes() const { return knots_.back().bytes; }

 private:
  friend class MeasuredCollective;
  double at(double bytes, double Knot::*level) const;
  std::vector<Knot> knots_;
};

struct MeasuredOperation {
  std::int64_t ranks = 0;
  std::int64_t rounds = 0;    ///< measurements of each size
  std::string interval_from;  ///< "rounds" that were resampled, or "held-out sizes"
  std::vector<MeasuredSegment> segments;
};

/// By name: "all-reduce", ...
using MeasuredOperations = std::map<std::string, MeasuredOperation>;

Json operations_json(const MeasuredOperations& operations);
/// Of the profile in a file. Throws InputError.
MeasuredOperations read_operations(const std::string& file);

/// A collective that takes what was measured, and can say how sure that is.
class MeasuredCollective final : public Collective {
 public:
  /// `place` is for messages: where the measurement stands.
  MeasuredCollective(const MeasuredOperation& operation, std::string place);
  Duration time(Bytes m) const override;
  /// That of no bytes, as the first segment has it.
  Duration startup() const override { return time(Bytes{0}); }
  std::string outside_domain(Bytes m) const override;
  std::shared_ptr<const Collective> at(IntervalEnd end) const override;

 private:
  MeasuredCurve curve_;
  std::string place_;
};

}  // namespace steptime
