// Values set from outside: where they go, and what is written out so that they can.
#include "sim/experiment/overrides.h"

#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Json loaded(const std::string& path, const std::vector<std::string>& sets) {
  return load_document(path, sets)->root;
}

TEST(LoadDocument, SetsValuesInOrder) {
  const TinyFolder folder;
  const Json root = loaded(folder.experiment(), {"/run/seed=7", "/cluster/nodes=8", "/name=a=b",
                                                 "/cluster/nodes=16", "/run/x/y=[1, \"z\"]"});
  EXPECT_EQ(root.at("run").at("seed"), 7);
  EXPECT_EQ(root.at("cluster").at("nodes"), 16);
  EXPECT_EQ(root.at("name"), "a=b");
  EXPECT_EQ(root.at("run").at("x"), Json::parse(R"({"y": [1, "z"]})"));
}

TEST(LoadDocument, ValuesAreJsonOrElseText) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  EXPECT_EQ(loaded(file, {"/name=4 MiB"}).at("name"), "4 MiB");
  EXPECT_EQ(loaded(file, {"/name=\"4\""}).at("name"), "4");
  EXPECT_EQ(loaded(file, {"/name=4"}).at("name"), 4);
  EXPECT_EQ(loaded(file, {"/name="}).at("name"), "");
}

TEST(LoadDocument, NullTakesOutWhatTheFileHas) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"run": {"seed": 5, "slow_links": {"adapters": [{"node": 0, "factor": 2},
                                                         {"node": 1, "factor": 3}]}}})");
  EXPECT_EQ(loaded(file, {"/run/slow_links=null"}).at("run"), Json::parse(R"({"seed": 5})"));
  EXPECT_EQ(loaded(file, {"/run/slow_links/adapters/0=null"}).at("run").at("slow_links"),
            Json::parse(R"({"adapters": [{"node": 1, "factor": 3}]})"));
  EXPECT_FALSE(loaded(file, {"/run=null"}).contains("run"));
  // In order: what one puts there another takes out.
  EXPECT_EQ(loaded(file, {"/run/x/y=1", "/run/x/y=null"}).at("run").at("x"), Json::object());
}

/// RFC 6901, section 4: "01" is no index of a list.
TEST(LoadDocument, AnIndexHasNoLeadingZero) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"run": {"slow_links": {"adapters": [{"node": 0, "factor": 2},
                                              {"node": 1, "factor": 3}]}}})");
  const auto refusal = [&](const std::string& set) {
    return message_of<InputError>([&] { loaded(file, {set}); });
  };
  const std::string place = "/run/slow_links/adapters/01";
  const std::string why = "; an index has no leading zero, got 01";
  EXPECT_EQ(refusal(place + "/factor=4"), "--set " + place + "/factor=4: \"" + place +
                                              "/factor\" does not name a place in the config" +
                                              why);
  EXPECT_EQ(refusal(place + "=null"), "--set " + place + "=null: null removes a value, and \"" +
                                          place + "\" is none of the config's own" + why);
  EXPECT_EQ(loaded(file, {"/run/slow_links/adapters/1/factor=4"}).at("run").at("slow_links"),
            Json::parse(R"({"adapters": [{"node": 0, "factor": 2}, {"node": 1, "factor": 4}]})"));
}

struct SetCase {
  const char* name;
  const char* set;
  const char* message;
};
void PrintTo(const SetCase& c, std::ostream* out) {
  *out << c.name;
}
class BadSet : public testing::TestWithParam<SetCase> {};

TEST_P(BadSet, IsOneLineAndExit2) {
  const TinyFolder folder;
  const Outcome outcome = steptime({"run", folder.experiment(), "--set", GetParam().set});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, std::string("steptime: ") + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, BadSet,
    testing::Values(
        SetCase{"NoValue", "/name", "--set /name: expected /pointer=value"},
        SetCase{"NoSlash", "name=x", "--set name=x: expected /pointer=value"},
        SetCase{"NoPointer", "=x", "--set =x: expected /pointer=value"},
        SetCase{"BadEscape", "/a~2=1",
                "--set /a~2=1: \"/a~2\" does not name a place in the config"},
        SetCase{"InsideText", "/name/x=1",
                "--set /name/x=1: \"/name/x\" does not name a place in the config"},
        // A number in a pointer must not conjure up a list of that length.
        SetCase{"NumberOfANewPlace", "/run/1000000000000000000=1",
                "--set /run/1000000000000000000=1: \"/run/1000000000000000000\" does not name a "
                "place in the config"},
        // Nor does what would take out a misspelt key do nothing without a word.
        SetCase{
            "NullOfNoKey", "/run/slow_lnks=null",
            "--set /run/slow_lnks=null: null removes a value, and \"/run/slow_lnks\" is none of "
            "the config's own"},
        SetCase{"NullOfNoElement", "/name/18446744073709551616=null",
                "--set /name/18446744073709551616=null: null removes a value, and "
                "\"/name/18446744073709551616\" is none of the config's own"},
        SetCase{"NullOfNoPointer", "/a~2=null",
                "--set /a~2=null: null removes a value, and \"/a~2\" is none of the config's own"},
        SetCase{"TwoLines", "/name/a\nb=1",
                "--set /name/a?b=1: \"/name/a?b\" does not name a place in the config"}),
    [](const auto& broken) { return std::string(broken.param.name); });

/// The experiment after one value was set.
Json with(Json experiment, const std::string& pointer, const Json& value) {
  *place_in_experiment(experiment, pointer) = value;
  return experiment;
}

TEST(PlaceInExperiment, WritesOutTheDefaultsAroundAKey) {
  EXPECT_EQ(with(Json::object(), "/strategy/aggregation/collective/startups", "N-1"),
            Json::parse(R"({"strategy": {"aggregation": {"type": "all-reduce",
                            "collective": {"type": "ring", "startups": "N-1"}}}})"));
  EXPECT_EQ(with(Json::object(), "/strategy/schedule/granularity", "layer"),
            Json::parse(R"({"strategy": {"schedule": {"type": "wfbp", "granularity": "layer"}}})"));
  EXPECT_EQ(with(Json::object(), "/run/variation/spread", 0.1),
            Json::parse(R"({"run": {"variation": {"spread": 0.1}}})"));
}

TEST(PlaceInExperiment, AKeyThatOneTypeHasChoosesIt) {
  const Json config = Json::parse(R"({"workload": {}, "cluster": {}})");
  const auto set = [&](const char* pointer, const Json& value) {
    Json changed = with(config, pointer, value);
    for (const char* part : {"workload", "cluster"}) {
      if (changed.at(part).empty()) changed.erase(part);
    }
    return changed;
  };
  EXPECT_EQ(set("/workload/overlap/blocks", 4),
            Json::parse(R"({"workload": {"overlap": {"type": "multiprocessors", "blocks": 4}}})"));
  EXPECT_EQ(set("/workload/overlap/compute", 1.1),
            Json::parse(R"({"workload": {"overlap": {"type": "factors", "compute": 1.1}}})"));
  EXPECT_EQ(set("/cluster/fabric/radix", 8),
            Json::parse(R"({"cluster": {"fabric": {"type": "fat-tree", "radix": 8}}})"));
  // Several networks have a latency, and none has this key; a type is what it is.
  EXPECT_EQ(set("/cluster/intra_node/latency", "1 us"),
            Json::parse(R"({"cluster": {"intra_node": {"latency": "1 us"}}})"));
  EXPECT_EQ(set("/workload/overlap/blcoks", 4),
            Json::parse(R"({"workload": {"overlap": {"blcoks": 4}}})"));
  EXPECT_EQ(set("/workload/overlap/type", "none"),
            Json::parse(R"({"workload": {"overlap": {"type": "none"}}})"));
}

TEST(PlaceInExperiment, LeavesWhatIsThereAlone) {
  const Json hybrid =
      Json::parse(R"({"strategy": {"aggregation": {"type": "hybrid", "clients": 2}}})");
  EXPECT_EQ(with(hybrid, "/strategy/aggregation/collective/type", "ring"),
            Json::parse(R"({"strategy": {"aggregation": {"type": "hybrid", "clients": 2,
                            "collective": {"type": "ring"}}}})"));
  EXPECT_EQ(with(hybrid, "/strategy/aggregation", 5),
            Json::parse(R"({"strategy": {"aggregation": 5}})"));
}

TEST(PlaceInExperiment, APresetsObjectIsChangedInOneKey) {
  const Json preset = Json::parse(R"({"cluster": {"preset": "k80-10gbe"}})");
  const Json changed = with(preset, "/cluster/network/latency", "1 us");
  EXPECT_EQ(changed.at("cluster").at("network").at("latency"), "1 us");
  EXPECT_EQ(changed.at("cluster").at("network").at("bandwidth"), "1006632960 B/s");
}

TEST(PlaceInExperiment, WhatIsWrongIsLeftForTheReader) {
  for (const char* text : {R"({"cluster": {"preset": 5}})", R"({"cluster": {"preset": "x"}})",
                           R"({"strategy": {"aggregation": {"type": 5}}})"}) {
    const Json wrong = Json::parse(text);
    EXPECT_EQ(with(wrong, "/cluster/network/latency", "1 us").at("cluster").at("network"),
              Json::parse(R"({"latency": "1 us"})"));
    EXPECT_EQ(with(wrong, "/strategy/aggregation/x/y", 1).at("strategy").at("aggregation").at("x"),
              Json::parse(R"({"y": 1})"));
  }
  Json five = 5;
  EXPECT_EQ(place_in_experiment(five, "/run/seed"), nullptr);
}

TEST(PlaceInExperiment, ASweepGoesThroughDefaultsToo) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"strategy": null, "sweep": {"/strategy/aggregation/collective/type":
                                      ["ring", "binary-tree"]}})");
  const Outcome sweep = steptime({"sweep", file, "--format", "jsonl"});
  EXPECT_EQ(sweep.exit, 0) << sweep.out;
  EXPECT_EQ(lines_of(sweep.out).size(), 2U);
}

}  // namespace
}  // namespace steptime
