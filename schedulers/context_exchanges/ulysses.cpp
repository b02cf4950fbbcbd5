// DeepSpeed-Ulysses: four all-to-alls, of queries, keys, values and the result, give a rank all
// tokens of some heads for the time of attention.
// Source: Jacobs et al., 2309.14509 section 3.
#include "sim/layouts/context_exchange.h"

#include <memory>

namespace steptime {
namespace {

class Ulysses final : public ContextExchange {
 public:
  std::vector<ContextCall> forward(const ExchangedBytes& of, std::int64_t) const override {
    return std::vector<ContextCall>(4, {.operation = Operation::kAllToAll, .bytes = of.queries});
  }
  std::vector<ContextCall> backward(const ExchangedBytes& of, std::int64_t ranks) const override {
    return forward(of, ranks);
  }
};

const bool kRegistered = ContextExchanges::instance().add(
    "ulysses", "all-to-alls give each rank all tokens of some heads", {},
    [](const Config&) { return std::make_unique<Ulysses>(); });

}  // namespace
}  // namespace steptime
