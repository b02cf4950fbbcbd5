#include "sim/evidence/claims.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "tests/support/claimed.h"
#include "tests/support/messages.h"

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Claims, AFigureBesideItsSimulation) {
  const TinyFolder folder;
  const std::string file = claim_file(folder, R"({"note": "n"})");
  const std::vector<ClaimRow> rows = simulate_claims(file);
  ASSERT_EQ(rows.size(), 1U);
  // Exactly the keys of `reproduce --format json`; the tolerance is 10 % unless given.
  EXPECT_EQ(rows[0].json().dump(),
            R"({"id":"T-1","paper":"tiny","quantity":"step time","unit":"s","relation":"=",)"
            R"("published":0.044,"simulated":0.044,"error_pct":0.0,"tolerance_pct":10.0,)"
            R"("kind":"predicted","status":"ok","config":")" +
                file + R"(","note":"n","where":"table 1","inputs":"the trace","fitted":""})");
}

TEST(Claims, AnExperimentWithoutClaimsHasNone) {
  const TinyFolder folder;
  EXPECT_TRUE(simulate_claims(folder.experiment()).empty());
  EXPECT_TRUE(simulate_claims(folder.experiment(R"({"claims": {"paper": "p", "source": "s",
                                                    "inputs": "i", "figures": []}})"))
                  .empty());
}

TEST(Claims, TheErrorIsRelativeToThePublishedFigure) {
  // (0.044 - 0.040) / 0.040 = +10 %, (0.044 - 0.050) / 0.050 = -12 %
  EXPECT_NEAR(claim(R"({"published": 0.040})").error_pct, 10, 1e-9);
  EXPECT_NEAR(claim(R"({"published": 0.050})").error_pct, -12, 1e-9);
  EXPECT_FALSE(claim(R"({"published": 0.050})").ok);
  EXPECT_TRUE(claim(R"({"published": 0.050, "tolerance_pct": 12.1})").ok);
  EXPECT_TRUE(claim(R"({"published": 0.050})", R"({"tolerance_pct": 12.1})").ok);
  EXPECT_FALSE(
      claim(R"({"published": 0.050, "tolerance_pct": 11.9})", R"({"tolerance_pct": 20})").ok);
  // (44 - -44) / 44
  EXPECT_NEAR(claim(R"({"published": -0.044})").error_pct, 200, 1e-9);
}

TEST(Claims, Relations) {
  EXPECT_TRUE(claim(R"({"relation": ">=", "published": 0.044})").ok);
  EXPECT_TRUE(claim(R"({"relation": ">=", "published": 0.001})").ok);
  EXPECT_FALSE(claim(R"({"relation": ">=", "published": 0.045})").ok);  // whatever the tolerance
  EXPECT_TRUE(claim(R"({"relation": "<=", "published": 0.044})").ok);
  EXPECT_FALSE(claim(R"({"relation": "<=", "published": 0.043})").ok);
  EXPECT_EQ(claim(R"({"relation": "<="})").json().at("relation"), "<=");
}

TEST(Claims, AlternativesDoNotCount) {
  const ClaimRow row =
      claim(R"({"alternatives": {"one worker": {"/cluster/nodes": 1}, "same": {}}})");
  EXPECT_EQ(row.json().at("alternatives"), Json::parse(R"({"one worker": 0.042, "same": 0.044})"));
  EXPECT_EQ(row.simulated, 0.044);
  EXPECT_FALSE(claim("{}").json().contains("alternatives"));
}

TEST(Claims, AMissKeepsItsReason) {
  const ClaimRow row = claim(R"({"published": 1, "missed_because": "no idea.", "note": "N."})");
  EXPECT_FALSE(row.ok);
  EXPECT_EQ(row.reason, "no idea.");
  EXPECT_EQ(row.json().at("status"), "missed");
  EXPECT_EQ(row.json().at("note"), "N. Missed: no idea.");
  EXPECT_EQ(claim(R"({"published": 1, "missed_because": "x"})").json().at("note"), "Missed: x");
}

TEST(Claims, AFigureMayHaveInputsOfItsOwn) {
  const Json json =
      claim(R"({"kind": "fitted", "inputs": "mine", "fitted": "alpha"})", R"({"fitted": "beta"})")
          .json();
  EXPECT_EQ(json.at("kind"), "fitted");
  EXPECT_EQ(json.at("inputs"), "mine");
  EXPECT_EQ(json.at("fitted"), "alpha");
  EXPECT_EQ(claim("{}", R"({"fitted": "beta"})").json().at("fitted"), "beta");
}

TEST(Claims, NothingPublishedAsZeroAndSimulatedAsZeroIsNoError) {
  const ClaimRow row = claim(R"({"measure": {"value": "exposed_comm_s",
                                 "of": {"/cluster/nodes": 1}}, "published": 0})");
  EXPECT_EQ(row.simulated, 0.0);
  EXPECT_EQ(row.error_pct, 0.0);
  EXPECT_TRUE(row.ok);
}

struct ClaimCase {
  const char* name;
  const char* figure_patch;
  std::string message;  ///< after "/claims"
};
void PrintTo(const ClaimCase& c, std::ostream* out) {
  *out << c.name;
}
class BrokenClaim : public testing::TestWithParam<ClaimCase> {};

TEST_P(BrokenClaim, NamesFileAndPlace) {
  const TinyFolder folder;
  const std::string file = claim_file(folder, GetParam().figure_patch);
  EXPECT_EQ(message_of<InputError>([&] { simulate_claims(file); }),
            file + ": /claims" + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, BrokenClaim,
    testing::Values(
        ClaimCase{"UnknownKey", R"({"publishd": 1})",
                  "/figures/0/publishd: unknown key (did you mean \"published\"?); known: id, "
                  "quantity, unit, published, relation, where, testbed, tolerance_pct, kind, "
                  "inputs, fitted, note, missed_because, settings_are_known, by_name, "
                  "has_device_model, measure, order, alternatives"},
        ClaimCase{"NoId", R"({"id": null})", "/figures/0/id: required but missing"},
        ClaimCase{"NothingPublished", R"({"published": null})",
                  "/figures/0/published: required but missing"},
        ClaimCase{"PublishedTruth", R"({"published": true})",
                  "/figures/0/published: expected a number, got true"},
        ClaimCase{"PublishedOrderOfAMeasure", R"({"published": "A < B"})",
                  "/figures/0/published: expected a number, got \"A < B\""},
        ClaimCase{"UnknownRelation", R"({"relation": ">"})",
                  "/figures/0/relation: unknown \">\"; known: =, >=, <="},
        ClaimCase{"UnknownKind", R"({"kind": "guessed"})",
                  "/figures/0/kind: unknown \"guessed\"; known: predicted, fitted"},
        ClaimCase{"NoTolerance", R"({"tolerance_pct": 0})",
                  "/figures/0/tolerance_pct: must be positive, got 0"},
        ClaimCase{"NeitherMeasureNorOrder", R"({"measure": null})",
                  "/figures/0: expected either \"measure\" or \"order\""},
        ClaimCase{"MeasureAndOrder", R"({"order": {"value": "workers", "of": {}}})",
                  "/figures/0: expected either \"measure\" or \"order\""},
        ClaimCase{
            "UnknownFigure", R"({"measure": {"value": "step_time"}})",
            "/figures/0/measure/value: \"step_time\" is no figure of a result (did you mean "
            "\"step_time_s\"?); known: step_time_s, compute_time_s, forward_time_s, "
            "backward_time_s, comm_busy_s, exposed_comm_s, throughput_samples_per_s, speedup, "
            "scaling_efficiency, workers, messages, epoch_time_s, cold_step_time_s, "
            "exposed_input_s, memory_bytes, tokens_per_s, tokens_per_s_per_gpu, mfu, hfu, "
            "device_memory_bytes, step_time_p50_s, step_time_p95_s, step_time_p99_s, "
            "training_time_s, training_time_p50_s, training_time_p95_s, training_time_p99_s, "
            "useful_share, checkpoint_interval_s, slowdown and 18 more"},
        ClaimCase{"FigureThatTheRunLacks", R"({"measure": {"value": "epoch_time_s"}})",
                  "/figures/0/measure/value: \"epoch_time_s\" is not known for this run"},
        ClaimCase{"SetIsANumber", R"({"measure": {"set": 5}})",
                  "/figures/0/measure/set: expected an object, got 5"},
        ClaimCase{"OfIsAList", R"({"measure": {"of": [1]}})",
                  "/figures/0/measure/of: expected an object, got a list"},
        ClaimCase{"AlternativeIsANumber", R"({"alternatives": {"x": 5}})",
                  "/figures/0/alternatives/x: expected an object, got 5"},
        ClaimCase{"OverNothing", R"({"measure": {"value": "exposed_comm_s",
                                                 "over": {"/cluster/nodes": 1}}})",
                  "/figures/0/measure/over: \"exposed_comm_s\" is 0, a ratio needs another value"},
        ClaimCase{"SetsNoPlace", R"({"measure": {"set": {"/name/x": 5}}})",
                  "/figures/0/measure/set: \"/name/x\" does not name a place in the config"},
        ClaimCase{"SetsNoPointer", R"({"measure": {"set": {"nodes": 5}}})",
                  "/figures/0/measure/set: \"nodes\" does not name a place in the config"},
        ClaimCase{"OrderOfNothing", R"({"measure": null, "published": "",
                                        "order": {"value": "workers", "of": {}}})",
                  "/figures/0/order/of: expected at least two runs to order, got 0"}),
    [](const auto& broken) { return std::string(broken.param.name); });

TEST(Claims, ASetThatBreaksTheConfigSaysWhere) {
  const TinyFolder folder;
  const std::string file = claim_file(folder, R"({"measure": {"set": {"/cluster/nodes": 0}}})");
  EXPECT_EQ(message_of<InputError>([&] { simulate_claims(file); }),
            file + ": /claims/figures/0/measure: with its values set, " + file +
                ": /cluster/nodes: must be at least 1 and at most 10000000, got 0");
}

TEST(Claims, CheckReadsThem) {
  const TinyFolder folder;
  const Outcome outcome = steptime({"check", claim_file(folder, R"({"kind": "guessed"})")});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.err, "steptime: " + folder.path("x.json") +
                             ": /claims/figures/0/kind: unknown \"guessed\"; known: predicted, "
                             "fitted\n");
}

TEST(Reproduce, FiltersByPaperAndId) {
  const auto holds = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::vector<ClaimRow> paper = reproduce("tf-k80");
  ASSERT_FALSE(paper.empty());
  for (const ClaimRow& row : paper)
    EXPECT_EQ(row.paper, "tf-k80");
  const std::string id = paper.front().id;
  const std::vector<ClaimRow> one = reproduce(id);
  ASSERT_FALSE(one.empty());
  EXPECT_LT(one.size(), paper.size());
  for (const ClaimRow& row : one)
    EXPECT_TRUE(holds(row.id, id)) << row.id;
  EXPECT_TRUE(reproduce("no such paper").empty());
}

}  // namespace
}  // namespace steptime
