#include "sim/layouts/context_exchange.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// The whole of four ranks' keys and values; in the backward pass once more, and their gradients.
// Source: Llama 3, 2407.21783 section 3.3.2.
TEST(AllGatherExchange, GathersKeysAndValuesOfAllRanks) {
  const auto exchange = make<ContextExchange>(R"({"type": "all-gather"})");
  const ExchangedBytes of{.hidden = {100}, .queries = {80}, .keys_values = {10}};
  const auto forward = exchange->forward(of, 4);
  ASSERT_EQ(forward.size(), 1);
  EXPECT_EQ(forward[0].operation, Operation::kAllGather);
  EXPECT_EQ(forward[0].bytes.count, 40);
  EXPECT_FALSE(forward[0].is_beside);
  const auto backward = exchange->backward(of, 4);
  ASSERT_EQ(backward.size(), 2);
  EXPECT_EQ(backward[1].operation, Operation::kReduceScatter);
  EXPECT_EQ(backward[1].bytes.count, 40);
}

}  // namespace
}  // namespace steptime
