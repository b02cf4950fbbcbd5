// Do the operations of a step read and write what the framework's do?
#include "sim/mxnet/rank_ops.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Kind = RankOps::Kind;
constexpr Duration kSecond{1'000'000'000'000};

struct TwoKeys {
  TrainingGraph graph{
      .segments = {{"forward", kSecond, false, {0, 1}}, {"backward", kSecond, true, {1}}},
      .forward_segments = 1,
      .keys = {{"a", {100}, {}}, {"b", {200}, {}}}};
  MxnetSettings settings{.copy_latency = kSecond, .copy_bandwidth = {100}};
};

/// The key of each variable that an operation uses, -1 for others, and whether it writes.
std::vector<std::pair<std::int32_t, bool>> uses(RankOps& operations, Kind kind, std::size_t index) {
  operations.add(RankOps::label_of(kind, index));
  const Ops& ops = operations.ops();
  std::vector<std::pair<std::int32_t, bool>> all;
  for (const Ops::Use& use : ops.uses(ops.operation(ops.operations() - 1)))
    all.emplace_back(operations.key_of(use.variable).value_or(-1), use.writes);
  return all;
}
using Uses = std::vector<std::pair<std::int32_t, bool>>;

TEST(RankOps, ReadAndWrite) {
  const TwoKeys two;
  RankOps operations(two.graph, two.settings);
  EXPECT_EQ(uses(operations, Kind::kCompute, 0),
            (Uses{{0, false}, {1, false}, {-1, true}, {-1, true}}))
      << "weights, then the chain and the output";
  EXPECT_EQ(uses(operations, Kind::kCompute, 1), (Uses{{-1, true}, {-1, true}, {1, true}}))
      << "the chain, the end of the backward pass and a gradient";
  EXPECT_EQ(uses(operations, Kind::kCopyToHost, 1), (Uses{{1, false}, {1, true}}));
  EXPECT_EQ(uses(operations, Kind::kCopyToDevice, 1), (Uses{{1, false}, {1, true}}));
  EXPECT_EQ(uses(operations, Kind::kAllReduce, 1), (Uses{{1, false}, {1, true}}));
  EXPECT_EQ(uses(operations, Kind::kChained, 1), (Uses{{1, false}, {1, true}, {-1, true}}));
  EXPECT_EQ(uses(operations, Kind::kUpdate, 0), (Uses{{0, false}, {0, true}}));
  EXPECT_EQ(uses(operations, Kind::kWait, 0), (Uses{{0, false}}));
  EXPECT_EQ(uses(operations, Kind::kWaitOutput, 0), (Uses{{-1, false}}));
}

TEST(RankOps, AfterTheBackwardPassACopyReadsItsEnd) {
  TwoKeys two;
  two.graph.after_backward = true;
  RankOps operations(two.graph, two.settings);
  EXPECT_EQ(uses(operations, Kind::kCopyToHost, 1), (Uses{{1, false}, {-1, false}, {1, true}}));
}

TEST(RankOps, KnowKeys) {
  TwoKeys two;
  EXPECT_EQ(RankOps(two.graph, two.settings).keys(), (std::vector<std::int32_t>{0, 1}));
  two.settings.backward_keys = true;
  const RankOps operations(two.graph, two.settings);
  EXPECT_EQ(operations.keys(), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(operations.body(operations.label_of(RankOps::Kind::kCopyToHost, 1)).time, 3 * kSecond);
  EXPECT_EQ(operations.key_of(Ops::kPushed), std::nullopt);
  EXPECT_EQ(operations.describe(RankOps::label_of(Kind::kCopyToHost, 1)), "CopyToHost(b)");
  EXPECT_EQ(operations.describe(RankOps::label_of(Kind::kCompute, 1)), "backward");
}

}  // namespace
}  // namespace steptime
