#include "sim/experiment/assessment.h"

#include "sim/experiment/prediction.h"
#include "tests/support/simulated.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string schedule_of(const std::string& patch) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, patch);
  return prediction_of(e, simulate(e), {}).kind[Attribute::kSchedule].text();
}

TEST(Assessment, ALayoutIsAKindOfItsOwn) {
  EXPECT_EQ(schedule_of(R"({"strategy": {"layout": {}}})"), "layout");
  EXPECT_NE(schedule_of("{}"), "layout");
}

/// Two leaves with two nodes each, and a link of a tenth of a port's rate between them.
TEST(Assessment, SaysWhatTakesTheFabricForASwitch) {
  const auto domain = [](const std::string& bandwidth, const std::string& aggregation) {
    const TinyFolder folder;
    return simulate(tiny_experiment(folder, R"({"cluster": {"fabric": {"type": "graph",
        "vertices": [{"name": "a", "ports": [0, 1, 4]}, {"name": "b", "ports": [2, 3, 5]}],
        "links": [{"ends": ["a", "b"], "bandwidth": ")" +
                                                bandwidth +
                                                R"("}]}}, "strategy": {"aggregation": )" +
                                                aggregation + "}}"))
        .domain.text();
  };
  const std::string known = "a collective that is known by its time only knows no fabric";
  EXPECT_NE(domain("0.1 GB/s", "{}").find(known), std::string::npos);
  EXPECT_EQ(domain("2 GB/s", "{}").find(known), std::string::npos);
  const std::string servers = R"({"type": "parameter-server", "servers": 2, "collective": null})";
  EXPECT_NE(domain("0.1 GB/s", servers).find("closed forms of servers take the fabric"),
            std::string::npos);
  EXPECT_EQ(domain("2 GB/s", servers).find("closed forms of servers"), std::string::npos);
}

TEST(Assessment, SaysWhichPartsExtrapolate) {
  const TinyFolder folder;
  const Experiment plain = tiny_experiment(folder);
  EXPECT_EQ(extrapolated(plain, true), std::vector<std::string>{});
  const Experiment planned = tiny_experiment(folder, R"({"strategy": {"schedule": "optimal"}})");
  EXPECT_EQ(extrapolated(planned, true), std::vector<std::string>{});
  EXPECT_EQ(extrapolated(planned, false).size(), 1u);
}

}  // namespace
}  // namespace steptime
