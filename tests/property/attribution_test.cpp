// What the step's time is attributed to adds up to it, and no part of it is unexplained: over
// random clusters, aggregations, updates, schedules, variation, streams and both fidelities.
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

struct Setting {
  Cluster cluster;
  std::string strategy;
  std::string run;
};

std::string any_servers() {
  return fmt::format(
      R"("servers": {}, "requests": "{}"{}{})", *rc::gen::inRange(1, 4),
      *rc::gen::element<std::string>("push-pull", "pushpull", "early-pull", "pull-first"),
      *rc::gen::element<std::string>("", R"(, "placement": "with-workers")",
                                     R"(, "placement": "on-gpus")"),
      *rc::gen::element<std::string>(
          "", R"(, "rate": "1 GB/s", "request_time": "30 us", "update_cost": "1 ns")"));
}

/// An aggregation with updates that it can carry out.
std::string any_aggregation(const Cluster& cluster) {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return fmt::format(
          R"("aggregation": {{"type": "all-reduce", "collective": {{"type": "{}"}}}},
             "update": {{"type": "{}"}})",
          *rc::gen::element<std::string>("ring", "hierarchical", "recursive-doubling", "mpi-opt",
                                         "mvapich2-gdr"),
          *rc::gen::element<std::string>("sgd", "local-sgd"));
    case 1:
      return fmt::format(
          R"("aggregation": {{"type": "parameter-server", {}}}, "update": {{"type": "{}"}})",
          any_servers(), *rc::gen::element<std::string>("sgd", "asgd", "esgd"));
    case 2:
      return fmt::format(
          R"("aggregation": {{"type": "hybrid", "clients": {}, {}}}, "update": {{"type": "{}"}})",
          cluster.nodes, any_servers(), *rc::gen::element<std::string>("sgd", "asgd", "esgd"));
    default:
      return fmt::format(
          R"("aggregation": {{"type": "kvstore", "merge": "{}"{}}}, "update": {{"type": "sgd"}})",
          *rc::gen::element<std::string>("device", "local"),
          *rc::gen::element<std::string>(
              "", R"(, "servers": 2, "request_time": "20 us", "client_rate": "2 GB/s")",
              R"(, "issue_time": "100 us", "updater_time": "50 us")"));
  }
}

Setting any_setting() {
  const auto link = [] {
    return Link{std::chrono::microseconds(*rc::gen::inRange(0, 3000)),
                {1e6 * *rc::gen::inRange(2, 400)}};
  };
  Setting s;
  s.cluster = {.nodes = *rc::gen::inRange(1, 4),
               .gpus_per_node = *rc::gen::inRange(1, 4),
               .network = link(),
               .intra_node = link()};
  const auto schedule = *rc::gen::element<std::string>(
      R"({"type": "wfbp"})", R"({"type": "sync-easgd"})", R"({"type": "naive"})",
      R"({"type": "fixed-buckets", "capacity": "5 MB"})",
      R"({"type": "tensor-fusion", "cycle": "7 ms"})",
      R"({"type": "priority", "partition": "1 MB", "credit": "2 MB"})");
  s.strategy =
      fmt::format(R"({{{}, "schedule": {}, "transport": {{"type": "mpi", "streams": {}{}}}}})",
                  any_aggregation(s.cluster), schedule, *rc::gen::inRange(1, 4),
                  *rc::gen::element<std::string>(
                      "", R"(, "channel": {"type": "grpc", "threads": 2, "request": "1 ms"})",
                      R"(, "channel": {"type": "grpc-mpi"})",
                      R"(, "channel": {"type": "grpc-verbs", "control": "1 ms"})",
                      R"(, "channel": {"type": "grpc-gdr", "stream": "50 MB/s"})",
                      R"(, "channel": {"type": "zmq", "rate": "100 MB/s"})",
                      R"(, "channel": {"type": "rdma-van", "completion": "1 ms"})",
                      R"(, "backend": {"type": "host"})",
                      R"(, "coordinator": {"type": "horovod", "handling": "20 us"})",
                      R"(, "coordinator": {"type": "baidu", "handling": "20 us"})"));
  s.run =
      fmt::format(R"({{"fidelity": "{}", "steps": {}{}}})",
                  *rc::gen::element<std::string>("analytic", "message"), *rc::gen::inRange(1, 6),
                  *rc::gen::element<std::string>(
                      "", R"(, "variation": {"spread": 0.1, "jitter": 0.2})",
                      R"(, "variation": {"straggle_chance": 0.3, "straggle_factor": 3})"));
  return s;
}

Experiment experiment(const Setting& s) {
  Experiment e{.name = "test", .file = "x.json", .workload = two_layers()};
  e.machines = std::make_shared<Cluster>(s.cluster);
  const auto document = std::make_shared<Document>(
      Document{"x.json", Json{{"name", "test"},
                              {"workload", Json::object()},
                              {"cluster", Json::object()},
                              {"strategy", parse_json(s.strategy, "x.json")},
                              {"run", parse_json(s.run, "x.json")}}});
  for (const Part part : {Part::kTransport, Part::kCollective, Part::kSchedule, Part::kRun})
    read_part(document, part, e);
  e.execution = &execution_of(e);
  return e;
}

RC_GTEST_PROP(Attribution, AddsUpToTheStepWithoutAHole, ()) {
  const Setting s = any_setting();
  Experiment e;
  try {
    e = experiment(s);
  } catch (const InputError&) {
    RC_DISCARD("not every update and schedule goes with every aggregation");
  }
  std::vector<SentBucket> buckets;
  const Result r = simulate(e, &buckets);
  double sum = 0;
  for (const Cause& cause : r.attribution) {
    RC_ASSERT(cause.cause != "not explained");
    RC_ASSERT(cause.seconds > 0);
    sum += cause.seconds;
  }
  RC_ASSERT(std::abs(sum - r.step_time_s) <= 1e-12 * r.step_time_s);
  // Who keeps causes gets the same times as who does not.
  RC_ASSERT(simulate(e).fingerprint == r.fingerprint);
}

}  // namespace
}  // namespace steptime
