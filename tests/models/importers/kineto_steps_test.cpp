// Which steps of a trace are taken.
#include "models/importers/kineto_steps.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

ProfiledStep step_of(int number, const std::vector<std::string>& layers) {
  ProfiledStep step{.name = "ProfilerStep#" + std::to_string(number)};
  for (const std::string& name : layers)
    step.layers.push_back({.name = name});
  step.part_ns[static_cast<std::size_t>(StepPart::kForward)] = 5;
  step.part_ns[static_cast<std::size_t>(StepPart::kBackward)] = 7;
  return step;
}
std::vector<KinetoProfile> ranks_of(const std::vector<ProfiledStep>& steps) {
  KinetoProfile rank{.file = "x.json"};
  rank.steps = steps;
  return {rank};
}
std::string names(const std::vector<KinetoProfile>& ranks) {
  std::string text;
  for (const ProfiledStep& step : ranks[0].steps)
    text += step.name.substr(13);
  return text;
}

TEST(KinetoSteps, AreChosenByNumber) {
  const auto five = ranks_of({step_of(3, {"a"}), step_of(4, {"a"}), step_of(5, {"a"}),
                              step_of(6, {"a"}), step_of(7, {"a"})});
  for (const auto& [asked, left] :
       {std::pair{"3-7", "34567"}, {"5", "5"}, {"4-6", "456"}, {"3-4,7", "347"}}) {
    auto ranks = five;
    choose_steps(ranks, asked);
    EXPECT_EQ(names(ranks), left) << asked;
  }
  auto ranks = five;
  for (const std::string asked : {"8-9", "5-8", "2-4", "5,8", "0-9000000000000000000"}) {
    EXPECT_EQ(message_of<InputError>([&] { choose_steps(ranks, asked); }),
              "x.json: --set steps: expected some of ProfilerStep#3 to ProfilerStep#7, got \"" +
                  asked + "\"");
  }
  for (const char* asked : {"", "a", "4-", "6-4", "4,,5", "4,"}) {
    EXPECT_EQ(message_of<InputError>([&] { choose_steps(ranks, asked); }),
              "--set steps: expected numbers of steps as 7, 5-8 or 5-6,9, got \"" +
                  std::string(asked) + "\"");
  }
}

TEST(KinetoSteps, AnOddOneBlocksOnlyItself) {
  auto ranks = ranks_of({step_of(1, {"a"}), step_of(2, {"a", "b"}), step_of(3, {"a", "b"})});
  EXPECT_EQ(leave_odd_steps_out(ranks),
            std::vector<std::string>{"ProfilerStep#1 of x.json is left out, as it differs from the "
                                     "others: 1 layers, not 2."});
  EXPECT_EQ(names(ranks), "23");
  EXPECT_TRUE(leave_odd_steps_out(ranks).empty());
  auto halves = ranks_of({step_of(1, {"a"}), step_of(2, {"b"})});
  EXPECT_TRUE(leave_odd_steps_out(halves).empty());
  EXPECT_EQ(names(halves), "12");
}

TEST(KinetoSteps, WithoutComputeOrBackwardPassIsRefused) {
  ProfiledStep step = step_of(1, {"a"});
  EXPECT_NO_THROW(check_trains(ranks_of({step})));
  step.part_ns[static_cast<std::size_t>(StepPart::kBackward)] = 0;
  EXPECT_EQ(message_of<InputError>([&] { check_trains(ranks_of({step})); }),
            "x.json: no kernel of a backward pass, as of inference: expected a step of training");
  step.part_ns[static_cast<std::size_t>(StepPart::kForward)] = 0;
  EXPECT_EQ(message_of<InputError>([&] { check_trains(ranks_of({step})); }),
            "x.json: no kernel of a forward or backward pass: expected a trace with the device's "
            "activities (ProfilerActivity.CUDA), of a step of training");
}

}  // namespace
}  // namespace steptime
