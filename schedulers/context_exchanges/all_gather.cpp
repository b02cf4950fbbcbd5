// Every rank gathers the keys and values of all before attention, and the backward pass sums their
// gradients up in parts.
// Source: Llama 3, 2407.21783 section 3.3.2.
#include "sim/layouts/context_exchange.h"

#include <memory>

namespace steptime {
namespace {

class AllGatherExchange final : public ContextExchange {
 public:
  std::vector<ContextCall> forward(const ExchangedBytes& of, std::int64_t ranks) const override {
    return {{.operation = Operation::kAllGather, .bytes = whole(of, ranks)}};
  }
  /// Keys and values, which were not kept, once more, and their gradients.
  std::vector<ContextCall> backward(const ExchangedBytes& of, std::int64_t ranks) const override {
    return {{.operation = Operation::kAllGather, .bytes = whole(of, ranks)},
            {.operation = Operation::kReduceScatter, .bytes = whole(of, ranks)}};
  }

 private:
  static Bytes whole(const ExchangedBytes& of, std::int64_t ranks) {
    return {of.keys_values.count * ranks};
  }
};

const bool kRegistered = ContextExchanges::instance().add(
    "all-gather", "keys and values of all ranks are gathered before attention", {},
    [](const Config&) { return std::make_unique<AllGatherExchange>(); });

}  // namespace
}  // namespace steptime
