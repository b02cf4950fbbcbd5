// Ring attention: keys and values of a rank go around, and a piece of attention is computed with
// what is there while the next piece travels. In the backward pass their gradients go around, too.
//
// Scope: causal attention over 2c pieces of a sample, of which rank i has i and 2c - 1 - i, so that
// all ranks have the same work. Source: Liu et al., 2310.01889; Llama 3, 2407.21783 section 3.3.2
// (the pieces).
#include "sim/layouts/context_exchange.h"

#include <memory>

namespace steptime {
namespace {

class RingExchange final : public ContextExchange {
 public:
  std::vector<ContextCall> forward(const ExchangedBytes& of, std::int64_t ranks) const override {
    return std::vector<ContextCall>(static_cast<std::size_t>(ranks - 1),
                                    {.bytes = of.keys_values, .is_beside = true});
  }
  std::vector<ContextCall> backward(const ExchangedBytes& of, std::int64_t ranks) const override {
    return std::vector<ContextCall>(static_cast<std::size_t>(ranks - 1),
                                    {.bytes = {2 * of.keys_values.count}, .is_beside = true});
  }
};

const bool kRegistered = ContextExchanges::instance().add(
                             "ring", "keys and values go around beside attention", {},
                             [](const Config&) { return std::make_unique<RingExchange>(); }) &&
                         ContextExchanges::instance().set_default("ring");

}  // namespace
}  // namespace steptime
