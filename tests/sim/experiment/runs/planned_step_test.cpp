#include "sim/experiment/runs/planned_step.h"

#include "tests/support/simulated.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(SentBuckets, AreInSendOrderWithTheirTimes) {
  const TinyFolder folder;
  const auto sent = sent_buckets(tiny_experiment(folder));
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].tensors, std::vector<std::string>{"fc.b"});
  EXPECT_EQ(sent[0].bytes, Bytes{4000});
  EXPECT_EQ(sent[0].ready_s, 0.020);
  EXPECT_EQ(sent[0].start_s, 0.020);
  EXPECT_EQ(sent[0].end_s, 0.021004);
  EXPECT_EQ(sent[1].tensors, std::vector<std::string>{"fc.w"});
  EXPECT_EQ(sent[1].ready_s, 0.020);
  EXPECT_EQ(sent[1].start_s, 0.021004);  // waits for fc.b
  EXPECT_EQ(sent[1].end_s, 0.026004);
  EXPECT_EQ(sent[2].start_s, 0.042);
  EXPECT_EQ(sent[2].end_s, 0.044);
}

TEST(SentBuckets, OfOneMessageNameAllItsTensors) {
  const TinyFolder folder;
  const auto sent = sent_buckets(
      tiny_experiment(folder, R"({"strategy": {"schedule": {"type": "sync-easgd"}}})"));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].tensors, (std::vector<std::string>{"fc.b", "fc.w", "conv"}));
  EXPECT_EQ(sent[0].bytes, Bytes{5'004'000});
  EXPECT_EQ(sent[0].end_s, 0.048004);  // 42 + 1 + 5.004 ms
}

}  // namespace
}  // namespace steptime
