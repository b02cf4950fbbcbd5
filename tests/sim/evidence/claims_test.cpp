#include "sim/evidence/claims.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// The tiny experiment with one claim: a figure with its step time, 44 ms, and a patch.
std::string claim_file(const TinyFolder& folder, const std::string& figure_patch,
                       const std::string& claims_patch = "{}") {
  Json figure = Json::parse(R"({"id": "T-1", "quantity": "step time", "unit": "s",
      "published": 0.044, "where": "table 1", "measure": {"value": "step_time_s"}})");
  figure.merge_patch(Json::parse(figure_patch));
  Json claims{{"paper", "tiny"}, {"source", "A book"}, {"inputs", "the trace"}};
  claims.merge_patch(Json::parse(claims_patch));
  claims["figures"].push_back(figure);
  return folder.experiment(Json{{"claims", claims}}.dump());
}

ClaimRow claim(const std::string& figure_patch, const std::string& claims_patch = "{}") {
  const TinyFolder folder;
  return simulate_claims(claim_file(folder, figure_patch, claims_patch)).at(0);
}

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

TEST(Claims, ARatioOfTwoRuns) {
  // One worker takes 42 ms, four take 44 ms: 44 / 42, and in percent.
  const ClaimRow row = claim(R"({"measure": {"value": "step_time_s", "of": {"/cluster/nodes": 4},
      "over": {"/cluster/nodes": 1}, "scale": 100}, "published": 104.76, "unit": "%"})");
  EXPECT_DOUBLE_EQ(row.simulated.get<double>(), 0.044 / 0.042 * 100);
  EXPECT_TRUE(row.ok);
}

TEST(Claims, SetsApplyToBothRunsAndOfOnTopOfThem) {
  // Without gradients to send for one worker: 42 ms. "set" puts 8 nodes, "of" overrides them.
  const ClaimRow row = claim(R"({"measure": {"value": "workers", "set": {"/cluster/nodes": 8,
      "/cluster/gpus_per_node": 2}, "of": {"/cluster/nodes": 3}, "over": {}}, "published": 0.375})");
  EXPECT_EQ(row.simulated, 0.375);  // 3 * 2 / (8 * 2)
}

TEST(Claims, Relations) {
  EXPECT_TRUE(claim(R"({"relation": ">=", "published": 0.044})").ok);
  EXPECT_TRUE(claim(R"({"relation": ">=", "published": 0.001})").ok);
  EXPECT_FALSE(claim(R"({"relation": ">=", "published": 0.045})").ok);  // whatever the tolerance
  EXPECT_TRUE(claim(R"({"relation": "<=", "published": 0.044})").ok);
  EXPECT_FALSE(claim(R"({"relation": "<=", "published": 0.043})").ok);
  EXPECT_EQ(claim(R"({"relation": "<="})").json().at("relation"), "<=");
}

constexpr const char* kOrder = R"({"measure": null, "order": {"value": "step_time_s", "of": {
    "Naive": {"/strategy/schedule/type": "naive"}, "WFBP": {"/strategy/schedule/type": "wfbp"},
    "One": {"/cluster/nodes": 1}}}, "published": "One < WFBP < Naive"})";

TEST(Claims, AnOrdering) {
  // One worker 42 ms; WFBP 44 ms; naive 42 + 1.004 + 5 + 2 = 50.004 ms.
  const ClaimRow row = claim(kOrder);
  EXPECT_EQ(row.simulated, "One < WFBP < Naive");
  EXPECT_TRUE(row.ok);
  EXPECT_FALSE(row.json().contains("error_pct"));
  EXPECT_FALSE(row.json().contains("tolerance_pct"));
  Json wrong = Json::parse(kOrder);
  wrong["published"] = "Naive < WFBP";
  EXPECT_FALSE(claim(wrong.dump()).ok);
}

TEST(Claims, EqualsAreSaidToBeEqual) {
  const ClaimRow row = claim(R"({"measure": null, "published": "A = B < C", "order": {
      "value": "workers", "set": {"/cluster/gpus_per_node": 1}, "of": {"C": {"/cluster/nodes": 3},
      "A": {"/cluster/nodes": 2}, "B": {"/cluster/nodes": 2}}}})");
  EXPECT_EQ(row.simulated, "A = B < C");  // equal ones in the order of the file
  EXPECT_TRUE(row.ok);
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

TEST(Claims, TheTableSumsUp) {
  const TinyFolder folder;
  std::vector<ClaimRow> rows = simulate_claims(claim_file(folder, R"({"relation": ">="})"));
  for (const char* patch :
       {R"({"id": "T-2", "published": 0.4, "missed_because": "a stopped clock"})",
        R"({"id": "T-3", "published": 0.4, "kind": "fitted",
            "alternatives": {"one worker": {"/cluster/nodes": 1}}})"}) {
    rows.push_back(claim(patch));
  }
  EXPECT_EQ(claims_table(rows),
            "id   quantity   published   simulated    error  within  kind       status\n"
            "---  ---------  ----------  ---------  -------  ------  ---------  ------\n"
            "T-1  step time  >= 0.044 s      0.044   +0.0 %          predicted  ok\n"
            "T-2  step time  0.4 s           0.044  -89.0 %    10 %  predicted  MISSED\n"
            "T-3  step time  0.4 s           0.044  -89.0 %    10 %  fitted     MISSED\n"
            "\n"
            "T-2, step time\n"
            "  missed: a stopped clock\n"
            "\n"
            "T-3, step time\n"
            "  missed: no reason given\n"
            "  with one worker: 0.042 s\n"
            "\n"
            "1 of 3 figures ok; of the 2 predicted, 1 ok\n");
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
                  "quantity, unit, published, relation, where, tolerance_pct, kind, inputs, "
                  "fitted, note, missed_because, measure, order, alternatives"},
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
            "/figures/0/measure/value: \"step_time\" is no figure of a result; known: "
            "step_time_s, compute_time_s, forward_time_s, backward_time_s, comm_busy_s, "
            "exposed_comm_s, throughput_samples_per_s, speedup, scaling_efficiency, workers, "
            "messages, "
            "epoch_time_s, staleness_mean, final_accuracy, time_to_target_s, time_to_target_min_s, "
            "time_to_target_max_s, epochs_to_target, hidden_under_backward_s, "
            "hidden_under_forward_s, exposed_s, idle_without_communication_s, longest_gpu_wait_s"},
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
            file + ": /cluster/nodes: must be at least 1 and at most 10000000, got 0");
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
