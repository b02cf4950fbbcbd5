// Does every kernel belong to the layer whose operator launched it?
#include "models/importers/kineto_profile.h"

#include "sim/core/error.h"
#include "tests/models/importers/kineto_text.h"
#include "tests/support/messages.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

KinetoProfile profile(const std::string& text) {
  return profile_of(
      read_kineto_records([&] { return std::make_unique<ByteStream>("x.json", text); }));
}

std::string error(const std::string& text) {
  return message_of<InputError>([&] { profile(text); });
}

std::int64_t part(const ProfiledStep& step, StepPart part) {
  return step.part_ns[static_cast<std::size_t>(part)];
}

TEST(KinetoProfile, PartsAreThoseOfTheOperatorsAroundTheLaunch) {
  const KinetoProfile p = profile(two_layers().text());
  ASSERT_EQ(p.steps.size(), 1U);
  const ProfiledStep& step = p.steps[0];
  EXPECT_EQ(step.name, "ProfilerStep#1");
  EXPECT_EQ(step.wall_ns, 1'000'000);
  EXPECT_EQ(part(step, StepPart::kCopies), 7'000);
  EXPECT_EQ(part(step, StepPart::kForward), 130'000);   // 100 + 30 us
  EXPECT_EQ(part(step, StepPart::kBackward), 243'000);  // 40 + 200 us and two gradients, 1 + 2 us
  EXPECT_EQ(part(step, StepPart::kOptimizer), 18'000);  // with the gap from 413 to 420 us
  EXPECT_EQ(part(step, StepPart::kOther), 0);
  EXPECT_EQ(step.device_ns(), 398'000);
}

TEST(KinetoProfile, LayersAreSequenceNumbersAndHaveTheGradientsBehindTheirNode) {
  const KinetoProfile p = profile(two_layers().text());
  const std::vector<ProfiledLayer>& layers = p.steps[0].layers;
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].name, "0:linear");  // not "to", which made no node
  EXPECT_EQ(layers[0].forward_ns, 100'000);
  EXPECT_EQ(layers[0].backward_ns, 203'000);
  ASSERT_EQ(layers[0].gradients.size(), 2U);
  EXPECT_EQ(layers[0].gradients[0], (ProfiledGradient{"8", 8}));
  EXPECT_EQ(layers[0].gradients[1], (ProfiledGradient{"8x4", 32}));
  EXPECT_EQ(layers[1].name, "1:relu");
  EXPECT_EQ(layers[1].forward_ns, 30'000);
  EXPECT_EQ(layers[1].backward_ns, 40'000);
}

TEST(KinetoProfile, ALateKernelBelongsToItsLaunchNotToWhatRunsThen) {
  // Launched by the linear layer's operator, run while the backward pass is launched.
  KinetoText t = two_layers();
  t.forward("aten::linear", 22, 5, 5).kernel(23, 1, 900, 50);
  EXPECT_EQ(profile(t.text()).steps[0].layers[0].forward_ns, 150'000);
}

TEST(KinetoProfile, AKernelBetweenTwoNodesBelongsToTheOneBefore) {
  // The sum of two branches' gradients, which autograd adds between two nodes.
  KinetoText t = two_layers();
  t.op("aten::add", 122, 5, 2).kernel(123, 2, 205, 4);
  EXPECT_EQ(profile(t.text()).steps[0].layers[1].backward_ns, 44'000);
}

TEST(KinetoProfile, ModulesNameTheLayersAndJoinTheirOperators) {
  KinetoText t;
  t.step(1, 0, 500);
  t.op("nn.Module: Block_0", 5, 100, 1, "", "python_function");
  t.forward("aten::conv2d", 10, 10, 1).kernel(11, 1, 20, 3);
  t.forward("aten::relu", 30, 10, 2).kernel(31, 1, 40, 5);
  t.op("nn.Module: Linear_0", 110, 50, 1, "", "python_function");
  t.forward("aten::addmm", 120, 10, 3).kernel(121, 1, 130, 7);
  t.backward("AddmmBackward0", 200, 10, 3).kernel(201, 2, 210, 11);
  t.backward("ReluBackward0", 220, 10, 2).kernel(221, 2, 230, 13);
  t.backward("ConvolutionBackward0", 240, 10, 1).kernel(241, 2, 250, 17);
  const KinetoProfile p = profile(t.text());
  const std::vector<ProfiledLayer>& layers = p.steps[0].layers;
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].name, "0:Block_0");
  EXPECT_EQ(layers[0].forward_ns, 8'000);    // 3 + 5 us
  EXPECT_EQ(layers[0].backward_ns, 37'000);  // 13 + 17 us and the gap from 243 to 250
  EXPECT_EQ(layers[1].name, "1:Linear_0");
  EXPECT_EQ(layers[1].backward_ns, 11'000);
}

TEST(KinetoProfile, AStepTakesWhatItLaunchedAndTheRestIsCounted) {
  KinetoText t = two_layers();
  t.kernel(1500, 1, 1600, 9);  // behind the last step
  t.op("of the step before", 2, 3, 7, R"("correlation":98)", "kernel");
  t.op("stray", 700, 6, 7, R"("correlation":99)", "kernel");
  const KinetoProfile p = profile(t.text());
  EXPECT_EQ(p.steps[0].device_ns(), 398'000);
  EXPECT_EQ(p.outside.count, 1);
  EXPECT_EQ(p.outside.ns, 9'000);
  EXPECT_EQ(p.unlaunched.count, 1);
  EXPECT_EQ(p.unlaunched.ns, 3'000);
  EXPECT_EQ(p.lost.count, 1);
  EXPECT_EQ(p.lost.ns, 6'000);
}

/// What was launched in time follows after 2 us, which are the device's; what was launched late and
/// what waits for longer follow something else.
TEST(KinetoProfile, AGapBeforeWhatWasLaunchedIsPartOfIt) {
  KinetoText t;
  t.forward("aten::linear", 20, 20, 5).kernel(25, 1, 40, 100);
  t.forward("aten::relu", 50, 20, 6).kernel(55, 1, 142, 30);
  t.forward("aten::linear", 180, 20, 7).kernel(185, 1, 187, 10);
  t.forward("aten::relu", 188, 20, 8).kernel(190, 1, 208, 5);
  const KinetoProfile p = profile(t.text());
  EXPECT_EQ(part(p.steps[0], StepPart::kForward), (100 + 2 + 30 + 10 + 5) * 1000);
}

TEST(KinetoProfile, WithoutMarksTheTraceIsOneStep) {
  KinetoText t;
  t.forward("aten::linear", 20, 20, 5).kernel(25, 1, 40, 100);
  const KinetoProfile p = profile(t.text());
  ASSERT_EQ(p.steps.size(), 1U);
  EXPECT_EQ(p.steps[0].wall_ns, 0);
  EXPECT_EQ(part(p.steps[0], StepPart::kForward), 100'000);
}

TEST(KinetoProfile, CollectivesHaveTheSizeOfTheirAnnotationOrOfTheCopyBefore) {
  KinetoText t = two_layers();
  const char* memory = R"({"ph":"i","name":"[memory]","tid":2,"ts":502,)"
                       R"("args":{"Device Type":1,"Bytes":1024}})";
  t.op("nccl:all_reduce", 400, 20, 2, R"("Input Dims":[[10,2]],"Input type":["c10::Half"])",
       "user_annotation");
  t.kernel(405, 2, 450, 25, "ncclKernel_AllReduce_RING");
  t.op("aten::clone", 500, 10, 2).event(memory);
  t.op("nccl:all_reduce", 520, 20, 2, "", "user_annotation").kernel(525, 2, 530, 5, "ncclKernel_X");
  t.op("nccl:all_to_all", 560, 20, 2, "", "user_annotation").kernel(565, 2, 570, 5, "ncclKernel_X");
  const KinetoProfile p = profile(t.text());
  const std::vector<ProfiledCollective>& c = p.steps[0].collectives;
  using Source = ProfiledCollective::Source;
  ASSERT_EQ(c.size(), 3U);
  EXPECT_EQ(c[0].operation, "all-reduce");
  EXPECT_EQ(c[0].bytes, 40);  // 10 x 2 values of 2 B
  EXPECT_EQ(c[0].source, Source::kSaid);
  EXPECT_EQ(c[0].end_ns - c[0].start_ns, 25'000);
  EXPECT_EQ(c[1].bytes, 1024);
  EXPECT_EQ(c[1].source, Source::kAllocator);
  EXPECT_EQ(c[2].operation, "all-to-all");
  EXPECT_EQ(c[2].bytes, -1);
  EXPECT_EQ(c[2].source, Source::kMissing);
  EXPECT_EQ(part(p.steps[0], StepPart::kCommunication), 35'000);
}

TEST(KinetoProfile, ATraceThatContradictsItselfIsRefused) {
  KinetoText early = two_layers();
  early.kernel(900'000, 1, 1, 1);
  EXPECT_EQ(error(early.text()),
            "x.json: correlation 9: starts on the device 899999 us before its launch");
  KinetoText decreasing = two_layers();
  decreasing.forward("aten::mul", 80, 5, 4);
  EXPECT_EQ(error(decreasing.text()),
            "x.json: sequence numbers decrease from 6 to 4 at \"aten::mul\", in one forward pass");
  KinetoText backwards = two_layers();
  backwards.backward("EarlyBackward0", 1, 2, 6);
  EXPECT_EQ(error(backwards.text()),
            "x.json: EarlyBackward0 with sequence number 6 starts before its forward operator");
  KinetoText parallel = two_layers();
  parallel.op("OtherBackward0", 190, 5, 2, R"("Fwd thread id":2,"Sequence number":5)");
  EXPECT_EQ(error(parallel.text()),
            "x.json: backward operators of forward passes on several threads (DataParallel), "
            "expected one");
}

TEST(KinetoProfile, AnEarlyStartWithinTheClocksErrorIsCounted) {
  KinetoText t = two_layers();
  t.kernel(800, 1, 795, 1);
  const KinetoProfile p = profile(t.text());
  EXPECT_EQ(p.early.count, 1);
  EXPECT_EQ(p.early.ns, 5'000);
}

}  // namespace
}  // namespace steptime
