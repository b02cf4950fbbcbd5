// Do gradients cost the copies into and out of their buckets that the header counts?
#include "sim/workload/bucket_copies.h"

#include <chrono>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;

/// Two layers of 1 ms and 2 ms, the second with a weight of 1 MB and a bias of 4 kB.
Workload workload() {
  Trace trace{.batch = 1};
  trace.layers = {{.name = "a", .forward = microseconds(1000), .backward = microseconds(2000)},
                  {.name = "b",
                   .forward = microseconds(1000),
                   .backward = microseconds(2000),
                   .tensors = {{"w", 250'000}, {"bias", 1'000}}}};
  trace.copies = ArrayCopies{.start = microseconds(5), .bytes_per_second = 1e9, .buffers = 3};
  return {.trace = trace};
}

// Two kernels of 5 us and 2 x 1.004 MB at 1 GB/s: 2,018 us, into the bucket and back; three more
// kernels for the buffers.
TEST(BucketCopies, EachGradientIsCopiedTwiceAndEachBufferOnce) {
  const auto shared = with_bucket_copies(workload());
  ASSERT_TRUE(shared);
  const auto& layers = shared->trace.layers;
  EXPECT_EQ(layers[1].backward, microseconds(2000 + 2018));
  EXPECT_EQ(layers[0].backward, microseconds(2000));
  EXPECT_EQ(layers[0].forward, microseconds(1000 + 2018 + 15));
  EXPECT_EQ(layers[1].forward, microseconds(1000));
}

TEST(BucketCopies, ATotalOfTheForwardPassGrowsAsMuch) {
  Workload alone = workload();
  alone.trace.forward_total = microseconds(3000);
  EXPECT_EQ(with_bucket_copies(alone)->trace.forward_total, microseconds(3000 + 2033));
}

TEST(BucketCopies, NothingIsKnownWithoutADevice) {
  Workload alone = workload();
  alone.trace.copies.reset();
  EXPECT_FALSE(with_bucket_copies(alone));
}

}  // namespace
}  // namespace steptime
