// Do words and quantities reach the members that they name?
#include "sim/mxnet/settings.h"

#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

const Bindings<MxnetSettings>& all_keys() {
  static const Bindings<MxnetSettings> keys = collective_pool_keys().with(mxnet_keys());
  return keys;
}

TEST(MxnetSettings, FallbacksAreThoseOfTheFramework) {
  const MxnetSettings s = all_keys().read(config_of("{}", all_keys().params()));
  EXPECT_FALSE(s.backward_keys);
  EXPECT_FALSE(s.equal_priorities);
  EXPECT_EQ(s.bulk, 15);
  EXPECT_EQ(s.python_call, Duration(45'000'000));
  EXPECT_EQ(s.engine_push, Duration(2'000'000));
  EXPECT_EQ(s.collective_threads, 4);
  EXPECT_EQ(s.collective_order, PoolOrder::kPriority);
  EXPECT_EQ(s.jitter, 0);
}

TEST(MxnetSettings, WordsAreWhatTheySay) {
  const MxnetSettings s = all_keys().read(
      config_of(R"({"key_order": "backward", "priority": "none", "order": "fifo", "threads": 2,
                    "copy_bandwidth": "1 GB/s", "wake_up": "3 us"})",
                all_keys().params()));
  EXPECT_TRUE(s.backward_keys);
  EXPECT_TRUE(s.equal_priorities);
  EXPECT_EQ(s.collective_order, PoolOrder::kFifo);
  EXPECT_EQ(s.collective_threads, 2);
  EXPECT_EQ(s.copy_bandwidth.bytes_per_second, 1e9);
  EXPECT_EQ(s.wake_up, Duration(3'000'000));
}

}  // namespace
}  // namespace steptime
