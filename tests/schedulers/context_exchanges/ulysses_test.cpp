#include "sim/layouts/context_exchange.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// Queries, keys, values and the result. Source: Jacobs et al., 2309.14509 section 3.
TEST(Ulysses, MakesFourAllToAllsInEachPass) {
  const auto exchange = make<ContextExchange>(R"({"type": "ulysses"})");
  const ExchangedBytes of{.hidden = {100}, .queries = {80}, .keys_values = {10}};
  for (const auto& calls : {exchange->forward(of, 4), exchange->backward(of, 4)}) {
    ASSERT_EQ(calls.size(), 4);
    for (const ContextCall& call : calls) {
      EXPECT_EQ(call.operation, Operation::kAllToAll);
      EXPECT_EQ(call.bytes.count, 80);
      EXPECT_FALSE(call.is_beside);
    }
  }
}

}  // namespace
}  // namespace steptime
