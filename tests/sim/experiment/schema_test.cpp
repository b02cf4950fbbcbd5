#include "sim/experiment/schema.h"

#include "sim/config/data_dir.h"
#include "tests/support/json_schema.h"

#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace steptime {
namespace {

/// "" when the schema accepts the experiment, else what it says first.
std::string refusal(const Json& experiment) {
  static const JsonSchema schema(experiment_schema().dump());
  return schema.refusal(experiment);
}

Json experiment() {
  return Json::parse(R"({
    "$schema": "../steptime.schema.json",
    "name": "x",
    "description": "every section",
    "workload": {"trace": "t.json", "batch": 32, "dtype": "float16", "compute_time": "1.5 s"},
    "cluster": {"nodes": 4, "gpus_per_node": 2, "reduction": "1e-3 ns/B",
                "network": {"type": "switch", "latency": "10us", "bandwidth": "10 Gbps"},
                "intra_node": {"type": "switch", "latency": "0 s", "bandwidth": "1.5 GiB/s"}},
    "strategy": {"aggregation": {"type": "all-reduce", "collective": {"type": "ring"}},
                 "update": {"type": "sgd"},
                 "schedule": {"type": "fixed-buckets", "capacity": "25 MiB"},
                 "embedding": {"type": "async"}, "transport": {"type": "mpi"}},
    "run": {"fidelity": "analytic", "steps": 2, "seed": 0},
    "sweep": {"/cluster/nodes": [1, 2]}
  })");
}

std::string refusal_with(const std::string& patch) {
  Json changed = experiment();
  changed.merge_patch(Json::parse(patch));
  return refusal(changed);
}

TEST(Schema, AnObjectMayBeAWord) {
  EXPECT_EQ(refusal_with(R"({"run": {"variation": "typical"}})"), "");
  EXPECT_EQ(refusal_with(R"({"run": {"variation": {"preset": "typical", "seeds": 5}}})"), "");
  EXPECT_NE(refusal_with(R"({"run": {"variation": "typicl"}})"), "");
}

TEST(Schema, IsDraft7WithATitle) {
  const Json schema = experiment_schema();
  EXPECT_EQ(schema.at("$schema"), "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(schema.at("title"), "Steptime experiment");
  EXPECT_EQ(schema.at("required"), Json({"name", "workload", "cluster"}));
  EXPECT_EQ(schema.at("additionalProperties"), false);
}

TEST(Schema, AcceptsEverySection) {
  EXPECT_EQ(refusal(experiment()), "");
  // Defaults and presets may be left out.
  EXPECT_EQ(refusal_with(R"({"strategy": null, "run": null, "sweep": null, "$schema": null})"), "");
  EXPECT_EQ(refusal_with(R"({"cluster": {"preset": "k80-10gbe", "nodes": null, "network": null}})"),
            "");
}

TEST(Schema, AcceptsEveryShippedExperiment) {
  int experiments = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir() / "configs")) {
    if (entry.path().extension() != ".json") continue;
    const std::string file = entry.path().string();
    EXPECT_EQ(refusal(parse_json(read_file(file), file)), "") << file;
    ++experiments;
  }
  EXPECT_GT(experiments, 0);
}

struct BrokenCase {
  const char* name;
  const char* patch;
};
void PrintTo(const BrokenCase& c, std::ostream* out) {
  *out << c.name;
}
class SchemaRefuses : public testing::TestWithParam<BrokenCase> {};

TEST_P(SchemaRefuses, Config) {
  EXPECT_NE(refusal_with(GetParam().patch), "") << GetParam().patch;
}

INSTANTIATE_TEST_SUITE_P(
    Broken, SchemaRefuses,
    testing::Values(
        BrokenCase{"UnknownKey", R"({"nmae": "x"})"}, BrokenCase{"NoName", R"({"name": null})"},
        BrokenCase{"NameIsANumber", R"({"name": 5})"},
        BrokenCase{"NoWorkload", R"({"workload": null})"},
        BrokenCase{"NoCluster", R"({"cluster": null})"},
        BrokenCase{"NeitherPresetNorNetwork", R"({"cluster": {"network": null}})"},
        BrokenCase{"NeitherTraceNorModel", R"({"workload": {"trace": null}})"},
        BrokenCase{"TraceAndModel", R"({"workload": {"model": "x", "device": "y"}})"},
        BrokenCase{"NoNodes", R"({"cluster": {"nodes": 0}})"},
        BrokenCase{"TooManyNodes", R"({"cluster": {"nodes": 1000000000000000000}})"},
        BrokenCase{"HalfANode", R"({"cluster": {"nodes": 1.5}})"},
        BrokenCase{"UnknownClusterKey", R"({"cluster": {"node": 4}})"},
        BrokenCase{"LatencyWithoutUnit", R"({"cluster": {"network": {"latency": "10"}}})"},
        BrokenCase{"LatencyIsANumber", R"({"cluster": {"network": {"latency": 1e-5}}})"},
        BrokenCase{"LatencyOfAnotherUnit", R"({"cluster": {"network": {"latency": "10 GB/s"}}})"},
        BrokenCase{"NegativeLatency", R"({"cluster": {"network": {"latency": "-10 us"}}})"},
        BrokenCase{"NoLatency", R"({"cluster": {"network": {"latency": null}}})"},
        BrokenCase{"NetworkWithoutType", R"({"cluster": {"network": {"type": null}}})"},
        BrokenCase{"UnknownNetwork", R"({"cluster": {"network": {"type": "carrier-pigeon"}}})"},
        BrokenCase{"ParameterOfAnotherSchedule", R"({"strategy": {"schedule": {"type": "wfbp"}}})"},
        BrokenCase{"UnknownCollective",
                   R"({"strategy": {"aggregation": {"collective": {"type": "rings"}}}})"},
        BrokenCase{"UnknownStrategyKey", R"({"strategy": {"scheduler": {}}})"},
        BrokenCase{"UnknownUpdate", R"({"strategy": {"update": {"type": "adam"}}})"},
        BrokenCase{"UnknownFidelity", R"({"run": {"fidelity": "exact"}})"},
        BrokenCase{"NoSteps", R"({"run": {"steps": 0}})"},
        BrokenCase{"SeedIsText", R"({"run": {"seed": "1"}})"},
        BrokenCase{"UnknownDtype", R"({"workload": {"dtype": "int8"}})"},
        BrokenCase{"SweepIsAList", R"({"sweep": [1]})"}),
    [](const auto& broken) { return std::string(broken.param.name); });

TEST(Schema, AcceptsEveryNumberThatTheProgramReads) {
  // The forms of sim/core/units.cpp: std::from_chars with its fraction and exponent, then spaces,
  // then the unit.
  for (const char* latency :
       {"10us", "10  us", ".5 us", "5. us", "1e-3 s", "1E+3 ns", "0.5e0 ms"}) {
    Json changed = experiment();
    changed["cluster"]["network"]["latency"] = latency;
    EXPECT_EQ(refusal(changed), "") << latency;
  }
}

}  // namespace
}  // namespace steptime
