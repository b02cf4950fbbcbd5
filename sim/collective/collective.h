// One collective operation, at two fidelities: how long all ranks together take for M bytes, in
// closed form, and the messages that it consists of. Implemented in netmodels/, one file each.
#pragma once
#include "sim/collective/collective_program.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/network/cluster.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace steptime {

/// T(M) = a + b M.
struct LinearCost {
  Duration a{};  ///< startup time of the whole collective
  TimePerByte b{};

  Duration time(Bytes m) const {
    return checked_add(a, from_seconds(b.seconds_per_byte * static_cast<double>(m.count)));
  }
};

/// What M bytes are: for an all-gather and a reduce-scatter the whole of all ranks' parts, as
/// nccl-tests counts them; else what each rank has or gets.
enum class Operation : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kReduce, kBroadcast };

class Collective {
 public:
  static constexpr const char* kNoun = "collective";
  virtual ~Collective() = default;
  /// Time from the moment all ranks have their data to the moment all have the result. Does not
  /// decrease with `m`.
  virtual Duration time(Bytes m) const = 0;
  /// The startup time `a` that MG-WFBP's merge test weighs (004, Algorithm 1 line 13).
  virtual Duration startup() const = 0;
  /// Set when time(m) is a + b m for every m.
  virtual std::optional<LinearCost> linear() const { return std::nullopt; }
  /// Empty, or why a message of this size lies outside what the model was calibrated on.
  virtual std::string outside_domain(Bytes) const { return ""; }
  /// How a message of this size travels, where that depends on its size: "Ring/LL128 x8".
  virtual std::string choice(Bytes) const { return ""; }
  /// What each worker sends and receives; empty for a collective that is known by its time only.
  virtual Programs programs(Bytes) const { return {}; }
  /// An all-reduce leaves every worker with the sum over all of them, by whatever way.
  virtual Operation operation() const { return Operation::kAllReduce; }
};

/// A collective whose cost is a + b M for every M.
class LinearCollective : public Collective {
 public:
  using MakeProgram = std::function<std::unique_ptr<Program>(Slice whole)>;
  explicit LinearCollective(LinearCost cost, MakeProgram program = nullptr,
                            Operation operation = Operation::kAllReduce)
      : cost_(cost), program_(std::move(program)), operation_(operation) {}
  Duration time(Bytes m) const final { return cost_.time(m); }
  Duration startup() const final { return cost_.a; }
  std::optional<LinearCost> linear() const final { return cost_; }
  Operation operation() const final { return operation_; }
  Programs programs(Bytes m) const override {
    Programs programs;
    if (program_) programs.push_back(program_({0, m.count}));
    return programs;
  }

 private:
  LinearCost cost_;
  MakeProgram program_;
  Operation operation_;
};

using Collectives = Registry<Collective, const Cluster&>;

}  // namespace steptime
