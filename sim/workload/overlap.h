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
#include <vector>

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
    total_ = total;
    stretches_.assign(1, {.since = now});
  }
  /// From `now` on work takes `slowdown` times as long as by itself.
  void change(Time now, double slowdown) {
    const Stretch& last = stretches_.back();
    const Duration done = std::min(total_, last.done + unscaled(now - last.since, last.slowdown));
    stretches_.push_back({now, done, slowdown});
  }
  double slowdown() const { return stretches_.back().slowdown; }
  Duration work() const { return total_; }
  /// When that much is done, if nothing changes, or was.
  Time when(Duration work) const {
    std::size_t last = stretches_.size() - 1;
    while (last > 0 && work < stretches_[last].done)
      --last;
    const Stretch& stretch = stretches_[last];
    return stretch.since + scaled(work - stretch.done, stretch.slowdown);
  }
  Time end() const { return when(total_); }
  /// How much longer than `alone` a collective takes that begins at `now` and is slowed down until
  /// the work is done.
  Duration longer(Time now, Duration alone, double slowdown) const {
    const Duration beside = std::max(Duration{}, end() - now);
    const Duration slowed = scaled(alone, slowdown);
    return slowed <= beside ? slowed - alone : beside - unscaled(beside, slowdown);
  }

 private:
  /// A time of one speed.
  struct Stretch {
    Time since{};
    Duration done{};  ///< before it
    double slowdown = 1;
  };
  Duration total_{};
  std::vector<Stretch> stretches_{{}};  ///< since the step began
};

}  // namespace steptime
