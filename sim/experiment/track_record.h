// How good predictions have been: published step times beside simulated ones, as `steptime
// reproduce --record` writes them to traces/record.jsonl. A result gets its domain and an interval
// from them. Each was predicted before anything was fitted on its testbed: from presets, devices
// and libraries by name, and once more with the measured time of a single GPU, where that is known.
//
// Five lines:
//   1. A step has eight attributes (sim/experiment/kind_of_step.h). It is `validated` where five
//      published steps share them all, were typically predicted to 10 %, and it lies within their
//      ranges.
//   2. Its interval is prediction x exp(+-w), w^2 = w0^2 + the sum of d^2 over attributes that none
//      of the steps behind w0 shares.
//   3. w0 = t rms: the root mean square over testbeds of the rms of their ln(published /
//      predicted), as far as the network's range does not explain it, and Student's t (97.5 %) for
//      as many as they are worth: (sum v)^2 / sum v^2, v a testbed's mean square, which is their
//      number where all err alike, and less where few are far off (Satterthwaite 1946, doi
//      10.2307/3002019). Behind it are the steps that share all, or all but some attributes, of
//      three testbeds or more: those attributes are given up that make the interval the narrowest.
//      Steps with a measured compute time tell nothing of one whose time a device model reckons.
//   4. d = 1.96 rms: over testbeds, of the differences between mean logarithmic errors of a
//      testbed's kinds that differ in that attribute alone (one node and several: in the fabric,
//      too). Fewer than two testbeds that tell: between testbeds; none: the largest other d.
//   5. Where of a network only a range of rates is known, exp(+-w) stands on its two ends.
//
// A measured compute time is a floor: no end of the interval lies below it by more than 3 %. Times
// of a device model that is off by more than d of the GPU, or was never compared, add that instead.
//
// Steps of layouts have a record of their own, traces/layouts.jsonl, by the same rules: published
// rows of training runs of language models, a testbed for each lab's runs of a framework, without
// rows that rates are fitted to. None is `validated`: which of them are far off is not understood.
//
// Scope: w, t and d follow from the rows by these rules, and from nothing else. A row's own testbed
// is left out where `reproduce --record` tells how many rows lie within their interval.
#pragma once
#include "sim/experiment/kind_of_step.h"
#include "sim/experiment/record_row.h"
#include "sim/experiment/validity.h"
#include "sim/workload/workload.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steptime {

/// Of a step that communicates nothing: 1/10 + min(1, max(busy communication / compute, exposed
/// communication / step)).
inline constexpr double kLeastShare = 0.1;

/// What a domain and an interval depend on.
struct Prediction {
  KindOfStep kind{};
  std::int64_t workers = 1;
  std::int64_t gpus_per_node = 1;
  std::int64_t samples = 1;  ///< samples of one worker in one step
  double latency_s = 0;      ///< between nodes, or GPUs of a single one
  bool has_servers = false;  ///< which a single worker talks to, as well
  double step_s = 0;
  double compute_s = 0;
  double comm_busy_s = 0;
  /// Errors of the model behind the compute times; none: these were measured.
  std::optional<ModelErrors> modelled{};
  std::vector<std::string> beyond{};  ///< what a part of the simulation extrapolates
  /// Ends of what is known of the network's rate, over the simulated one.
  double slowest_rate = 1;
  double fastest_rate = 1;
  /// kLeastShare's.
  double share() const;
  /// What it takes with the network at the ends of what is known, the fastest first, s.
  std::pair<double, double> range_s() const;
};

/// Ends of an interval that holds what would be measured with 95 %.
struct Interval {
  double low = 0;
  double high = 0;
};

struct Assessment {
  Validity domain;
  Interval step_s;
};

class TrackRecord {
 public:
  explicit TrackRecord(std::vector<RecordRow> rows);
  ~TrackRecord();
  TrackRecord(TrackRecord&&) noexcept;
  /// The shipped one that steps of such a kind are in: traces/record.jsonl or traces/layouts.jsonl.
  /// Throws InputError when it cannot be read.
  static const TrackRecord& of(const KindOfStep& kind);

  Assessment assess(Prediction prediction) const;
  /// The rows that share all of a kind, in the order of the file.
  std::vector<RecordRow> rows_of(const KindOfStep& kind) const;
  /// Without the rows of a testbed.
  TrackRecord without(const std::string& testbed) const;
  const std::array<AttributeSpread, kAttributes>& spreads() const;

 private:
  struct State;
  struct Behind;
  Behind behind(const Prediction& p) const;
  std::unique_ptr<const State> state_;
};

/// The file's text: a JSON object for each row, on a line of its own.
std::string record_text(std::span<const RecordRow> rows);
/// Throws InputError.
std::vector<RecordRow> parse_record(const std::string& text, const std::string& file);

}  // namespace steptime
