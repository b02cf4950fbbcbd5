// How ranks that share the tokens of a sample exchange what attention needs of all of them.
// Implemented in schedulers/context_exchanges/, one file each.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/workload/model_work.h"

#include <cstdint>
#include <vector>

namespace steptime {

/// One exchange among the context ranks of a layer.
struct ContextCall {
  /// None: each rank sends to the next one of the ring.
  std::optional<Operation> operation{};
  Bytes bytes{};           ///< as the operation counts them; of a send, what a rank sends
  bool is_beside = false;  ///< a piece of attention is computed meanwhile
};

class ContextExchange {
 public:
  static constexpr const char* kNoun = "context-exchange";
  virtual ~ContextExchange() = default;
  /// In a forward pass of a layer, over so many ranks, in order.
  virtual std::vector<ContextCall> forward(const ExchangedBytes& of, std::int64_t ranks) const = 0;
  virtual std::vector<ContextCall> backward(const ExchangedBytes& of, std::int64_t ranks) const = 0;
};
using ContextExchanges = Registry<ContextExchange>;

}  // namespace steptime
