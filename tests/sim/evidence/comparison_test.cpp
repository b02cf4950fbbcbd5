// Results beside each other: what differs, in which direction, and how each format says it.
#include "sim/evidence/comparison.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::vector<ResultRow> rows_of(const std::string& jsonl) {
  const TinyFolder folder;
  return read_results(folder.write("x.jsonl", jsonl));
}
constexpr const char* kTwo =
    R"({"point":0,"params":{"/cluster/nodes":2},"format_version":1,"step_time_s":0.1,"speedup":1.5,"messages":3,"domain":{"status":"validated"}}
{"point":1,"params":{"/cluster/nodes":4},"format_version":1,"step_time_s":0.2,"speedup":2.0,"messages":3,"domain":{"status":"validated"}}
)";

Comparison compared(const std::string& before, const std::string& after,
                    const Tolerances& tolerances = {}, const std::vector<std::string>& keys = {}) {
  return compare(rows_of(before), rows_of(after), tolerances, keys);
}
/// One result with these figures.
std::string one(const std::string& figures) {
  return R"({"params":{},)" + figures + "}\n";
}

TEST(Comparison, TheSameDiffersInNothing) {
  const Comparison same = compared(kTwo, kTwo);
  EXPECT_EQ(same.rows, 2U);
  EXPECT_EQ(same.figures, 8U);
  EXPECT_TRUE(same.differences.empty());
}

TEST(Comparison, MoreTimeAndLessSpeedAreWorse) {
  // +1 %, -2 %; a message more is neither.
  const Comparison c =
      compared(one(R"("format_version":1,"step_time_s":0.1,"speedup":2,"messages":3)"),
               one(R"("format_version":1,"step_time_s":0.101,"speedup":1.96,"messages":4)"));
  ASSERT_EQ(c.differences.size(), 3U);
  EXPECT_EQ(c.differences[0].key, "step_time_s");
  EXPECT_EQ(c.differences[0].verdict, Verdict::kWorse);
  EXPECT_NEAR(*c.differences[0].change_pct, 1, 1e-9);
  EXPECT_EQ(c.differences[1].verdict, Verdict::kWorse);
  EXPECT_NEAR(*c.differences[1].change_pct, -2, 1e-9);
  EXPECT_EQ(c.differences[2].verdict, Verdict::kChanged);
  EXPECT_EQ(compared(one(R"("format_version":1,"step_time_s":0.1)"),
                     one(R"("format_version":1,"step_time_s":0.09)"))
                .count(Verdict::kBetter),
            1U);
}

TEST(Comparison, TolerancesArePerCentOfWhatItWas) {
  const std::string before = one(R"("format_version":1,"step_time_s":1000,"exposed_comm_s":100)");
  const std::string after =
      one(R"("format_version":1,"step_time_s":1009,"exposed_comm_s":109)");  // +0.9 %, +9 %
  EXPECT_EQ(compared(before, after).differences.size(), 2U);
  EXPECT_EQ(compared(before, after, {.others_pct = 1}).differences.size(), 1U);
  EXPECT_EQ(
      compared(before, after, {.others_pct = 1, .pct = {{"exposed_comm_s", 9}}}).differences.size(),
      0U);
  EXPECT_EQ(
      compared(before, after, {.others_pct = 0.9, .pct = {}}, {"step_time_s"}).differences.size(),
      0U);  // the bound itself is within
  EXPECT_EQ(compared(one(R"("format_version":1,"step_time_s":1,"exposed_comm_s":0)"),
                     one(R"("format_version":1,"step_time_s":1,"exposed_comm_s":1e-12)"))
                .differences.size(),
            1U);  // of nothing there is no share
}

TEST(Comparison, ResultsAreFoundByTheirPlaceInTheSweep) {
  std::string turned = kTwo;  // the points in the other order
  const auto end = turned.find('\n') + 1;
  turned = turned.substr(end) + turned.substr(0, end);
  EXPECT_TRUE(compared(kTwo, turned).differences.empty());

  const std::string first = std::string(kTwo).substr(0, end);
  const Comparison missing = compared(kTwo, first);
  ASSERT_EQ(missing.differences.size(), 1U);
  EXPECT_EQ(missing.differences[0].row, "nodes=4");
  EXPECT_EQ(missing.differences[0].verdict, Verdict::kWorse);
  const Comparison added = compared(first, kTwo);
  ASSERT_EQ(added.differences.size(), 1U);
  EXPECT_EQ(added.differences[0].verdict, Verdict::kChanged);
}

TEST(Comparison, FailingIsWorseAndLeavingTheDomainToo) {
  const std::string fine =
      one(R"("format_version":1,"step_time_s":1,"domain":{"status":"validated"})");
  const std::string failed = one(R"("error":"a deadlock")");
  EXPECT_EQ(compared(fine, failed).differences.at(0).verdict, Verdict::kWorse);
  EXPECT_EQ(compared(fine, failed).differences.at(0).after, "a deadlock");
  EXPECT_EQ(compared(failed, fine).differences.at(0).verdict, Verdict::kBetter);
  EXPECT_TRUE(compared(failed, failed).differences.empty());
  const std::string outside = one(
      R"("format_version":1,"step_time_s":1,"domain":{"status":"extrapolated","beyond":["why"]})");
  EXPECT_EQ(compared(fine, outside).differences.at(0).verdict, Verdict::kWorse);
  EXPECT_EQ(compared(outside, fine).differences.at(0).verdict, Verdict::kBetter);
}

TEST(Comparison, AFigureThatIsGoneIsWorseWhereItHasADirection) {
  const Comparison c =
      compared(one(R"("format_version":1,"step_time_s":1,"time_to_target_s":5,"staleness_mean":2)"),
               one(R"("format_version":1,"step_time_s":1)"));
  ASSERT_EQ(c.differences.size(), 2U);
  EXPECT_EQ(c.differences[0].verdict, Verdict::kChanged);
  EXPECT_EQ(c.differences[1].verdict, Verdict::kWorse);
}

/// What compares nothing would pass every test.
TEST(Comparison, NothingInCommonIsRefused) {
  const auto message = [](const std::string& before, const std::string& after,
                          const std::vector<std::string>& keys) {
    return message_of<InputError>([&] { compared(before, after, {}, keys); });
  };
  EXPECT_EQ(message(kTwo, one(R"("format_version":1,"step_time_s":1)"), {}),
            "the two sets have no result in common");
  EXPECT_EQ(message(kTwo, kTwo, {"epoch_time_s"}), "no result has epoch_time_s");
}

TEST(Comparison, AFolderIsAllItsFiles) {
  const TinyFolder folder;
  std::filesystem::create_directory(folder.path("p"));
  folder.write("p/b.json", R"({"format_version":1,"step_time_s": 2})");
  folder.write("p/a.json",
               pin_text({{R"({"params":{"/run/steps":3},"format_version":1,"step_time_s":1})"}}));
  folder.write("p/notes.txt", "none of it");
  folder.write("p/b.inputs.json", R"({"format":"steptime-inputs","version":1})");
  const std::vector<ResultRow> rows = read_results(folder.path("p"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].label, "a.json steps=3");
  EXPECT_EQ(rows[1].label, "b.json");
  EXPECT_EQ(rows[1].figures["step_time_s"], 2);
}

std::string error_of(const std::string& name, const std::string& text) {
  const TinyFolder folder;
  const std::string file = folder.write(name, text);
  const std::string message = message_of<InputError>([&] { read_results(file); });
  return message.substr(message.find(name));
}

TEST(Comparison, WhatIsNoResultIsRefused) {
  EXPECT_EQ(error_of("x.json", "{}"),
            "x.json: expected a result with \"step_time_s\" or \"error\"");
  EXPECT_EQ(error_of("x.json", "[]"), "x.json: holds no results");
  EXPECT_EQ(error_of("x.csv", "point,step_time_s\n0,1\n"),
            "x.csv: expected results of run, sweep or pin, NAME.jsonl or NAME.json, got a table of "
            "CSV");
  EXPECT_EQ(error_of("x.json", " \n"),
            "x.json: expected results of run, sweep or pin, NAME.jsonl or NAME.json, got an empty "
            "file");
  EXPECT_EQ(error_of("x.json", "step 1"),
            "x.json: expected results of run, sweep or pin, NAME.jsonl or NAME.json, got no JSON");
  EXPECT_EQ(error_of("x.json", "[{\"format_version\": 1, \"step_time_s\": 1}, 5]"),
            "x.json: /1: expected a result of run, sweep or pin, got 5");
  EXPECT_EQ(error_of("x.json", R"({"format": "steptime-trace"})"),
            "x.json: /format: expected \"steptime-pin\", got \"steptime-trace\"");
  EXPECT_EQ(error_of("x.json", R"({"format": "steptime-pin", "version": 2, "rows": []})"),
            "x.json: /version: expected 1, got 2: write the pin anew");
  EXPECT_EQ(error_of("x.json", R"({"format": "steptime-pin", "version": 1})"),
            "x.json: /rows: required but missing");
  EXPECT_EQ(error_of("x.jsonl", one(R"("format_version":1,"step_time_s":1)") +
                                    one(R"("format_version":1,"step_time_s":2)")),
            "x.jsonl: has two results of result");
  EXPECT_EQ(error_of("x.json", R"({"format_version":1,"step_time_s": "foo"})"),
            "x.json: \"step_time_s\": expected a number, got \"foo\"");
  EXPECT_EQ(error_of("x.json", R"([{"format_version":1,"step_time_s": -1}])"),
            "x.json: /0: \"step_time_s\": expected more than 0, got -1");
  for (const char* ends : {"[1]", "3", R"(["a", 2])"}) {
    const std::string error =
        error_of("x.json", std::string(R"({"format_version":1,"step_time_s":1,)") +
                               R"("step_time_interval_s":)" + ends + "}");
    EXPECT_TRUE(error.starts_with("x.json: \"step_time_interval_s\": expected two numbers, got"))
        << error;
  }
  EXPECT_EQ(error_of("x.json", R"({"format_version":1,"step_time_s": 1, "params": 3})"),
            "x.json: \"params\": expected an object, got 3");
  EXPECT_EQ(error_of("x.json", "{\"step_time_s\": 1}"),
            "x.json: has no \"format_version\", as results of 0.1.0: since then the figures of "
            "embeddings stand beside \"attribution\", not in it; write it anew");
  EXPECT_EQ(
      error_of("x.json", "{\"step_time_s\": 1, \"format_version\": 2}"),
      "x.json: \"format_version\": expected 1, got 2: CHANGELOG.md says what changed; write it "
      "anew");
  EXPECT_EQ(message_of<InputError>([] { compared(kTwo, kTwo, {}, {"fingerprint"}); }),
            "\"fingerprint\": expected \"domain\" or a figure that is a number, as steptime list "
            "result has "
            "them");
}

TEST(Comparison, IsWrittenForPeopleForProgramsAndForCi) {
  std::string after = kTwo;
  after.replace(after.find("0.2"), 3, "0.3");
  const std::vector<ResultRow> rows = rows_of(after);
  const Comparison c = compare(rows_of(kTwo), rows, {}, {});
  EXPECT_EQ(comparison_table(c),
            "result   figure       before  after    change  verdict\n"
            "-------  -----------  ------  -----  --------  -------\n"
            "nodes=4  step_time_s     0.2    0.3  +50.00 %  WORSE\n"
            "\n"
            "8 figures of 2 results compared: 1 worse, 0 better, 0 changed\n");
  EXPECT_EQ(comparison_markdown(c),
            "| result | figure | before | after | change | verdict |\n|---|---|---|---|---|---|\n"
            "| nodes=4 | step_time_s | 0.2 | 0.3 | +50.00 % | WORSE |\n\n"
            "8 figures of 2 results compared: 1 worse, 0 better, 0 changed\n");
  EXPECT_EQ(comparison_json(c)["differences"][0]["verdict"], "worse");
  EXPECT_EQ(comparison_junit(c, rows),
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
            "<testsuite name=\"steptime compare\" tests=\"2\" failures=\"1\">\n"
            "  <testcase classname=\"steptime\" name=\"nodes=2\"/>\n"
            "  <testcase classname=\"steptime\" name=\"nodes=4\">\n"
            "    <failure message=\"step_time_s: 0.2 to 0.3, +50.00 %\">step_time_s: 0.2 to 0.3, "
            "+50.00 %\n</failure>\n"
            "  </testcase>\n"
            "</testsuite>\n");
}

}  // namespace
}  // namespace steptime
