#include "sim/config/json.h"
#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "tests/support/policies.h"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
constexpr auto kFree = [](Bytes) { return Duration{}; };

std::string fusion(std::int64_t threshold, const char* cycle) {
  return fmt::format(R"({{"type": "tensor-fusion", "threshold": "{} B", "cycle": "{}"}})",
                     threshold, cycle);
}

/// All gradients are ready at once, at the beginning of a cycle.
PolicyRun all_at_once(std::int64_t threshold, const std::vector<std::int64_t>& sizes) {
  return {fusion(threshold, "5 ms"), sizes, std::vector<Duration>(sizes.size()), kFree};
}

using Groups = std::vector<std::pair<std::int64_t, std::int64_t>>;  // gradients, bytes
Groups groups_of(const PolicyRun& run) {
  Groups groups;
  for (const auto& sent : run.sent)
    groups.emplace_back(sent.buckets.size(), run.bytes(sent).count);
  return groups;
}

const Json& cases() {
  static const Json json = [] {
    std::ifstream in(STEPTIME_TESTS_DIR "/schedulers/horovod_cases.json");
    return Json::parse(in);
  }();
  return json;
}

TEST(TensorFusion, GroupsAreThoseOfTheToyCases) {
  for (const Json& c : cases().at("toy_cases")) {
    const PolicyRun run = all_at_once(c.at("threshold"), c.at("sizes"));
    EXPECT_EQ(groups_of(run), c.at("groups").get<Groups>()) << c;
  }
}

TEST(TensorFusion, GroupsAreThoseOfTheModels) {
  for (const Json& c : cases().at("model_cases")) {
    const std::string path =
        STEPTIME_SOURCE_DIR "/models/" + c.at("model").get<std::string>() + ".json";
    std::ifstream in(path);
    const Json table = Json::parse(in);
    std::vector<std::int64_t> sizes;  // in forward order
    for (const Json& layer : table.at("layers")) {
      for (const Json& tensor : layer.value("tensors", Json::array()))
        sizes.push_back(4 * tensor.at("params").get<std::int64_t>());
    }
    const PolicyRun run = all_at_once(c.at("threshold_bytes"), {sizes.rbegin(), sizes.rend()});
    EXPECT_EQ(run.sent.size(), c.at("num_allreduces").get<std::size_t>()) << c;
    Groups groups = groups_of(run);
    if (c.contains("groups_count_bytes")) {
      EXPECT_EQ(groups, c.at("groups_count_bytes").get<Groups>()) << c;
    } else {
      const auto first = c.at("first_groups").get<Groups>();
      groups.resize(first.size());
      EXPECT_EQ(groups, first) << c;
    }
  }
}

/// Gradients at 0, 1 and 7 ms, 6 ms for an all-reduce, cycles of 5 ms:
///
///   ms      0     6     12    18
///   cycle   |1    |2    |3         begin at max(end, begin + 5): 0, 6, 12; the third gradient is
///   reduce  111111222222333333     there at 7, in the cycle of 6 it was not
TEST(TensorFusion, ACycleBeginsWhenTheOneBeforeHasEnded) {
  const PolicyRun run(fusion(0, "5 ms"), {1, 1, 1},
                      {milliseconds(0), milliseconds(1), milliseconds(7)},
                      [](Bytes) { return Duration(milliseconds(6)); });
  ASSERT_EQ(run.sent.size(), 3u);
  EXPECT_EQ(run.sent[0].start, Time(milliseconds(0)));
  EXPECT_EQ(run.sent[1].start, Time(milliseconds(6)));
  EXPECT_EQ(run.sent[2].start, Time(milliseconds(12)));
}

/// Cycles that find nothing begin at 0, 5 and 10 ms; that of 15 ms finds the gradient of 11 ms. Its
/// all-reduce ends at 16 ms, the next cycle begins at 20 ms. A gradient of the very instant in
/// which a cycle begins is in it.
TEST(TensorFusion, CyclesGoOnWhileThereIsNothingToDo) {
  const PolicyRun run(fusion(100, "5 ms"), {1, 1, 1},
                      {milliseconds(11), milliseconds(17), milliseconds(20)},
                      [](Bytes) { return Duration(milliseconds(1)); });
  ASSERT_EQ(run.sent.size(), 2u);
  EXPECT_EQ(run.sent[0].start, Time(milliseconds(15)));
  EXPECT_EQ(run.sent[1].start, Time(milliseconds(20)));
  EXPECT_EQ(run.counts(), (std::vector<std::size_t>{1, 2}));
}

/// Two groups of a cycle go one after the other; what becomes ready meanwhile waits for the next
/// cycle, which begins with the end of the second group.
TEST(TensorFusion, GroupsOfACycleGoOneAfterAnother) {
  const PolicyRun run(fusion(10, "1 ms"), {6, 6, 1},
                      {milliseconds(0), milliseconds(0), milliseconds(2)},
                      [](Bytes) { return Duration(milliseconds(3)); });
  EXPECT_EQ(run.counts(), (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(run.sent[1].start, Time(milliseconds(3)));
  EXPECT_EQ(run.sent[2].start, Time(milliseconds(6)));
}

TEST(TensorFusion, DefaultsAreThoseOfHorovodBefore0_21) {
  // 64 MiB: 31 + 130 tensors of ResNet-50 fit; here 40 MiB + 24 MiB do, and 1 byte more does not.
  constexpr std::int64_t kMiB = 1 << 20;
  const PolicyRun run(R"({"type": "tensor-fusion"})", {40 * kMiB, 24 * kMiB, 1},
                      std::vector<Duration>(3), kFree);
  EXPECT_EQ(run.counts(), (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(make<Schedule>(R"({"type": "tensor-fusion"})")->default_steps(), 20);
  EXPECT_EQ(make<Schedule>(fusion(0, "0 s"))->default_steps(), 1);
}

}  // namespace
}  // namespace steptime
