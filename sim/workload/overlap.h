// What a GPU's kernels and the collectives beside them cost each other. Implemented in
// models/overlap/, one file each.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace steptime {

/// How many times as long each takes while the other is under way on the same GPU; at least 1.
struct Slowdown {
  double compute = 1;
  double collective = 1;
  bool any() const { return compute > 1 || collective > 1; }
  bool operator==(const Slowdown&) const = default;
};

class Overlap {
 public:
  static constexpr const char* kNoun = "overlap";
  virtual ~Overlap() = default;
  /// A collective, by itself and on links as they are while kernels run.
  struct Pair {
    const Collective& alone;
    const Collective& beside_kernels;
    /// How many times as long the second takes for `m` bytes.
    double ratio(Bytes m) const {
      if (&alone == &beside_kernels) return 1;
      const double time = to_seconds(alone.time(m));
      return time == 0 ? 1 : std::max(1.0, to_seconds(beside_kernels.time(m)) / time);
    }
  };
  /// While a message of `m` bytes is added up by `collective` on a GPU of so many multiprocessors;
  /// none: not known. Unless kernels slow the collective's links, either no size costs or all do.
  virtual Slowdown beside(const Pair& collective, Bytes m,
                          std::optional<std::int64_t> multiprocessors) const = 0;
  /// Whether kernels slow the links of a collective down, where the cluster says that they do.
  virtual bool slows_links() const { return true; }
  /// Empty, or why its costs lie outside what was measured.
  virtual std::string outside_domain() const { return ""; }
};
using Overlaps = Registry<Overlap>;

/// The way of a GPU through the work of a step, whose speed changes as collectives come and go.
/// Work is told by the time that it takes by itself, from the start of the step.
class SharedCompute {
 public:
  void begin(Time now, Duration total) {
    since_ = now;
    done_ = {};
    total_ = total;
    slowdown_ = 1;
  }
  /// From `now` on work takes `slowdown` times as long as by itself.
  void change(Time now, double slowdown) {
    done_ = std::min(total_, done_ + unscaled(now - since_, slowdown_));
    since_ = now;
    slowdown_ = slowdown;
  }
  double slowdown() const { return slowdown_; }
  Duration work() const { return total_; }
  /// When that much is done, if nothing changes; for what is done long since, some time before the
  /// last change.
  Time when(Duration work) const { return since_ + scaled(work - done_, slowdown_); }
  Time end() const { return when(total_); }
  /// How much longer than `alone` a collective takes that begins at `now` and is slowed down until
  /// the work is done.
  Duration longer(Time now, Duration alone, double slowdown) const {
    const Duration beside = std::max(Duration{}, end() - now);
    const Duration slowed = scaled(alone, slowdown);
    return slowed <= beside ? slowed - alone : beside - unscaled(beside, slowdown);
  }

 private:
  Time since_{};
  Duration done_{};
  Duration total_{};
  double slowdown_ = 1;
};

}  // namespace steptime
