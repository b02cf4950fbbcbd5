// One collective operation: how long all ranks together take for M bytes, which links it occupies
// meanwhile, and the messages that it consists of. Implemented in netmodels/, one file each: with
// messages as a MessageCollective (sim/collective/message_collective.h), or by its time only.
#pragma once
#include "sim/collective/collective_program.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/network/cluster.h"
#include "sim/network/pairs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// T(M) = a + b M.
struct LinearCost {
  Duration a{};  ///< startup time of the whole collective
  TimePerByte b{};

  Duration time(Bytes m) const { return checked_add(a, b * m); }
};

/// What M bytes are: for an all-gather and a reduce-scatter the whole of all ranks' parts, as
/// nccl-tests counts them; else what each rank has or gets (in an all-to-all, for all ranks).
enum class Operation : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kReduce,
  kBroadcast,
  kAllToAll
};

/// How far an estimated time may be from that of the messages, which is the 1 here: -0.02 is 2 %
/// too short.
struct ErrorBound {
  double least = 0;
  double most = 0;
};

/// A part of a collective as links see it at analytic fidelity: a start-up, during which it
/// occupies nothing, and then work on links of one kind.
struct Stage {
  /// kInNode: the links inside every node; kBetweenNodes: the ports of every node. Never kAny.
  Pairs where = Pairs::kBetweenNodes;
  Duration startup{};
  /// How long it takes the links for when nothing else does; what shares them makes it longer.
  /// Adding up, which belongs to it in a closed form, is in here, too.
  Duration work{};
  /// The part of `work` in which values are added up; none: it is not known apart.
  std::optional<Duration> sum{};
  bool copies = false;  ///< between GPUs and their hosts, and sends nothing
};

/// The ends of an interval that holds a measured time with 95 %.
enum class IntervalEnd : std::uint8_t { kLow, kHigh };

class Collective {
 public:
  static constexpr const char* kNoun = "collective";
  virtual ~Collective() = default;
  /// Time from the moment all ranks have their data to the moment all have the result. Does not
  /// decrease with `m`.
  virtual Duration time(Bytes m) const = 0;
  /// The startup time `a` that MG-WFBP's merge test weighs (004, Algorithm 1 line 13).
  virtual Duration startup() const = 0;
  /// Its stages for `m` bytes, one after the other: their start-ups and works add up to time(m), to
  /// the picosecond. Empty for a collective that is known by its time only: it takes that time,
  /// whatever else is under way, and no link counts it.
  virtual std::vector<Stage> stages(Bytes) const { return {}; }
  /// Set when time(m) is a + b m for every m; then outside_domain() is the same for every m, too.
  virtual std::optional<LinearCost> linear() const { return std::nullopt; }
  /// Empty, or why a message of this size lies outside what the model was calibrated on.
  virtual std::string outside_domain(Bytes) const { return ""; }
  /// How a message of this size travels, where that depends on its size: "Ring/LL128 x8".
  virtual std::string choice(Bytes) const { return ""; }
  /// Blocks of a GPU's threads that it keeps busy meanwhile, each on a multiprocessor; 0, for all
  /// sizes or for none of them: none, or not known.
  virtual std::int64_t thread_blocks(Bytes) const { return 0; }
  /// Set where time() only estimates what the messages take on an idle cluster of this kind: what
  /// was measured, and tests/property/closed_form_test.cpp tests. Elsewhere the two are equal, but
  /// for the byte by which one part of a cut message is longer than another.
  virtual std::optional<ErrorBound> error_bound() const { return std::nullopt; }
  /// The same collective at an end of the interval of its measurement; null where none is known.
  virtual std::shared_ptr<const Collective> at(IntervalEnd) const { return nullptr; }
  /// What each worker sends and receives; empty for a collective that is known by its time only.
  virtual Programs programs(Bytes) const { return {}; }
  /// An all-reduce leaves every worker with the sum over all of them, by whatever way.
  virtual Operation operation() const { return Operation::kAllReduce; }
};

/// A collective that is known by its time only, which is a + b M for every M.
class LinearCollective : public Collective {
 public:
  explicit LinearCollective(LinearCost cost) : cost_(cost) {}
  Duration time(Bytes m) const final { return cost_.time(m); }
  Duration startup() const final { return cost_.a; }
  std::optional<LinearCost> linear() const final { return cost_; }

 private:
  LinearCost cost_;
};

using Collectives = Registry<Collective, const Cluster&>;

}  // namespace steptime
