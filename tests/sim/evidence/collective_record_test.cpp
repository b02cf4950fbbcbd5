// Do a collective's domain and interval follow from measured tables as the header says?
#include "sim/evidence/collective_record.h"

#include "sim/config/json.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

CollectiveKind kind(std::int64_t compute_capability = 80) {
  return {.library = "NCCL 2.19",
          .operation = "all-reduce",
          .compute_capability = compute_capability,
          .fabric = "nvlink",
          .nodes = "one",
          .is_large = true};
}

CollectiveRecord record() {
  return CollectiveRecord({{"1", kind(), 2, 10, 0.1, 0.2},
                           {"2", kind(), 4, 10, 0.1, 0.2},
                           {"3", kind(), 8, 10, 0.2, 0.28},
                           {"4", kind(90), 8, 10, 0.25, 0.28}});
}

double student(double n) {
  return boost::math::quantile(boost::math::students_t(n), 0.975);
}

// Three tables: w = t(3) sqrt((0.01 + 0.01 + 0.04) / 3).
TEST(CollectiveRecord, ThreeTablesOfAKindGiveItsInterval) {
  const CollectiveAssessment a = record().assess(kind(), 8);
  EXPECT_EQ(a.word(), "validated");
  EXPECT_EQ(a.tables, 3);
  EXPECT_NEAR(a.factor, std::exp(student(3) * std::sqrt(0.06 / 3)), 1e-12);
  const CollectiveAssessment larger = record().assess(kind(), 16);
  EXPECT_EQ(larger.word(), "extrapolated");
  EXPECT_EQ(larger.beyond.front(), "16 ranks, measured with 8 at most");
}

// One table of Hopper is too few: those of any GPUs count, four in all.
TEST(CollectiveRecord, FewTablesAskTheirNeighbours) {
  const CollectiveAssessment a = record().assess(kind(90), 8);
  EXPECT_EQ(a.word(), "validated");
  EXPECT_NEAR(a.factor, std::exp(student(4) * std::sqrt(0.1225 / 4)), 1e-12);
}

// exp(0.3) - 1 = 35 %.
TEST(CollectiveRecord, ASizeThatIsMoreThanAThirdOffRefusesItsKind) {
  const CollectiveRecord record({{"1", kind(), 8, 10, 0.1, 0.3}});
  const CollectiveAssessment a = record.assess(kind(), 8);
  EXPECT_EQ(a.word(), "extrapolated");
  EXPECT_EQ(
      a.beyond.front(),
      "measured sizes of NCCL 2.19 all-reduce from 1 MiB on GPUs of 8.0 over nvlink, one node "
      "are up to 35 % off, expected at most a third");
}

TEST(CollectiveRecord, AGenerationThatNoTableHasIsUnvalidated) {
  const CollectiveAssessment a = record().assess(kind(100), 8);
  EXPECT_EQ(a.word(), "unvalidated");
  EXPECT_EQ(a.beyond.front(),
            "no measured table of NCCL 2.19 all-reduce from 1 MiB on GPUs of 10.0 over nvlink, one "
            "node");
}

// A table of links at 400 Gbit/s is of links at 201 to 799 Gbit/s.
TEST(CollectiveRecord, LinksTwiceAsFastOrSlowAreOthers) {
  CollectiveKind measured = kind();
  measured.rate_gbps = 400;
  const CollectiveRecord record({{"1", measured, 8, 10, 0.1, 0.2}});
  const auto worth_at = [&](double gbps) {
    CollectiveKind other = kind();
    other.rate_gbps = gbps;
    return record.assess(other, 8);
  };
  for (const double same : {201., 400., 799.})
    EXPECT_EQ(worth_at(same).word(), "validated") << same;
  EXPECT_EQ(worth_at(800).word(), "extrapolated");
  EXPECT_EQ(worth_at(200).beyond.front(), "nvlink at 200 Gbit/s, measured at 400");
}

std::string worth(const std::string& config, std::int64_t bytes) {
  const auto document = std::make_shared<Document>(Document{"t.json", Json::parse(config)});
  const Experiment e = read_experiment(document);
  return CollectiveRecord::shipped()
      .assess(collective_kind(document, *e.cluster, e.collective->operation(), bytes),
              e.cluster->workers())
      .word();
}

TEST(CollectiveRecord, TheShippedOneKnowsTheOpenTables) {
  constexpr const char* kHopper = R"({"name": "a", "workload": {"trace": "k80/googlenet"},
    "cluster": {"preset": "dgx-h100"},
    "strategy": {"aggregation": {"type": "all-reduce", "collective": "nccl"}}})";
  EXPECT_EQ(worth(kHopper, 1 << 10), "validated");
  EXPECT_EQ(worth(kHopper, 1 << 25), "validated");
}

// Its estimates and kernels are taken from tables of 2.27 to 2.29.
TEST(CollectiveRecord, AReleaseByTheNumbersOfAnotherIsNotValidated) {
  EXPECT_EQ(worth(R"({"name": "a", "workload": {"trace": "k80/googlenet"},
    "cluster": {"preset": "dgx-h100"}, "strategy": {"aggregation": {"type": "all-reduce",
      "collective": {"type": "nccl", "version": "2.21.5"}}}})",
                  1 << 25),
            "unvalidated");
}

/// Of NCCL's all-reduce of 32 MiB on nodes of eight H100, whose GPUs are said to be others.
std::string worth_by_hoppers_preset(int compute_capability) {
  return worth(fmt::format(R"({{"name": "a", "workload": {{"trace": "k80/googlenet"}},
    "cluster": {{"preset": "dgx-h100", "gpus": {{"compute_capability": {}}}}},
    "strategy": {{"aggregation": {{"type": "all-reduce", "collective": "nccl"}}}}}})",
                           compute_capability),
               1 << 25);
}

TEST(CollectiveRecord, OtherGpusByHoppersPresetAreNotValidated) {
  EXPECT_EQ(worth_by_hoppers_preset(100), "extrapolated");  // half the rate of Blackwell's tables
  EXPECT_EQ(worth_by_hoppers_preset(120), "unvalidated");   // no table of such GPUs
}

TEST(CollectiveRecord, TheFileGivesTheTablesBack) {
  const std::vector<CollectiveTable> tables{{"1", kind(), 2, 10, 0.1, 0.2}};
  const auto read = parse_collective_record(collective_record_text(tables), "c.jsonl");
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].kind, kind());
  EXPECT_EQ(read[0].rms, 0.1);
  EXPECT_EQ(collective_record_text(read), collective_record_text(tables));
}

}  // namespace
}  // namespace steptime
