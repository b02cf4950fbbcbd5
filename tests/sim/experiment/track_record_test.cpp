// Do a domain and an interval follow from published steps as the header says?
#include "sim/experiment/track_record.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const PredictionKind kKind{"all-reduce", "wire", "up to 10 Gbit/s"};

// e = 0.1 and 0.1 on one testbed, 1 - 1 / 0.8 = -0.25 on the other; e / c = 0.2, 0.2, -0.5.
std::vector<RecordRow> rows() {
  return {{.id = "1", .testbed = "A", .kind = kKind, .workers = 8, .share = 0.5, .error_pct = 10},
          {.id = "2", .testbed = "A", .kind = kKind, .workers = 16, .share = 0.5, .error_pct = 10},
          {.id = "3", .testbed = "B", .kind = kKind, .workers = 4, .share = 0.5, .error_pct = -20}};
}

// c = 0.1 + max(0.4 / 0.8, 0.2 / 1) = 0.6.
Prediction prediction(const PredictionKind& kind = kKind) {
  return {.kind = std::make_shared<PredictionKind>(kind),
          .workers = 16,
          .step_s = 1,
          .compute_s = 0.8,
          .comm_busy_s = 0.4};
}

TEST(TrackRecord, ErrorsGrowWithTheShareOfCommunication) {
  const Assessment a = TrackRecord(rows()).assess(prediction());
  EXPECT_EQ(a.domain.text(), "validated");
  EXPECT_EQ(a.domain.n, 3);
  EXPECT_EQ(a.domain.typical_pct, 10);
  EXPECT_EQ(a.domain.worst_pct, 20);
  EXPECT_EQ(a.domain.json(),
            R"({"status":"validated","n":3,"typical_pct":10,"worst_pct":20,"beyond":[]})");
  EXPECT_DOUBLE_EQ(a.step_s.high, 1.03 * (1 + 0.2 * 0.6));
  EXPECT_DOUBLE_EQ(a.step_s.low, 0.8 / 1.03);  // 1 / (1 + 0.5 x 0.6) would be less than the compute
}

/// Of 0.2 s that communication takes beyond compute half is saved at twice the rate, never compute;
/// 0.4 s of it take 0.4 s more at half the rate.
TEST(TrackRecord, AnIntervalSpansWhatIsKnownOfTheNetwork) {
  const TrackRecord record(rows());
  const Interval plain = record.assess(prediction()).step_s;
  Prediction ranged = prediction();
  ranged.slowest_rate = .5;
  ranged.fastest_rate = 2;
  const Interval wide = record.assess(ranged).step_s;
  EXPECT_DOUBLE_EQ(wide.low, std::max(plain.low - .1, .8 / 1.03));
  EXPECT_DOUBLE_EQ(wide.high, plain.high + .4);
}

TEST(TrackRecord, AnotherNetworkWidensAndAnotherSystemWidensMore) {
  const TrackRecord record(rows());
  const Assessment network = record.assess(prediction({"all-reduce", "wire", "one node"}));
  EXPECT_EQ(network.domain.text(), "unvalidated: no measurement of all-reduce over wire, one node");
  EXPECT_DOUBLE_EQ(network.step_s.high, 1.03 * (1 + 1.5 * 0.2 * 0.6));
  const Assessment system = record.assess(prediction({"hybrid", "grpc", "up to 10 Gbit/s"}));
  EXPECT_EQ(system.domain.status, Validity::Status::kUnvalidated);
  EXPECT_DOUBLE_EQ(system.step_s.high, 1.03 * (1 + 2 * 0.2 * 0.6));
}

TEST(TrackRecord, SaysWhatLiesBeyondTheMeasurements) {
  const TrackRecord record(rows());
  Prediction far = prediction();
  far.workers = 33;        // more than twice 16
  far.comm_busy_s = 0.56;  // c = 0.8 > 1.25 x 0.5
  far.beyond = {"a reason of its own"};
  EXPECT_EQ(record.assess(far).domain.text(),
            "extrapolated: a reason of its own; 33 workers, measured with 16 at most; "
            "communication has a share of 0.70 in the step, measured 0.40 at most");
}

TEST(TrackRecord, OneTestbedDoesNotValidate) {
  const Assessment a = TrackRecord(rows()).assess_without("B", prediction());
  EXPECT_EQ(a.domain.text(),
            "extrapolated: 2 measurements of all-reduce over wire, up to 10 Gbit/s, on 1 testbed; "
            "expected 3 on 2");
  // Fewer than three rows of any kind are left: nothing is known but the floor.
  EXPECT_DOUBLE_EQ(a.step_s.high, 1.03);
}

TEST(TrackRecord, ModelledComputeTimesAddTheirWorstError) {
  Prediction one = prediction();
  one.workers = 1;
  EXPECT_EQ(TrackRecord({}).assess(one).domain.text(), "validated");
  one.modelled = ModelErrors{.rows = 2, .typical_pct = 5, .worst_pct = 10};
  const Assessment a = TrackRecord({}).assess(one);
  EXPECT_EQ(a.domain.text(),
            "unvalidated: 2 measurements stand behind the device's times, expected at least 5");
  EXPECT_EQ(a.domain.n, 2);
  // With fewer rows than five the worst of any device stands in, 62 %.
  EXPECT_DOUBLE_EQ(a.step_s.low, 1 / (1.03 * 1.62));
  EXPECT_DOUBLE_EQ(a.step_s.high, 1.03 * 1.62);
  one.modelled = ModelErrors{.rows = 9, .typical_pct = 12.5, .worst_pct = 30};
  EXPECT_EQ(TrackRecord({}).assess(one).domain.text(),
            "unvalidated: the device's times are typically 12.5 % off, expected at most 10 %");
  one.modelled->typical_pct = 10;
  EXPECT_EQ(TrackRecord({}).assess(one).domain.text(), "validated");
}

TEST(TrackRecord, NetworksOfOneClassHaveAboutTheSameLineRate) {
  EXPECT_EQ(network_class(1, 1e9), "one node");
  EXPECT_EQ(network_class(2, 0.1e9), "up to 1 Gbit/s");
  EXPECT_EQ(network_class(2, 1.3e9), "up to 10 Gbit/s");  // 10.4 Gbit/s
  EXPECT_EQ(network_class(2, 3.125e9), "up to 40 Gbit/s");
  EXPECT_EQ(network_class(2, 12.5e9), "up to 100 Gbit/s");
  EXPECT_EQ(network_class(2, 50e9), "up to 400 Gbit/s");
  EXPECT_EQ(network_class(2, 100e9), "more than 400 Gbit/s");
}

TEST(TrackRecord, HandsOutTheRowsOfAKind) {
  std::vector<RecordRow> all = rows();
  all[1].kind.network = "one node";
  const auto found = TrackRecord(all).rows_of(kKind);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].id, "3");
}

TEST(TrackRecord, TheFileGivesTheRowsBack) {
  const auto read = parse_record(record_text(rows()), "r.jsonl");
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(record_text(read), record_text(rows()));
  EXPECT_EQ(read[2].testbed, "B");
  EXPECT_EQ(read[2].error_pct, -20);
  EXPECT_EQ(message_of<InputError>([] { parse_record("{\"id\": 1}\n", "r.jsonl"); }),
            "r.jsonl:1: /id: expected a string, got 1");
}

}  // namespace
}  // namespace steptime
