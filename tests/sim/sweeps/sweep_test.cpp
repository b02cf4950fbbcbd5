#include "sim/sweeps/sweep.h"

#include "sim/experiment/overrides.h"
#include "tests/support/swept.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// The values of every point: "[2,1] [2,2] ...".
std::string points_of(const Sweep& sweep) {
  std::string text;
  for (std::int64_t point = 0; point < sweep.points(); ++point)
    text.append(point == 0 ? "" : " ").append(Json(sweep.params(point)).dump());
  return text;
}
std::string points_of(const std::string& sweep) {
  return points_of(sweep_of(TinyFolder(), sweep));
}

TEST(Sweep, AConfigWithoutOneHasOnePoint) {
  const TinyFolder folder;
  const Sweep sweep(load_document(folder.experiment(), {}));
  EXPECT_EQ(sweep.points(), 1);
  EXPECT_EQ(points_of(sweep), "[]");
  EXPECT_EQ(points_of("{}"), "[]");
}

TEST(Sweep, TheLastKeyVariesFastest) {
  EXPECT_EQ(points_of(R"({"/cluster/nodes": [2, 4], "/run/seed": [1, 2, 3]})"),
            "[2,1] [2,2] [2,3] [4,1] [4,2] [4,3]");
}

TEST(Sweep, ZippedKeysAdvanceTogetherInThePlaceOfTheFirst) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/cluster/nodes": {"zip": [2, 4]}, "/run/seed": [1, 2],
                                           "/cluster/gpus_per_node": {"zip": [8, 16]}})");
  EXPECT_EQ(sweep.pointers(),
            (std::vector<std::string>{"/cluster/nodes", "/cluster/gpus_per_node", "/run/seed"}));
  EXPECT_EQ(points_of(sweep), "[2,8,1] [2,8,2] [4,16,1] [4,16,2]");
}

TEST(Sweep, Progressions) {
  // from * times^k and from + k * plus, up to and with "to"
  EXPECT_EQ(points_of(R"({"/run/seed": {"from": 1, "to": 16, "times": 2}})"),
            "[1] [2] [4] [8] [16]");
  EXPECT_EQ(points_of(R"({"/run/seed": {"from": 1, "to": 15, "times": 2}})"), "[1] [2] [4] [8]");
  EXPECT_EQ(points_of(R"({"/run/seed": {"from": 0, "to": 7, "plus": 3}})"), "[0] [3] [6]");
  EXPECT_EQ(points_of(R"({"/run/seed": {"from": 5, "to": 5, "plus": 3}})"), "[5]");
  EXPECT_EQ(points_of(R"({"/run/seed": {"from": -1, "to": 1, "plus": 1}})"), "[-1] [0] [1]");
  EXPECT_EQ(points_of(R"({"/run/seed": {"from": 1, "to": 4, "times": 1.5}})"),
            "[1] [1.5] [2.25] [3.375]");
  EXPECT_EQ(points_of(R"({"/run/seed": {"zip": {"from": 1, "to": 4, "times": 2}}})"),
            "[1] [2] [4]");
}

TEST(Sweep, AProgressionEndsWithItsLastValue) {
  // 0.1 + 2 * 0.1 is 0.30000000000000004 in binary; who writes "to": 0.3 means three values.
  const TinyFolder folder;
  EXPECT_EQ(sweep_of(folder, R"({"/run/seed": {"from": 0.1, "to": 0.3, "plus": 0.1}})").points(),
            3);
  // 1.1^3 = 1.331, and 1.3310000000000004 in binary
  EXPECT_EQ(sweep_of(folder, R"({"/run/seed": {"from": 1, "to": 1.331, "times": 1.1}})").points(),
            4);
}

TEST(Sweep, ValuesBeyondInt64StayNumbers) {
  EXPECT_EQ(points_of(R"({"/run/seed": {"from": 1e18, "to": 1e20, "times": 10}})"),
            "[1000000000000000000] [1e+19] [1e+20]");
}

/// RFC 6901, section 4: "00" is no index of a list.
TEST(Sweep, AnIndexHasNoLeadingZero) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"strategy": {"aggregation": {"collective": "ring"}},
          "run": {"fidelity": "message", "slow_links": {"adapters": [{"node": 0, "factor": 2}]}},
          "sweep": {"/run/slow_links/adapters/00/factor": [3, 4]}})");
  const std::string expected =
      "steptime: " +
      folder.path(
          "x.json: /sweep/~1run~1slow_links~1adapters~100~1factor: does not name a place "
          "in the config; an index has no leading zero, got 00\n");
  for (const char* verb : {"sweep", "pin", "check"}) {
    const Outcome outcome = steptime({verb, file});
    EXPECT_EQ(outcome.exit, 2) << verb;
    EXPECT_EQ(outcome.err, expected) << verb;
  }
}

TEST(Sweep, AMillionPointsAreAPieceOfCake) {
  const TinyFolder folder;
  EXPECT_EQ(sweep_of(folder, R"({"/run/seed": {"from": 1, "to": 1000000, "plus": 1},
                                 "/run/steps": {"from": 1, "to": 1000, "plus": 1}})")
                .points(),
            1'000'000'000);
}

struct SweepCase {
  const char* name;
  const char* sweep;
  std::string message;
};
void PrintTo(const SweepCase& c, std::ostream* out) {
  *out << c.name;
}
class BrokenSweep : public testing::TestWithParam<SweepCase> {};

TEST_P(BrokenSweep, IsOneLineAndExit2) {
  const TinyFolder folder;
  const std::string file = folder.experiment("{\"sweep\": " + std::string(GetParam().sweep) + "}");
  const std::string expected =
      "steptime: " + folder.path("x.json: /sweep" + GetParam().message) + "\n";
  for (const char* verb : {"sweep", "run", "check"}) {
    const Outcome outcome = steptime({verb, file});
    EXPECT_EQ(outcome.exit, 2) << verb;
    EXPECT_EQ(outcome.out, "") << verb;
    EXPECT_EQ(outcome.err, expected) << verb;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, BrokenSweep,
    testing::Values(
        SweepCase{"Number", "5", ": expected an object, got 5"},
        SweepCase{"List", "[1]", ": expected an object, got a list"},
        SweepCase{"NoValues", R"({"/run/seed": []})",
                  "/~1run~1seed: expected at least one value, got an empty list"},
        SweepCase{"NoZippedValues", R"({"/run/seed": {"zip": []}})",
                  "/~1run~1seed: expected at least one value, got an empty list"},
        SweepCase{"OneValue", R"({"/run/seed": 1})",
                  "/~1run~1seed: expected a list, {\"from\", \"to\", \"times\" or \"plus\"} or "
                  "{\"zip\"}, got 1"},
        SweepCase{"Overlap", R"({"/run": [{}], "/run/seed": [1]})",
                  "/~1run~1seed: overlaps \"/run\""},
        SweepCase{"OverlapTheOtherWay", R"({"/run/seed": [1], "/run": [{}]})",
                  "/~1run: overlaps \"/run/seed\""},
        SweepCase{"Nowhere", R"({"/nowhere": [1]})",
                  "/~1nowhere: expected a JSON pointer into /workload, /cluster, /strategy, /run "
                  "or /jobs"},
        SweepCase{
            "NoPointer", R"({"nodes": [1]})",
            "/nodes: expected a JSON pointer into /workload, /cluster, /strategy, /run or /jobs"},
        SweepCase{"WholeConfig", R"({"": [{}]})",
                  "/: expected a JSON pointer into /workload, /cluster, /strategy, /run or /jobs"},
        SweepCase{
            "Name", R"({"/name": ["x"]})",
            "/~1name: expected a JSON pointer into /workload, /cluster, /strategy, /run or /jobs"},
        SweepCase{"ItsOwnValues", R"({"/sweep/~1run~1seed": [1]})",
                  "/~1sweep~1~01run~01seed: expected a JSON pointer into /workload, /cluster, "
                  "/strategy, /run or /jobs"},
        SweepCase{"UnknownStrategyKey", R"({"/strategy/scheduler": [1]})",
                  "/~1strategy~1scheduler: expected a JSON pointer into /workload, /cluster, "
                  "/strategy, /run or /jobs"},
        SweepCase{"InsideANumber", R"({"/cluster/nodes/3": [1]})",
                  "/~1cluster~1nodes~13: does not name a place in the config"},
        SweepCase{"OnlyNullOfNoKey", R"({"/run/slow_lnks": [null]})",
                  "/~1run~1slow_lnks: null removes a value, and this is none of the config's own"},
        SweepCase{"BadEscape", R"({"/run/~2": [1]})",
                  "/~1run~1~02: does not name a place in the config"},
        // A number in a pointer must not conjure up a list of that length.
        SweepCase{"NumberOfANewPlace", R"({"/run/1000000000000000000": [1]})",
                  "/~1run~11000000000000000000: does not name a place in the config"},
        SweepCase{"UnequalZips",
                  R"({"/run/seed": {"zip": [1, 2, 3]}, "/cluster/nodes": {"zip": [1, 2]}})",
                  "/~1cluster~1nodes: 2 values, but \"/run/seed\" has 3"},
        SweepCase{"ZipAndMore", R"({"/run/seed": {"zip": [1], "from": 1}})",
                  "/~1run~1seed: \"zip\" stands alone"},
        SweepCase{"ZipOfZip", R"({"/run/seed": {"zip": {"zip": [1]}}})",
                  "/~1run~1seed/zip: unknown key; known: from, to, times, plus, random, scale, "
                  "seed"},
        SweepCase{"EmptyObject", R"({"/run/seed": {}})", "/~1run~1seed/from: required but missing"},
        SweepCase{"TextRange", R"({"/run/seed": {"from": "1", "to": 2, "plus": 1}})",
                  "/~1run~1seed/from: expected a number, a quantity with its unit or a factor such "
                  "as \"x2\", got \"1\""},
        SweepCase{"Backwards", R"({"/run/seed": {"from": 2, "to": 1, "times": 2}})",
                  "/~1run~1seed: \"from\" 2 is above \"to\" 1"},
        SweepCase{"NoStep", R"({"/run/seed": {"from": 1, "to": 2}})",
                  "/~1run~1seed: expected either \"times\" or \"plus\""},
        SweepCase{"TwoSteps", R"({"/run/seed": {"from": 1, "to": 2, "times": 2, "plus": 1}})",
                  "/~1run~1seed: expected either \"times\" or \"plus\""},
        SweepCase{"TimesOne", R"({"/run/seed": {"from": 1, "to": 2, "times": 1}})",
                  "/~1run~1seed/times: must be more than 1, got 1"},
        SweepCase{"TimesLess", R"({"/run/seed": {"from": 1, "to": 2, "times": 0.5}})",
                  "/~1run~1seed/times: must be more than 1, got 0.5"},
        SweepCase{"PlusNothing", R"({"/run/seed": {"from": 1, "to": 2, "plus": 0}})",
                  "/~1run~1seed/plus: must be positive, got 0"},
        SweepCase{"TimesFromZero", R"({"/run/seed": {"from": 0, "to": 2, "times": 2}})",
                  "/~1run~1seed: \"from\" must be positive"},
        SweepCase{"TooSmallAStep", R"({"/run/seed": {"from": 1e18, "to": 2e18, "plus": 1}})",
                  "/~1run~1seed: the step is too small to advance"},
        SweepCase{"ABillionValues", R"({"/run/seed": {"from": 1, "to": 1e9, "plus": 1}})",
                  "/~1run~1seed: more than a million values"},
        SweepCase{"BarelyGrowing", R"({"/run/seed": {"from": 1, "to": 2, "times": 1.0000001}})",
                  "/~1run~1seed: more than a million values"},
        SweepCase{"TooManyPoints", R"({"/run/seed": {"from": 1, "to": 1000000, "plus": 1},
                                       "/run/steps": {"from": 1, "to": 1001, "plus": 1}})",
                  ": more than 1000000000 points"}),
    [](const auto& broken) { return std::string(broken.param.name); });

}  // namespace
}  // namespace steptime
