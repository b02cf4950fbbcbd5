// In which order the ranks of a pipeline work: what rank r does k-th. An order knows nothing of
// time, memory or communication, and has no state: it is asked for any k, again and again.
// Implemented in schedulers/pipeline_orders/, one file each.
#pragma once
#include "sim/config/registry.h"

#include <cstdint>
#include <string>

namespace steptime {

/// What a rank does with a micro-batch in a chunk.
enum class PassKind : std::uint8_t {
  kForward,
  kBackward,        ///< both gradients
  kInputGradient,   ///< which the stage before waits for; the weights' comes later
  kWeightGradient,  ///< the weights' gradient, where the pass for the input's is over
};

struct Pass {
  PassKind kind{};
  std::int32_t micro_batch = 0;
  std::int32_t chunk = 0;  ///< which of the rank's chunks; a micro-batch comes to 0 first
  /// The order's framework begins the next pass when what this one makes has been sent, not before.
  bool awaits_send = false;
  bool operator==(const Pass&) const = default;
};

/// Chunk c of rank r is stage c * ranks + r of the model.
struct PipelineShape {
  std::int32_t ranks = 1;
  std::int32_t micro_batches = 1;
};

/// Of each micro-batch in each of its chunks a rank makes a forward pass and then either a backward
/// pass or its two halves, the inputs' gradients and behind them the weights', each of them once.
/// Forward passes of a chunk take micro-batches in turn, 0 first, and so do its backward passes or
/// each of their halves, as a rank counts what comes to it; playing an order checks that. Ranks
/// must not wait for each other in a circle. What is sent, waited for and held follows.
/// tests/property/ check all of this for each order that is registered.
class PipelineOrder {
 public:
  static constexpr const char* kNoun = "pipeline-order";
  virtual ~PipelineOrder() = default;
  /// Of each rank.
  virtual std::int32_t chunks() const { return 1; }
  /// Whether passes for weights' gradients come later than those for inputs'.
  virtual bool splits_backward() const { return false; }
  /// Why these micro-batches cannot be worked on in this order, where the framework refuses them,
  /// too; else empty.
  virtual std::string refusal(const PipelineShape&) const { return ""; }
  /// How many passes a rank makes.
  virtual std::int64_t passes(const PipelineShape& shape, std::int32_t rank) const = 0;
  /// The k-th of them, from 0 on, in constant time and memory.
  virtual Pass pass(const PipelineShape& shape, std::int32_t rank, std::int64_t k) const = 0;
};
using PipelineOrders = Registry<PipelineOrder>;

}  // namespace steptime
