// What parameter servers do in any run: over random clusters, placements, ways to pull, stragglers
// and both fidelities.
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/simulate.h"
#include "tests/support/drawn_experiments.h"
#include "tests/support/training.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// Links of every kind, so that what is beside a server and what is far from it push at once.
Cluster any_cluster() {
  const auto link = [] {
    return Link{std::chrono::microseconds(*rc::gen::inRange(0, 3000)),
                {1e6 * *rc::gen::inRange(2, 4000)}};
  };
  return {.nodes = *rc::gen::inRange(1, 5),
          .gpus_per_node = *rc::gen::inRange(1, 4),
          .network = link(),
          .intra_node = link()};
}

/// Up to five layers of one small tensor, which one server holds as a whole.
std::shared_ptr<const PreparedWorkload> any_small_layers() {
  Trace trace{.model = "small", .device = "none", .batch = 1};
  const int layers = *rc::gen::inRange(1, 6);
  for (int i = 0; i < layers; ++i) {
    const std::string name = fmt::format("l{}", i);
    trace.layers.push_back({.name = name,
                            .forward = std::chrono::microseconds(*rc::gen::inRange(1, 3000)),
                            .backward = std::chrono::microseconds(*rc::gen::inRange(1, 3000)),
                            .tensors = {{name, *rc::gen::inRange(1, 900'000)}}});
  }
  return std::make_shared<PreparedWorkload>(Workload{.trace = std::move(trace)});
}

Experiment any_synchronous(const Cluster& cluster, const std::string& run) {
  Experiment e{.name = "test", .file = "x.json", .workload = any_small_layers()};
  e.machines = std::make_shared<Cluster>(cluster);
  const auto aggregation =
      fmt::format(R"({{"type": "parameter-server", "servers": {}, "requests": "{}"{}{}}})",
                  *rc::gen::inRange(1, 4),
                  *rc::gen::element<std::string>("push-pull", "pushpull", "early-pull"),
                  *rc::gen::element<std::string>("", R"(, "placement": "with-workers")"),
                  *rc::gen::weightedElement<std::string>(
                      {{3, ""}, {1, R"(, "rate": "1 GB/s", "request_time": "30 us")"}}));
  const auto document = std::make_shared<Document>(Document{
      "x.json", Json{{"name", "test"},
                     {"workload", Json::object()},
                     {"cluster", Json::object()},
                     {"strategy", parse_json(strategy(aggregation, kSgd, "wfbp"), "x.json")},
                     {"run", parse_json(run, "x.json")}}});
  for (const Part part : {Part::kTransport, Part::kCollective, Part::kSchedule, Part::kRun})
    read_part(document, part, e);
  e.execution = &execution_of(e);
  return e;
}

/// A key of a step, as its flows name it: the client stands in the upper half.
struct Meeting {
  std::int64_t pushes = 0;
  Time last_push_in{};
  Time first_answer = Time::max();
};

RC_GTEST_PROP(Servers, NoAnswerLeavesBeforeTheLastPushIsIn, ()) {
  const Cluster cluster = any_cluster();
  const Experiment e = any_synchronous(
      cluster,
      fmt::format(R"({{"fidelity": "{}", "steps": {}{}}})",
                  *rc::gen::element<std::string>("analytic", "message"), *rc::gen::inRange(1, 4),
                  *rc::gen::element<std::string>("", R"(, "variation": {"jitter": 0.3})")));
  Timeline timeline;
  simulate(e, timeline);
  std::map<std::pair<std::string, std::uint64_t>, Meeting> meetings;
  for (const Timeline::Span& span : timeline.spans()) {
    // Spans that overlap on a lane have further ones, which are numbered.
    const std::string lane = timeline.tracks()[span.track].name.substr(0, 4);
    if (lane != "push" && lane != "pull") continue;
    // flow_of(): one more than the number of the client's bucket, below the client.
    Meeting& meeting = meetings[{span.name, (span.details.flow - 1) & 0xffff'ffff}];
    if (lane == "push") {
      ++meeting.pushes;
      meeting.last_push_in = std::max(meeting.last_push_in, span.end);
    } else {
      meeting.first_answer = std::min(meeting.first_answer, span.start);
    }
  }
  RC_ASSERT(!meetings.empty());
  for (const auto& [key, meeting] : meetings) {
    RC_ASSERT(meeting.pushes == cluster.workers());
    RC_ASSERT(meeting.first_answer >= meeting.last_push_in);
  }
}

/// What three steps in a row say: ten more take as long, but for one run in twenty at most, whose
/// mean over these is another one by some per cent.
TEST(Servers, ThreeEqualStepsStayEqual) {
  constexpr int kRuns = 500;
  const std::int64_t seed = seed_of_the_run();
  int played = 0;
  int different = 0;
  double most = 0;
  for (std::uint32_t i = 0; played < kRuns; ++i) {
    ExperimentDraw draw(i, seed);
    Json config = draw.config(i % 2 == 0 ? "parameter-server" : "hybrid");
    Json& aggregation = config["strategy"]["aggregation"];
    if (aggregation["servers"] == 0) continue;
    config["strategy"]["update"] = {{"type", "sgd"}};
    if (aggregation.contains("pull_order")) aggregation["pull_order"] = "forward";
    if (config["strategy"]["schedule"].contains("cycle")) continue;
    config["run"].erase("variation");
    config["run"].erase("steps");
    Json longer = config;
    longer["run"]["steps"] = 13;
    const Result three = simulate(drawn_experiment(config));
    const Result more = simulate(drawn_experiment(longer));
    ++played;
    const double off = std::abs(more.step_time_s / three.step_time_s - 1);
    if (off < 1e-6) continue;
    ++different;
    most = std::max(most, off);
  }
  fmt::print("seed {}: {} of {} runs go on to other lengths, by {:.2g} at most\n", seed, different,
             played, most);
  EXPECT_LE(20 * different, played);
  EXPECT_LE(most, 0.1);
}

}  // namespace
}  // namespace steptime
