// Do a domain and an interval follow from published steps as the header says?
#include "sim/experiment/track_record.h"

#include <cmath>
#include <string>
#include <vector>

#include <boost/math/distributions/students_t.hpp>
#include <gtest/gtest.h>

namespace steptime {
namespace {

KindOfStep kind(const std::string& gpu = "Volta") {
  KindOfStep kind{.words = {"PyTorch 2", "measured", gpu, "NCCL 2.5", "tcp",
                            "all-reduce, fixed-buckets", "ResNet", "several"},
                  .rate = 10e9 / 8};
  return kind;
}

RecordRow row(const std::string& id, const std::string& testbed, double log_error,
              const KindOfStep& of = kind()) {
  return {.id = id,
          .testbed = testbed,
          .kind = of,
          .workers = 8,
          .gpus_per_node = 4,
          .samples = 32,
          .latency_us = 20,
          .share = 0.5,
          .error_pct = std::expm1(log_error) * 100,
          .unexplained_pct = std::expm1(log_error) * 100};
}

/// Six of one kind on three testbeds, whose rms logarithmic errors are 0.09, 0.2 and 0.09, and on
/// two of these three of another GPU generation, with a mean error of 0.3 and 0.2 more.
std::vector<RecordRow> rows() {
  return {row("1", "A", 0.09),
          row("2", "A", 0.09),
          row("3", "B", 0.2),
          row("4", "B", 0.2),
          row("5", "C", -0.09),
          row("6", "C", -0.09),
          row("7", "A", 0.39, kind("Pascal")),
          row("8", "B", 0.4, kind("Pascal"))};
}

// A share of 0.1 + max(0.3 / 0.8, 0.2 / 1).
Prediction prediction(const KindOfStep& of = kind()) {
  return {.kind = of,
          .workers = 8,
          .gpus_per_node = 4,
          .samples = 32,
          .latency_s = 20e-6,
          .step_s = 1,
          .compute_s = 0.8,
          .comm_busy_s = 0.3};
}

/// Student's t times the root mean square of testbeds with these mean squares, for as many as they
/// are worth; between whole numbers on a line.
double w0_of(const std::vector<double>& mean_squares) {
  double sum = 0;
  double squared = 0;
  for (const double v : mean_squares) {
    sum += v;
    squared += v * v;
  }
  const double worth = sum * sum / squared;
  const auto t = [](double n) { return boost::math::quantile(boost::math::students_t(n), 0.975); };
  const double below = std::floor(worth);
  const double of_worth = t(below) + (worth - below) * (t(below + 1) - t(below));
  return of_worth * std::sqrt(sum / static_cast<double>(mean_squares.size()));
}

// Three testbeds share everything; 0.2 of one weighs so much that the three are worth
// (0.0562)^2 / (0.0081^2 + 0.04^2 + 0.0081^2) = 1.8.
TEST(TrackRecord, FiveStepsOfTheSameKindValidate) {
  const Assessment a = TrackRecord(rows()).assess(prediction());
  EXPECT_EQ(a.domain.text(), "validated");
  EXPECT_EQ(a.domain.n, 6);
  // exp(0.09) = 1.0942, exp(0.2) = 1.2214, exp(-0.09) = 0.9139: 9.4, 22.1 and 8.6 %, two of each
  EXPECT_EQ(a.domain.typical_pct, 9.4);
  EXPECT_EQ(a.domain.worst_pct, 22.1);
  EXPECT_EQ(a.domain.json(),
            R"({"status":"validated","n":6,"typical_pct":9.4,"worst_pct":22.1,"beyond":[]})");
  const double w = w0_of({0.0081, 0.04, 0.0081});
  EXPECT_NEAR(a.step_s.high, std::exp(w), 1e-9);
  EXPECT_NEAR(a.step_s.low, 0.8 / 1.03, 1e-9);  // exp(-w) = 0.45 lies below what computing takes
}

// Testbeds that err alike are worth their number: t(3) = 3.1824 times 0.1. With one that errs three
// times as much they are worth (0.01 + 0.01 + 0.09)^2 / (0.01^2 + 0.01^2 + 0.09^2) = 1.4578,
// between t(1) = 12.7062 and t(2) = 4.3027.
TEST(TrackRecord, TestbedsAreWorthTheirNumberWhereTheyErrAlike) {
  std::vector<RecordRow> alike;
  std::vector<RecordRow> apart;
  for (const char* testbed : {"A", "B", "C"}) {
    alike.push_back(row(testbed, testbed, 0.1));
    apart.push_back(row(testbed, testbed, std::string(testbed) == "C" ? 0.3 : 0.1));
  }
  EXPECT_NEAR(TrackRecord(alike).assess(prediction()).step_s.high, std::exp(0.31824), 1e-4);
  EXPECT_NEAR(TrackRecord(apart).assess(prediction()).step_s.high,
              std::exp((12.7062 - 0.4578 * 8.4035) * std::sqrt(0.11 / 3)), 1e-2);
}

// Six measured steps that are 9 to 20 % off do not narrow what three of a device's times say, each
// on a testbed of its own and off by 0.5: w0 = t(3) 0.5 = 3.1824 x 0.5.
TEST(TrackRecord, MeasuredStepsTellNothingOfADevicesTimes) {
  std::vector<RecordRow> all = rows();
  KindOfStep tuned = kind();
  tuned[Attribute::kCompute] = "tuned";
  for (const char* testbed : {"A", "B", "C"})
    all.push_back(row(std::string("tuned ") + testbed, testbed, 0.5, tuned));
  Prediction modelled = prediction(tuned);
  modelled.modelled = ModelErrors{.rows = 9, .typical_pct = 5, .worst_pct = 10};
  EXPECT_NEAR(TrackRecord(all).assess(modelled).step_s.high, std::exp(3.1824 * 0.5), 1e-3);
}

// Compute times of a device model are no floor.
TEST(TrackRecord, OnlyMeasuredComputeIsAFloor) {
  Prediction modelled = prediction();
  modelled.modelled = ModelErrors{.rows = 9, .typical_pct = 5, .worst_pct = 10};
  const double w = w0_of({0.0081, 0.04, 0.0081});
  EXPECT_NEAR(TrackRecord(rows()).assess(modelled).step_s.low, std::exp(-w), 1e-9);
}

// Of Pascal there are two steps on two testbeds, which are too few: the GPU is given up, as it is
// the only attribute with a d, and so the last; with the others given up nothing more is found. All
// eight steps are behind w0, some of which have the GPU: no d is added. A: rms of 0.09, 0.09, 0.39;
// B: of 0.2, 0.2, 0.4; C: 0.09.
TEST(TrackRecord, FewerThanThreeTestbedsAskTheirNeighbours) {
  const Assessment a = TrackRecord(rows()).assess(prediction(kind("Pascal")));
  EXPECT_EQ(a.domain.status, Validity::Status::kExtrapolated);
  EXPECT_EQ(a.domain.text(),
            "extrapolated: steps of its kind are typically 48.4 % off, expected at most 10 %; 2 "
            "measured steps of its kind (PyTorch 2, measured compute, Pascal, NCCL 2.5, tcp at 10 "
            "Gbit/s, all-reduce, fixed-buckets, ResNet, several nodes), expected 5");
  // Of two testbeds no bound is told.
  EXPECT_FALSE(a.domain.worst_pct);
  EXPECT_NEAR(a.step_s.high, std::exp(w0_of({0.1683 / 3, 0.24 / 3, 0.0081})), 1e-9);
}

// Kepler is nowhere: d of the GPU, 1.96 sqrt((0.3^2 + 0.2^2) / 2), is added to w0 of all steps.
TEST(TrackRecord, WhatNoneSharesWidens) {
  const Assessment a = TrackRecord(rows()).assess(prediction(kind("Kepler")));
  EXPECT_EQ(a.domain.text(),
            "unvalidated: no measured steps of its kind (PyTorch 2, measured compute, Kepler, NCCL "
            "2.5, tcp at 10 Gbit/s, all-reduce, fixed-buckets, ResNet, several nodes), expected 5; "
            "none of the nearest shares its GPU");
  const double w0 = w0_of({0.1683 / 3, 0.24 / 3, 0.0081});
  const double d = 1.96 * std::sqrt((0.09 + 0.04) / 2);
  EXPECT_NEAR(a.step_s.high, std::exp(std::hypot(w0, d)), 1e-9);
  // A device whose model is off by more, 100 %, adds that instead.
  Prediction modelled = prediction(kind("Kepler"));
  modelled.modelled = ModelErrors{.rows = 9, .typical_pct = 5, .worst_pct = 100};
  EXPECT_NEAR(TrackRecord(rows()).assess(modelled).step_s.high,
              std::exp(std::hypot(w0, std::log(2))), 1e-9);
}

TEST(TrackRecord, ATestbedIsLeftOut) {
  const Assessment a = TrackRecord(rows()).without("C").assess(prediction());
  EXPECT_EQ(a.domain.n, 4);
  EXPECT_EQ(a.domain.status, Validity::Status::kExtrapolated);
}

TEST(TrackRecord, SaysWhatLiesBeyondTheMeasurements) {
  const TrackRecord record(rows());
  Prediction far = prediction();
  far.workers = 17;
  far.gpus_per_node = 5;
  far.samples = 65;
  far.latency_s = 41e-6;
  far.comm_busy_s = 0.56;  // a share of 0.8 > 1.25 x 0.5
  far.beyond = {"a reason of its own"};
  EXPECT_EQ(
      record.assess(far).domain.text(),
      "extrapolated: a reason of its own; 17 workers, measured with 8 at most; 5 GPUs a node, "
      "measured with 4 at most; 65 samples a worker, measured with 32 to 32; a latency of 41 "
      "us, measured with 20 at most; communication has a share of 0.70 in the step, measured "
      "0.40 at most");
  far = prediction();
  far.samples = 15;
  EXPECT_EQ(record.assess(far).domain.text(),
            "extrapolated: 15 samples a worker, measured with 32 to 32");
}

// Of 0.2 s that communication is seen half is saved at twice the rate; 0.3 s of it take 0.3 s more
// at half the rate. The factor stands on both ends.
TEST(TrackRecord, AnIntervalSpansWhatIsKnownOfTheNetwork) {
  const TrackRecord record(rows());
  const Interval plain = record.assess(prediction()).step_s;
  Prediction ranged = prediction();
  ranged.slowest_rate = .5;
  ranged.fastest_rate = 2;
  const auto [fast, slow] = ranged.range_s();
  EXPECT_DOUBLE_EQ(fast, .9);
  EXPECT_DOUBLE_EQ(slow, 1.3);
  const Interval wide = record.assess(ranged).step_s;
  EXPECT_NEAR(wide.high, plain.high * 1.3, 1e-9);
  EXPECT_NEAR(wide.low, .8 / 1.03, 1e-9);
}

// A single worker with servers talks to them, and no step of that kind was measured.
TEST(TrackRecord, OneWorkerWithServersIsNotAlone) {
  Prediction one = prediction();
  one.workers = 1;
  EXPECT_EQ(TrackRecord({}).assess(one).domain.text(), "validated");
  one.has_servers = true;
  EXPECT_EQ(TrackRecord({}).assess(one).domain.status, Validity::Status::kUnvalidated);
}

TEST(TrackRecord, OfOneWorkerTheDevicesErrorsAreAllThatCounts) {
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

TEST(TrackRecord, HandsOutTheRowsOfAKind) {
  const auto found = TrackRecord(rows()).rows_of(kind("Pascal"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].id, "8");
}

}  // namespace
}  // namespace steptime
