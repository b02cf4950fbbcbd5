// The command around the claims.
#include "tests/support/tiny_experiment.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// A folder with one experiment: the tiny one with a claim per patch.
class Papers {
 public:
  explicit Papers(const std::vector<std::string>& claim_patches, const std::string& maps = "[]") {
    Json claims{{"paper", "tiny"}, {"source", "A book"}, {"inputs", "the trace"}};
    for (const std::string& patch : claim_patches) {
      Json figure = Json::parse(R"({"id": "T-1", "quantity": "step time", "unit": "s",
          "published": 0.044, "where": "table 1", "measure": {"value": "step_time_s"}})");
      figure.merge_patch(Json::parse(patch));
      claims["figures"].push_back(figure);
    }
    claims["maps"] = Json::parse(maps);
    Json config = Json::parse(kTinyExperiment);
    config["claims"] = claims;
    config["workload"]["trace"] = "../trace.json";
    std::filesystem::create_directory(folder_.path("papers"));
    config_ = folder_.write("papers/x.json", config.dump());
  }

  const std::string& config() const { return config_; }
  Outcome reproduce(std::vector<std::string> args) const {
    args.insert(args.begin(), {"reproduce", "--from", folder_.path("papers")});
    return steptime(args);
  }

 private:
  TinyFolder folder_;
  std::string config_;
};

TEST(VerbReproduce, JsonListsTheDocumentedKeys) {
  const Papers here({"{}", R"({"id": "T-2", "relation": ">="})"});
  const Outcome outcome = here.reproduce({"--format", "json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json list = parse_json(outcome.out, "stdout");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].dump(),
            R"({"id":"T-1","paper":"tiny","quantity":"step time","unit":"s","relation":"=",)"
            R"("published":0.044,"simulated":0.044,"error_pct":0.0,"tolerance_pct":10.0,)"
            R"("kind":"predicted","status":"ok","config":")" +
                here.config() +
                R"(","note":"",)"
                R"("where":"table 1","inputs":"the trace","fitted":""})");
  EXPECT_EQ(list[1].at("relation"), ">=");
}

TEST(VerbReproduce, AMissWithoutAReasonExits1) {
  // (0.044 - 0.04) / 0.04 = 10 %; (0.044 - 0.03) / 0.03 = 47 %
  EXPECT_EQ(Papers({R"({"published": 0.0401})"}).reproduce({}).exit, 0);
  EXPECT_EQ(Papers({R"({"published": 0.03})"}).reproduce({}).exit, 1);
  EXPECT_EQ(Papers({R"({"published": 0.03, "missed_because": "known"})"}).reproduce({}).exit, 0);
  EXPECT_EQ(Papers({R"({"published": 0.03, "missed_because": "known"})", R"({"published": 0.03})"})
                .reproduce({})
                .exit,
            1);
}

TEST(VerbReproduce, TheFilterLeavesTheOthersOut) {
  const Papers here({"{}", R"({"id": "T-2", "published": 0.03})"});
  const Outcome first = here.reproduce({"T-1", "--format", "jsonl"});
  EXPECT_EQ(first.exit, 0);
  EXPECT_EQ(lines_of(first.out).size(), 1U);
  EXPECT_EQ(here.reproduce({"T-2"}).exit, 1);
  EXPECT_EQ(lines_of(here.reproduce({"tin", "--format", "jsonl"}).out).size(), 2U);
  const Outcome none = here.reproduce({"T-3"});
  EXPECT_EQ(none.exit, 2);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, "steptime: no claim's paper or id contains \"T-3\"\n");
}

TEST(VerbReproduce, TableIsTheDefault) {
  const Outcome outcome = Papers({"{}"}).reproduce({});
  EXPECT_EQ(outcome.out,
            "id   quantity   published  simulated   error  within  kind       status\n"
            "---  ---------  ---------  ---------  ------  ------  ---------  ------\n"
            "T-1  step time    0.044 s      0.044  +0.0 %    10 %  predicted  ok\n"
            "\n"
            "1 of 1 figures ok; of the 1 predicted, 1 ok\n");
}

TEST(VerbReproduce, CsvHasOneRowPerFigure) {
  const Papers here({R"({"quantity": "step time, 4 workers"})", R"({"measure": null,
      "published": "A < B", "order": {"value": "workers", "of": {"B": {"/cluster/nodes": 2},
      "A": {"/cluster/nodes": 1}}}})"});
  const Outcome outcome = here.reproduce({"--format", "csv"});
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.out,
            "id,paper,quantity,unit,relation,published,simulated,error_pct,tolerance_pct,kind,"
            "status,config,note,where,inputs,fitted\n"
            "T-1,tiny,\"step time, 4 workers\",s,=,0.044,0.044,0.0,10.0,predicted,ok," +
                here.config() +
                ",,table 1,the trace,\n"
                "T-1,tiny,step time,s,=,A < B,A < B,,,predicted,ok," +
                here.config() +
                ",,"
                "table 1,the trace,\n");
}

TEST(VerbReproduce, TheShippedClaimsHaveTheDocumentedKeys) {
  // A paper whose figures need no learning: the whole list is the validation suite's.
  const Outcome outcome = steptime({"reproduce", "mg-wfbp", "--format", "json"});
  ASSERT_TRUE(outcome.exit == 0 || outcome.exit == 1) << outcome.err;
  bool news = false;
  for (const Json& row : parse_json(outcome.out, "stdout")) {
    for (const char* key : {"id", "paper", "quantity", "unit", "relation", "published", "simulated",
                            "kind", "status", "config", "note", "where", "inputs", "fitted"}) {
      EXPECT_TRUE(row.contains(key)) << key << " of " << row;
    }
    EXPECT_EQ(row.contains("error_pct"), row.at("published").is_number()) << row;
    EXPECT_EQ(row.contains("tolerance_pct"), row.at("published").is_number()) << row;
    const auto note = row.at("note").get<std::string>();
    if (row.at("status") == "missed" && note.find("Missed: ") == std::string::npos) news = true;
  }
  EXPECT_EQ(outcome.exit, news ? 1 : 0);
}

/// 10 us + 1 ns/B and 1 us + 2 ns/B meet at 9,000 B.
TEST(VerbReproduce, MapsStandBelowTheFiguresOrAlone) {
  const Papers here({"{}"}, R"([{"id": "M-1", "quantity": "fastest", "where": "Figure 1",
      "sizes": {"from": 1, "to": 1e6, "unit": "bytes"}, "of": {
        "late": {"/strategy/aggregation/collective": {"type": "linear", "a": "10 us", "b": "1 ns/B"}},
        "soon": {"/strategy/aggregation/collective": {"type": "linear", "a": "1 us", "b": "2 ns/B"}}},
      "for": {"all": {"bytes": 1}}}])");
  const std::string map = "\nM-1, fastest, by bytes\n  all  soon to 9k, late\n";
  EXPECT_TRUE(here.reproduce({}).out.ends_with("1 ok\n" + map));
  EXPECT_EQ(here.reproduce({"--maps"}).out, map);
  const Outcome json = here.reproduce({"--maps", "--format", "json"});
  EXPECT_EQ(parse_json(json.out, "stdout").at(0).at("rows").at(0).at("spans").at(1).dump(),
            R"({"fastest":"late","to":1000000.0})");
  EXPECT_EQ(lines_of(here.reproduce({"--maps", "--format", "jsonl"}).out).size(), 1U);
  EXPECT_EQ(here.reproduce({"--maps", "--format", "csv"}).err,
            "steptime: --maps: csv has no place for maps; known: table, json, jsonl\n");
  EXPECT_EQ(here.reproduce({"--maps", "T-"}).err,
            "steptime: no map's paper or id contains \"T-\"\n");
}

TEST(VerbReproduce, OnlyOneThingIsShownAlone) {
  EXPECT_EQ(Papers({"{}"}).reproduce({"--layouts", "--maps"}).err,
            "steptime: --layouts, --maps: expected one of them\n");
}

}  // namespace
}  // namespace steptime
