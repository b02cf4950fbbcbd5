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
std::vector<std::pair<std::int32_t, bool>> uses(RankOps& operations, Kind kind, std::size_t index,
                                                Payload sent = Payload::kGradient) {
  operations.add(RankOps::label_of(kind, index, sent));
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

/// The variables that an operation uses, in the order of reads and writes.
std::vector<Ops::Variable> variables(RankOps& operations, Kind kind, Payload sent) {
  std::vector<Ops::Variable> all;
  uses(operations, kind, 1, sent);
  const Ops& ops = operations.ops();
  for (const Ops::Use& use : ops.uses(ops.operation(ops.operations() - 1)))
    all.push_back(use.variable);
  return all;
}

// What an update writes is what is copied out, reduced and copied back.
TEST(RankOps, ParametersTakeThePlaceOfGradients) {
  const TwoKeys two;
  RankOps operations(two.graph, two.settings);
  constexpr auto kParameters = Payload::kParameters;
  const auto update = variables(operations, Kind::kUpdate, Payload::kGradient);
  const Ops::Variable weight = update[1];
  const auto out = variables(operations, Kind::kCopyToHost, kParameters);
  EXPECT_EQ(out[0], weight);
  const Ops::Variable buffer = out[1];
  using Variables = std::vector<Ops::Variable>;
  EXPECT_EQ(variables(operations, Kind::kAllReduce, kParameters), (Variables{weight, buffer}));
  EXPECT_EQ(variables(operations, Kind::kCopyToDevice, kParameters), (Variables{buffer, weight}));
  const auto chained = variables(operations, Kind::kChained, kParameters);
  EXPECT_EQ(chained[0], buffer);
  EXPECT_EQ(chained[1], weight);
}

// They have a buffer and a place on the GPU of their own, which the update reads beside the
// gradient.
TEST(RankOps, ParametersThatComeBackBesideAStepAreKeptApart) {
  const TwoKeys two;
  RankOps operations(two.graph, two.settings);
  operations.keep_apart();
  constexpr auto kBeside = Payload::kParametersBeside;
  using Variables = std::vector<Ops::Variable>;
  const auto own = variables(operations, Kind::kUpdate, Payload::kGradient);
  const auto out = variables(operations, Kind::kCopyToHost, kBeside);
  EXPECT_EQ(out[0], own[1]) << "the weight";
  EXPECT_NE(out[1], variables(operations, Kind::kCopyToHost, Payload::kGradient)[1]);
  EXPECT_EQ(variables(operations, Kind::kAllReduce, kBeside), (Variables{own[1], out[1]}));
  const auto back = variables(operations, Kind::kCopyToDevice, kBeside);
  EXPECT_EQ(back[0], out[1]);
  EXPECT_EQ(variables(operations, Kind::kUpdate, kBeside), (Variables{own[0], back[1], own[1]}));
  EXPECT_EQ(operations.key_of(out[1]), 1);
  EXPECT_EQ(operations.key_of(back[1]), 1);
}

TEST(RankOps, KnowTheirStepsOfAPeriod) {
  const TwoKeys two;
  RankOps operations(two.graph, two.settings);
  operations.add(RankOps::label_of(Kind::kUpdate, 0), 0);
  operations.add(RankOps::label_of(Kind::kUpdate, 0), 1);
  operations.add(RankOps::label_of(Kind::kUpdate, 1), 1);
  EXPECT_EQ(operations.step_of(0), 0);
  EXPECT_EQ(operations.step_of(2), 1);
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
