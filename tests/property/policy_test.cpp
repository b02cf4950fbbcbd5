// Schedules that decide while the step runs, against those whose plan stands before it: where they
// decide the same, the played step equals the recurrence to the picosecond.
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/simulate.h"
#include "tests/support/generators.h"
#include "tests/support/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// A workload on two workers whose all-reduce costs a whole number of picoseconds: a + b M.
struct Question {
  std::shared_ptr<const PreparedWorkload> workload;
  std::int64_t startup_us = 0;
  std::int64_t ns_per_byte = 1;

  Experiment experiment(const std::string& schedule, const std::string& transport,
                        std::int64_t nodes = 2, double jitter = 0) const {
    return experiment(Json{{"type", "all-reduce"},
                           {"collective", Json{{"type", "linear"},
                                               {"a", fmt::format("{} us", startup_us)},
                                               {"b", fmt::format("{} ns/B", ns_per_byte)}}}},
                      {.nodes = nodes, .gpus_per_node = 1}, schedule, transport, jitter);
  }
  Experiment experiment(const Json& aggregation, const Cluster& cluster,
                        const std::string& schedule, const std::string& transport,
                        double jitter) const {
    Experiment e{.name = "test", .file = "x.json", .workload = workload};
    e.machines = std::make_shared<Cluster>(cluster);
    const auto document = std::make_shared<Document>(Document{
        "x.json", Json{{"name", "test"},
                       {"workload", Json::object()},
                       {"cluster", Json::object()},
                       {"strategy", Json{{"aggregation", aggregation},
                                         {"schedule", parse_json(schedule, "x.json")},
                                         {"transport", parse_json(transport, "x.json")}}},
                       {"run",
                        jitter < 0 ? Json::object()  // as many steps as the schedule asks for
                                   : Json{{"steps", jitter > 0 ? 3 : 1},
                                          {"variation", Json{{"jitter", jitter}}}}}}});
    for (const Part part : {Part::kTransport, Part::kCollective, Part::kSchedule, Part::kRun})
      read_part(document, part, e);
    e.execution = &execution_of(e);
    return e;
  }
  Duration step(const std::string& schedule,
                const std::string& transport = R"({"type": "mpi"})") const {
    return from_seconds(simulate(experiment(schedule, transport)).step_time_s);
  }
};

Question any_question(std::int64_t most_startup_us) {
  const auto prepared = std::make_shared<PreparedWorkload>(*any_workload(12));
  RC_PRE(prepared->passes.forward + prepared->passes.backward > Duration{});
  return {prepared, *rc::gen::inRange<std::int64_t>(0, most_startup_us + 1),
          *rc::gen::inRange<std::int64_t>(1, 1000)};
}

constexpr const char* kNoFusion =
    R"({"type": "tensor-fusion", "threshold": "0 B", "cycle": "0 s"})";

RC_GTEST_PROP(Policy, FusionOfNothingInNoTimeIsWfbp, ()) {
  const Question q = any_question(2000);
  RC_ASSERT(q.step(kNoFusion) == q.step(R"({"type": "wfbp"})"));
}

/// Links without latency make the negotiation free.
RC_GTEST_PROP(Policy, FreeCoordinatorsThatFuseNothingAreWfbp, ()) {
  const Question q = any_question(2000);
  const Duration wfbp = q.step(R"({"type": "wfbp"})");
  RC_ASSERT(q.step(kNoFusion, R"({"type": "horovod-mpi", "coordinator":
                                  {"type": "horovod", "cycle": "0 s", "handling": "0 s"}})") ==
            wfbp);
  RC_ASSERT(q.step(R"({"type": "wfbp"})", R"({"type": "baidu", "coordinator":
                      {"type": "baidu", "tick": "0 s", "handling": "0 s"}})") == wfbp);
}

RC_GTEST_PROP(Policy, CoordinatorsThatFuseNothingReduceGradientsOneByOneInTheirOrder, ()) {
  const Question q = any_question(2000);
  const std::string cycle = fmt::format("{} us", *rc::gen::inRange(0, 20'000));
  const std::string transport =
      *rc::gen::element(R"({"type": "horovod-mpi", "coordinator": {"type": "horovod", "cycle": ")",
                        R"({"type": "baidu", "coordinator": {"type": "baidu", "tick": ")") +
      cycle + "\"}}";
  std::vector<SentBucket> sent;
  simulate(q.experiment(kNoFusion, transport), &sent);
  std::vector<std::string> order;
  for (const SentBucket& bucket : sent) {
    RC_ASSERT(bucket.tensors.size() == 1U);
    order.push_back(bucket.tensors.front());
  }
  std::vector<std::string> ready;
  for (const GradientUnit& unit : q.workload->by_tensor)
    ready.push_back(unit.name);
  RC_ASSERT(order == ready);
}

/// What one worker computes in so many steps, it computes beside others, too.
RC_GTEST_PROP(Policy, NoTransportMakesWorkersFasterThanOneAlone, ()) {
  const Question q = any_question(2000);
  const auto step = [&](const std::string& transport, std::int64_t nodes) {
    return simulate(q.experiment(R"({"type": "wfbp"})", transport, nodes, 0.1)).step_time_s;
  };
  for (const char* transport :
       {R"({"type": "mpi"})", R"({"type": "horovod-mpi"})", R"({"type": "baidu"})"}) {
    RC_ASSERT(step(transport, *rc::gen::inRange(2, 9)) >= step(R"({"type": "mpi"})", 1) - 1e-12);
  }
}

RC_GTEST_PROP(Policy, NoChannelMakesWorkersFasterThanOneAlone, ()) {
  const Question q = any_question(2000);
  const double alone =
      simulate(q.experiment(R"({"type": "wfbp"})", R"({"type": "mpi"})", 1)).step_time_s;
  Cluster cluster{.nodes = *rc::gen::inRange(2, 6), .gpus_per_node = *rc::gen::inRange(1, 3)};
  cluster.network = cluster.intra_node = {std::chrono::microseconds(*rc::gen::inRange(0, 100)),
                                          {1e6 * *rc::gen::inRange(10, 10'000)}};
  for (const char* transport :
       {R"({"type": "mpi"})", R"({"type": "grpc"})", R"({"type": "grpc-accelerated"})",
        R"({"type": "grpc-mpi"})", R"({"type": "grpc-verbs"})", R"({"type": "grpc-gdr"})",
        R"({"type": "ps-lite"})", R"({"type": "ps-lite-rdma"})"}) {
    const Json servers{{"type", "parameter-server"},
                       {"servers", *rc::gen::inRange(1, 5)},
                       {"requests", *rc::gen::element<std::string>("push-pull", "pushpull",
                                                                   "early-pull", "next-step")}};
    const auto played = [&](double jitter) {
      return simulate(q.experiment(servers, cluster, R"({"type": "wfbp"})", transport, jitter));
    };
    RC_ASSERT(played(0).step_time_s >= alone - 1e-12);
    // With servers the first two steps are not reported: speeds are those of other steps than
    // alone.
    const Result varied = played(0.1);
    RC_ASSERT(varied.step_time_s >= varied.compute_time_s - 1e-12);
  }
}

/// With one seed workers are as fast, whatever is scheduled: what is compared meets the same
/// perturbation. Where layers wait for their own gradients, the first two steps are not reported.
RC_GTEST_PROP(Policy, WorkersVaryAlikeWhateverIsScheduled, ()) {
  const Question q = any_question(2000);
  const double jitter = *rc::gen::inRange(1, 50) * 0.01;
  const auto computed = [&](const std::string& schedule) {
    return simulate(q.experiment(schedule, R"({"type": "mpi"})", 3, jitter)).compute_time_s;
  };
  const double wfbp = computed(R"("wfbp")");
  for (const char* schedule :
       {R"("naive")", R"("sync-easgd")", R"("mg-wfbp")", R"("optimal")", R"("fixed-buckets")",
        R"({"type": "priority", "partition": "1 KiB", "credit": "4 KiB", "waits": "step"})",
        kNoFusion})
    RC_ASSERT(computed(schedule) == wfbp);
}

/// One gradient, ready T after its step began; cycles of C; an all-reduce of c. A cycle that finds
/// nothing is followed by one C later; one that sends ends with its all-reduce, and the next one
/// begins then, or C after its own begin. Each step finds the cycle at another phase: its time is
/// the mean over the 20 steps that a schedule with cycles asks for, T + c at least and less than T
/// + C + c.
RC_GTEST_PROP(Policy, StepsAreAveragedOverThePhaseOfTheCycle, ()) {
  const std::int64_t compute = *rc::gen::inRange<std::int64_t>(1, 30'000);  // us
  const std::int64_t cycle = *rc::gen::inRange<std::int64_t>(1, 10'000);
  const std::int64_t startup = *rc::gen::inRange<std::int64_t>(0, 5'000);
  const auto prepared = std::make_shared<PreparedWorkload>(
      Workload{.trace = {.model = "m",
                         .device = "d",
                         .batch = 1,
                         .layers = {{.name = "l",
                                     .backward = from_seconds(static_cast<double>(compute) * 1e-6),
                                     .tensors = {{"w", 250}}}}},
               .bytes_per_param = 4});
  const Question q{prepared, startup, 1};  // 1000 B: 1 us more
  const std::int64_t reduce = startup + 1;
  std::int64_t begin = 0;  // of the next cycle
  std::int64_t end = 0;    // of the step before
  constexpr std::int64_t kSteps = 20;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const std::int64_t ready = end + compute;
    if (ready > begin) begin += (ready - begin + cycle - 1) / cycle * cycle;
    end = begin + reduce;
    begin = std::max(end, begin + cycle);
  }
  const std::string schedule =
      fmt::format(R"({{"type": "tensor-fusion", "cycle": "{} us"}})", cycle);
  const double mean = simulate(q.experiment(schedule, R"({"type": "mpi"})", 2, -1)).step_time_s;
  RC_ASSERT(std::abs(mean - static_cast<double>(end) * 1e-6 / kSteps) < 1e-12);
  RC_ASSERT(mean >= static_cast<double>(compute + reduce) * 1e-6 - 1e-12);
  RC_ASSERT(mean < static_cast<double>(compute + reduce + cycle) * 1e-6);
}

RC_GTEST_PROP(Policy, PriorityWithCreditForAllIsWfbp, ()) {
  const Question q = any_question(2000);
  RC_ASSERT(q.step(R"({"type": "priority", "partition": "9000 TB", "credit": "9000 TB",
                       "waits": "step"})") == q.step(R"({"type": "wfbp"})"));
}

/// Without start-ups the channel is busy whenever something is ready, whatever the order and the
/// parts, so that it is through at the same time.
RC_GTEST_PROP(Policy, PriorityIsNeverLaterThanWfbpWithoutStartUps, ()) {
  const Question q = any_question(0);
  const std::int64_t partition = 8 * *rc::gen::inRange<std::int64_t>(100, 20'000);
  const std::int64_t credit = *rc::gen::inRange<std::int64_t>(1, 40000);
  for (const char* waits : {"step", "layer"}) {
    const Duration step =
        q.step(fmt::format(R"({{"type": "priority", "partition": "{} B", "credit": "{} B",
                               "waits": "{}"}})",
                           partition, credit, waits));
    RC_ASSERT(step <= q.step(R"({"type": "wfbp"})"));
  }
}

}  // namespace
}  // namespace steptime
