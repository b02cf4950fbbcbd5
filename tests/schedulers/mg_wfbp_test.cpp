// Algorithm 1 of 004, by hand and against the known answers of mgwfbp_cases.json, which names the
// source of each number.
#include "sim/config/json.h"
#include "sim/core/error.h"
#include "sim/network/cluster.h"
#include "sim/step/schedule.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"
#include "tests/support/messages.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};
constexpr Duration kSecond{1'000'000'000'000};
using Sizes = std::vector<std::int32_t>;

std::unique_ptr<Schedule> schedule_of(const std::string& type) {
  return make<Schedule>(R"({"type": ")" + type + R"("})");
}
Sizes greedy(const std::vector<Gradient>& gradients, const Collective& collective) {
  return schedule_of("mg-wfbp")
      ->plan(workload_of(gradients).units(Granularity::kTensor), collective)
      .sizes;
}

// The running message's startup ends at tau_c + a = 2 + 1 = 3 ms: a gradient that exists at
// 3 ms - 1 ps joins it, one that exists at 3 ms does not.
TEST(MgWfbp, MergesWhatIsReadyBeforeTheStartupIsOver) {
  const LinearCollective collective = line(1 * kMs, {});
  EXPECT_EQ(greedy({{2 * kMs, 1}, {1 * kMs - Duration(1), 1}}, collective), (Sizes{2}));
  EXPECT_EQ(greedy({{2 * kMs, 1}, {1 * kMs, 1}}, collective), (Sizes{1, 1}));
}

// The same windows by a line that the schedule is given, whatever the collective at hand takes.
TEST(MgWfbp, MergesByALineOfItsOwn) {
  const auto own = make<Schedule>(R"({"type": "mg-wfbp", "a": "1 ms", "b": "0 s/B"})");
  const auto sizes = [&](const std::vector<Gradient>& gradients) {
    return own->plan(workload_of(gradients).units(Granularity::kTensor), line({}, kSecond)).sizes;
  };
  EXPECT_EQ(sizes({{2 * kMs, 1}, {1 * kMs - Duration(1), 1}}), (Sizes{2}));
  EXPECT_EQ(sizes({{2 * kMs, 1}, {1 * kMs, 1}}), (Sizes{1, 1}));
  EXPECT_EQ(message_of<InputError>([] { make<Schedule>(R"({"type": "mg-wfbp", "a": "1 ms"})"); }),
            "x.json: /schedule/b: required but missing, as the other of a and b is there");
}

// Condition 15: the merged message starts when its last gradient exists, so the startup window
// moves on: 2 ms, then 2.9 + 1 = 3.9 ms, then 3.8 + 1 = 4.8 ms; the gradient at 4.8 ms is late.
TEST(MgWfbp, AMergedMessageStartsLater) {
  const LinearCollective collective = line(1 * kMs, {});
  const Duration step = 9 * kMs / 10;
  EXPECT_EQ(greedy({{2 * kMs, 1}, {step, 1}, {step, 1}, {1 * kMs, 1}}, collective), (Sizes{3, 1}));
}

// Condition 16: a message waits for the one in front of it. g1 is sent from 1 to 1 + 1 + 5 = 7 ms,
// so the message of g2 starts at 7 ms and its startup ends at 8: g3 at 7.9 ms joins, g4 at 8.9
// - which is max(7, 7.9) + 1 = 8.9 - does not.
TEST(MgWfbp, AMessageWaitsForTheOneInFront) {
  const LinearCollective collective = line(1 * kMs, kMs);
  EXPECT_EQ(greedy({{1 * kMs, 5}, {2 * kMs, 1}, {49 * kMs / 10, 1}, {1 * kMs, 1}}, collective),
            (Sizes{1, 2, 1}));
}

// Without a startup only what waits for the channel anyway is merged: g1 is sent from 1 to 6 ms, g2
// and g3 exist by then. When each exists only as the one in front ends, none is merged.
TEST(MgWfbp, WithoutStartupWhatWaitsIsMerged) {
  EXPECT_EQ(greedy({{1 * kMs, 5}, {{}, 1}, {{}, 1}}, line({}, kMs)), (Sizes{1, 2}));
  EXPECT_EQ(greedy({{1 * kMs, 5}, {5 * kMs, 1}, {1 * kMs, 1}}, line({}, kMs)), (Sizes{1, 1, 1}));
}

TEST(MgWfbp, AStartupLongerThanTheBackwardPassMergesAll) {
  EXPECT_EQ(greedy({{1 * kMs, 5}, {1 * kMs, 1}, {1 * kMs, 1}}, line(10 * kMs, kMs)), (Sizes{3}));
}

TEST(MgWfbp, NothingToSend) {
  EXPECT_TRUE(greedy({}, line(kMs, {})).empty());
}

// The first message, 9e6 s from 0.5e6 s on, ends beyond simulated time (9.2e6 s).
TEST(MgWfbp, MessagesBeyondSimulatedTimeAreAnInputError) {
  const std::vector<Gradient> gradients{{500'000 * kSecond, 9'000'000}, {400'000 * kSecond, 1}};
  const Workload w = workload_of(gradients);
  EXPECT_THROW(plan_of(w, *schedule_of("mg-wfbp"), line({}, kSecond)), InputError);
}

// --- known answers ---

const Json& cases() {
  static const std::string file = STEPTIME_TESTS_DIR "/schedulers/mgwfbp_cases.json";
  static const Json json = parse_json(read_file(file), file);
  return json;
}

/// A case of the file: 1 unit of time is 1 s, and a size of 1 is 10^9 B.
struct Instance {
  explicit Instance(const Json& c)
      : collective({from_seconds(c.at("a").get<double>()), {c.at("b").get<double>() * 1e-9}}) {
    const Json& t_b = c.at("t_b");
    const auto n = t_b.is_array() ? t_b.size() : c.at("L").get<std::size_t>();
    const auto at = [](const Json& v, std::size_t i) {
      return v.is_array() ? v[i].get<double>() : v.get<double>();
    };
    std::vector<Gradient> gradients;
    for (std::size_t i = 0; i < n; ++i) {
      gradients.push_back({from_seconds(at(t_b, i)), std::llround(at(c.at("p"), i) * 1e9)});
    }
    workload = workload_of(gradients);
    units = workload.units(Granularity::kTensor);
  }
  Sizes sizes(const std::string& type) const {
    return schedule_of(type)->plan(units, collective).sizes;
  }
  /// In s from the start of the backward pass; the forward pass takes no time.
  double finish(const std::string& type) const {
    return to_seconds(step_of(workload, *schedule_of(type), collective).step);
  }

  LinearCollective collective;
  Workload workload;
  std::vector<GradientUnit> units;
};

// The published numbers are sums of doubles with 3 decimals in them.
constexpr double kExact = 1e-9;

TEST(MgWfbpKnownAnswers, RandomCases) {
  const Json& list = cases().at("random_cases").at("cases");
  ASSERT_EQ(list.size(), 20U);
  for (const Json& c : list) {
    SCOPED_TRACE(c.dump());
    const Instance instance(c);
    EXPECT_EQ(instance.sizes("mg-wfbp"), c.at("greedy_sizes").get<Sizes>());
    EXPECT_NEAR(instance.finish("mg-wfbp"), c.at("greedy_finish").get<double>(), kExact);
    EXPECT_NEAR(instance.finish("wfbp"), c.at("wfbp").get<double>(), kExact);
    EXPECT_NEAR(instance.finish("sync-easgd"), c.at("single").get<double>(), kExact);
    EXPECT_NEAR(instance.finish("optimal"), c.at("optimal_finish").get<double>(), kExact);
    EXPECT_NEAR(to_seconds(earliest_end(instance.units, instance.collective)),
                c.at("optimal_finish").get<double>(), kExact);
  }
}

// 004's Theorem 1 says that Algorithm 1 is optimal. It is not: by hand for L = 3, a = b = 1,
// t_b = 1, 0.9, 0.9, p = 0.3 each. Ready at 1, 1.9, 2.8; 1.9 < 1 + 1 and 2.8 < 1.9 + 1, so all are
// merged: 2.8 + 1 + 0.9 = 4.7. Parted behind the first one: max(1 + 1.3, 2.8) + 1 + 0.6 = 4.4.
TEST(MgWfbpKnownAnswers, CounterExamples) {
  const Json& list = cases().at("counter_examples").at("cases");
  ASSERT_EQ(list.size(), 4U);
  for (const Json& c : list) {
    SCOPED_TRACE(c.at("name"));
    const Instance instance(c);
    // Sizes are rounded to 1e-9 of a unit.
    const double tolerance = kExact + 1e-9 * static_cast<double>(instance.units.size());
    EXPECT_EQ(instance.sizes("mg-wfbp").size(), c.at("greedy_messages").get<std::size_t>());
    EXPECT_NEAR(instance.finish("mg-wfbp"), c.at("greedy_finish").get<double>(), tolerance);
    EXPECT_EQ(instance.sizes("optimal").size(), c.at("optimal_messages").get<std::size_t>());
    EXPECT_NEAR(instance.finish("optimal"), c.at("optimal_finish").get<double>(), tolerance);
  }
}

TEST(MgWfbpKnownAnswers, FittedLines) {
  int lines = 0;
  for (const Json& table : cases().at("lines")) {
    for (const Json& row : table.at("lines")) {
      SCOPED_TRACE(row.dump());
      const auto alpha = row.at("alpha_s").get<double>();
      const auto beta = row.at("beta_s_per_byte").get<double>();
      const auto collective = make<Collective>(
          fmt::format(R"({{"type": "linear", "a": "{} s", "b": "{} s/B"}})", alpha, beta),
          Cluster{.nodes = row.at("workers").get<std::int64_t>()});
      EXPECT_NEAR(to_seconds(collective->startup()), alpha, 0.5e-12);
      // From the smallest size that was fitted, 8192 values, to VGG-16's largest tensor.
      for (const std::int64_t m : {8192 * 4, 63 * 8192 * 4, 25088 * 4096 * 4}) {
        EXPECT_NEAR(to_seconds(collective->time(Bytes{m})), alpha + beta * static_cast<double>(m),
                    1e-12 + 1e-15);
      }
      ++lines;
    }
  }
  EXPECT_EQ(lines, 4 + 4 + 6 + 6 + 4 + 4 + 4);
}

TEST(MgWfbpKnownAnswers, RingStartup) {
  const Json& ring = cases().at("ring_startup");
  for (const Json& row : ring.at("startup_us")) {
    Cluster cluster{.nodes = row.at("workers").get<std::int64_t>()};
    cluster.network = {parse_quantity<Duration>(ring.at("alpha").get<std::string>()), {1e9}};
    EXPECT_EQ(make<Collective>(R"({"type": "ring"})", cluster)->startup(),
              from_seconds(row.at("a_us").get<double>() * 1e-6));
  }
}

// GoogLeNet on K80 nodes with 10 Gbit Ethernet, N = 2 to 64: the paper's simulation, from the
// authors' measured backward times and padded sizes.
TEST(MgWfbpKnownAnswers, GoogLeNetOnK80) {
  const Json& known = cases().at("googlenet_k80");
  const Workload workload{.trace =
                              read_trace(STEPTIME_TESTS_DIR "/data/googlenet_k80_padded.json")};
  const auto units = workload.units(Granularity::kLayer);
  ASSERT_EQ(units.size(), 64U);
  const double backward = to_seconds(workload.trace.backward()) * 1e6;
  const double forward = to_seconds(workload.trace.forward()) * 1e6;
  EXPECT_NEAR(backward, known.at("backward_us").get<double>(), 1e-6);
  EXPECT_NEAR(forward, backward / 2, 1e-6);

  const Json& list = known.at("cases");
  ASSERT_EQ(list.size(), 6U);
  for (const Json& c : list) {
    const auto workers = c.at("workers").get<std::int64_t>();
    SCOPED_TRACE(workers);
    // The bandwidth is 9 * 2^30 / 8 B/s, less the factor 1.2 that the script puts on beta.
    Cluster cluster{.nodes = workers, .reduction = {2.5e-9}};
    cluster.network = {Duration(45'250'000), Bandwidth{1006632960}};
    const auto collective = make<Collective>(R"({"type": "ring"})", cluster);
    EXPECT_NEAR(to_seconds(collective->startup()) * 1e6, c.at("a_us").get<double>(), 1e-6);
    EXPECT_NEAR(collective->linear()->b.seconds_per_byte * 1e6, c.at("b_us_per_byte").get<double>(),
                1e-13);  // the file's is a difference of times

    const auto step_us = [&](const std::string& type) {
      const auto schedule =
          make<Schedule>(R"({"type": ")" + type + R"(", "granularity": "layer"})");
      return to_seconds(step_of(workload, *schedule, *collective).step) * 1e6;
    };
    // 64 messages, each rounded to 1e-6 us, and the rounding of the file.
    constexpr double kTolerance = 64e-6 + 1e-6;
    EXPECT_NEAR(step_us("naive") - forward, c.at("naive_us").get<double>(), kTolerance);
    EXPECT_NEAR(step_us("wfbp") - forward, c.at("wfbp_us").get<double>(), kTolerance);
    EXPECT_NEAR(step_us("sync-easgd") - forward, c.at("sync_easgd_us").get<double>(), kTolerance);
    EXPECT_NEAR(step_us("mg-wfbp") - forward, c.at("mg_wfbp_us").get<double>(), kTolerance);
    EXPECT_NEAR(step_us("optimal") - forward, c.at("optimal_us").get<double>(), kTolerance);
    EXPECT_EQ(schedule_of("mg-wfbp")->plan(units, *collective).sizes,
              c.at("mg_wfbp_sizes").get<Sizes>());
    for (const auto& [type, speedup] : c.at("speedup").items()) {
      EXPECT_NEAR(static_cast<double>(workers) * (forward + backward) / step_us(type),
                  speedup.get<double>(), 0.5e-3)
          << type;
    }
  }
}

}  // namespace
}  // namespace steptime
