// Do the safe embeddings ever deadlock, and is every deadlock of the others found and named?
#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/core/random.h"
#include "sim/mxnet/embedding.h"
#include "tests/support/embedded.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr std::uint32_t kCases = 10'000;

/// Draws of one case; every draw has its own place in the stream.
class Draw {
 public:
  explicit Draw(std::uint32_t number) : number_(number) {}
  std::int64_t upto(std::int64_t most) {
    return static_cast<std::int64_t>(stream_.uniform(number_, next_++, 0) *
                                     static_cast<double>(most + 1));
  }
  bool coin() { return upto(1) == 1; }

 private:
  RandomStream stream_{2018, Purpose::kTest};
  std::uint32_t number_;
  std::uint32_t next_ = 0;
};

Workload random_workload(Draw& draw) {
  std::vector<LayerTimes> times;
  for (std::int64_t layers = 2 + draw.upto(6); layers > 0; --layers)
    times.push_back({draw.upto(5) * kSecond, draw.upto(5) * kSecond});
  Workload workload = layers_of(times);
  for (Layer& layer : workload.trace.layers) {
    if (draw.upto(3) == 0) layer.tensors.clear();
    if (draw.upto(3) == 0) layer.tensors.push_back({layer.name + "b", 1 + draw.upto(3)});
  }
  workload.trace.layers.front().tensors = {{"first", 1}};
  return workload;
}

std::string random_settings(Draw& draw) {
  return fmt::format(
      R"("jitter": {}, "python_call": "{} ms", "wake_up": "{} ms", "copy_latency": "{} ms",
         "bulk": {}, "key_order": "{}", "priority": "{}")",
      0.1 + 0.1 * static_cast<double>(draw.upto(30)), 50 * draw.upto(10), 50 * draw.upto(4),
      50 * draw.upto(10), 1 + draw.upto(4), draw.coin() ? "forward" : "backward",
      draw.coin() ? "key" : "none");
}

struct Pool {
  std::int64_t threads;
  bool is_fifo;
  std::string text() const {
    return fmt::format(R"("threads": {}, "order": "{}", )", threads, is_fifo ? "fifo" : "priority");
  }
};
Pool random_pool(Draw& draw) {
  return {1 + draw.upto(4), draw.coin()};
}

/// Runs the case; "" or the deadlock. That every gradient is reduced once per step, in order, and
/// that every operation ends is checked by the run itself.
std::string run_case(std::uint32_t number, const std::string& type, const std::string& more,
                     Draw& draw) {
  const Workload workload = random_workload(draw);
  const LinearCollective collective = line(draw.upto(3) * kSecond, draw.upto(2) * kSecond);
  const std::int64_t workers = 2 + draw.upto(2);
  try {
    run_embedded(*embedding_of(type, more + random_settings(draw)), workload, collective,
                 {.workers = workers, .latency = kSecond / 10, .steps = 1, .seed = number});
    return "";
  } catch (const ModelFailure& e) {
    return e.what();
  }
}

/// Step time, attribution and fingerprint, or the deadlock.
enum class Way { kClosed, kPlayed, kAlwaysPlayed };
std::string outcome(std::uint32_t number, const std::string& type, Draw& draw, bool one_clock,
                    Way way = Way::kClosed) {
  // Of three runs one has local steps.
  const auto update =
      make<Update>(draw.upto(2) > 0 ? std::string(R"({"type": "sgd"})")
                                    : fmt::format(R"({{"type": "local-sgd", "interval": {}}})",
                                                  1 + draw.upto(2)));
  constexpr Rank kWorkers = 4;
  const Workload workload = random_workload(draw);
  const auto a = draw.upto(3) * kSecond;
  const auto b = draw.upto(2) * kSecond;
  const Ring collective(kWorkers, {a, {to_seconds(b)}});
  Cluster cluster{.nodes = kWorkers};  // a byte takes 0.2 s, adding it up half a second
  cluster.network = cluster.intra_node = {a / 6, {5}};
  cluster.reduction = {to_seconds(b) / 4};
  const std::string pool = type == "funnel" ? "" : random_pool(draw).text();
  std::optional<WithoutFastPaths> messages;
  if (way == Way::kAlwaysPlayed) messages.emplace();
  try {
    const EmbeddedStep step =
        run_embedded(*embedding_of(type, pool + random_settings(draw)), workload, collective,
                     {.workers = kWorkers,
                      .update = update.get(),
                      .latency = kSecond / 10,
                      .steps = 2,
                      .seed = number,
                      .one_clock = one_clock,
                      .played = way == Way::kClosed
                                    ? std::nullopt
                                    : std::optional<EmbeddedRun::Played>({&cluster, &collective})});
    std::string text = fmt::format("{} {} {} {}", step.times.step.count(), step.times.fingerprint,
                                   step.attribution.exposed.count(), step.attribution.idle.count());
    for (const auto& [what, time] : step.attribution.waits)
      text += fmt::format(" {} {}", what, time.count());
    return text;
  } catch (const ModelFailure& e) {
    return e.what();
  }
}

void expect_names(const std::string& message) {
  EXPECT_EQ(message.rfind("deadlock after ", 0), 0u) << message;
  EXPECT_NE(message.find("rank 0"), std::string::npos) << message;
  EXPECT_NE(message.find("MPI_"), std::string::npos) << message;
}

TEST(EmbeddingProperty, FunnelNeverDeadlocks) {
  for (std::uint32_t i = 0; i < kCases; ++i) {
    Draw draw(i);
    ASSERT_EQ(run_case(i, "funnel", "", draw), "") << i;
  }
}

TEST(EmbeddingProperty, DepChaNeverDeadlocks) {
  for (std::uint32_t i = 0; i < kCases; ++i) {
    Draw draw(i);
    const Pool pool = random_pool(draw);
    ASSERT_EQ(run_case(i, "depcha", pool.text(), draw), "") << i;
  }
}

TEST(EmbeddingProperty, ConCumDeadlocksOnlyOutsideItsConditions) {
  std::uint32_t deadlocks = 0;
  for (std::uint32_t i = 0; i < kCases; ++i) {
    Draw draw(i);
    const Pool pool = random_pool(draw);
    const std::int64_t outstanding = 1 + draw.upto(4);
    const std::int64_t communicators = draw.upto(6);  // 0: one per key
    const std::string message = run_case(
        i, "concum",
        fmt::format(R"({} "outstanding": {}, "communicators": {}, "barrier": "{}", )", pool.text(),
                    outstanding, communicators, draw.coin() ? "before" : "after"),
        draw);
    const bool is_distinct = communicators == 0 || communicators >= outstanding;
    const bool is_safe = is_distinct && (pool.threads >= outstanding || pool.is_fifo);
    if (is_safe) {
      ASSERT_EQ(message, "") << i;
    }
    if (message.empty()) continue;
    ++deadlocks;
    expect_names(message);
  }
  EXPECT_GT(deadlocks, 0u);
}

// The slow path is the oracle of the fast one. Times of whole seconds make ties likely; ranks that
// deadlock do so with the same words.
TEST(EmbeddingProperty, RunningAheadChangesNothing) {
  for (std::uint32_t i = 0; i < kCases / 10; ++i) {
    for (const char* type : {"funnel", "depcha", "concum", "naive"}) {
      Draw one(i);
      Draw ahead(i);
      ASSERT_EQ(outcome(i, type, one, true), outcome(i, type, ahead, false)) << type << " " << i;
    }
  }
}

TEST(EmbeddingProperty, RunningAheadChangesNothingWhereMessagesMeet) {
  for (std::uint32_t i = 0; i < kCases / 40; ++i) {
    for (const char* type : {"funnel", "depcha", "concum", "naive"}) {
      Draw one(i);
      Draw ahead(i);
      ASSERT_EQ(outcome(i, type, one, true, Way::kAlwaysPlayed),
                outcome(i, type, ahead, false, Way::kAlwaysPlayed))
          << type << " " << i;
    }
  }
}

// On one communicator no two collectives are in flight together, so that the time of each alone is
// as good as its messages.
TEST(EmbeddingProperty, OneCommunicatorNeedsNoMessages) {
  for (std::uint32_t i = 0; i < kCases / 40; ++i) {
    for (const char* type : {"funnel", "depcha", "naive"}) {
      Draw known(i);
      Draw played(i);
      ASSERT_EQ(outcome(i, type, known, false, Way::kPlayed),
                outcome(i, type, played, false, Way::kAlwaysPlayed))
          << type << " " << i;
    }
  }
}

TEST(EmbeddingProperty, NaiveDeadlocksAreNamed) {
  std::uint32_t deadlocks = 0;
  for (std::uint32_t i = 0; i < kCases; ++i) {
    Draw draw(i);
    const Pool pool = random_pool(draw);
    const std::string message = run_case(i, "naive", pool.text(), draw);
    if (message.empty()) continue;
    ++deadlocks;
    expect_names(message);
  }
  EXPECT_GT(deadlocks, kCases / 10);
}

}  // namespace
}  // namespace steptime
