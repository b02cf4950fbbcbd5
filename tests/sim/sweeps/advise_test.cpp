// The best of each system for the tiny experiment with a start-up of 10 ms. Of the four ways to cut
// fc.b, fc.w and conv into messages (4 kB, 4 MB, 1 MB; ready at 20, 20 and 42 ms):
//
//   fc.b | fc.w | conv   20 .. 30.004 .. 44.004 .. 55.004
//   fc.b fc.w | conv     20 .. 34.004, 42 .. 53
//   fc.b | fc.w conv     20 .. 30.004, 42 .. 57
//   all in one           42 .. 57.004
#include "sim/sweeps/advise.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kSlowStart =
    R"({"strategy": {"aggregation": {"collective": {"a": "10 ms"}}}})";
constexpr const char* kRing = R"({"cluster": {"network": {"latency": "2 ms"}}, "strategy": {
    "aggregation": {"collective": {"type": "ring", "a": null, "b": null}}}})";

const Advised& of(const Advice& advice, const std::string& system) {
  return *std::find_if(advice.best.begin(), advice.best.end(),
                       [&](const Advised& a) { return a.system == system; });
}

TEST(Advise, FindsTheBestOfAllWaysToCutMessages) {
  const TinyFolder folder;
  const Advice advice = advise(load_document(folder.experiment(kSlowStart), {}));
  EXPECT_NEAR(advice.step_time_s, 0.055004, 1e-9);
  EXPECT_NEAR(of(advice, "any").step_time_s, 0.053, 1e-9);
  EXPECT_EQ(of(advice, "any").paste,
            "merge gradients from the last layer on, so many in a message: 2, 1");
  EXPECT_NEAR(of(advice, "PyTorch DDP").step_time_s, 0.053, 1e-9);
  EXPECT_EQ(of(advice, "PyTorch DDP").paste, "DistributedDataParallel(model, bucket_cap_mb=1)");
  EXPECT_EQ(advice.best.size(), 4U);
  EXPECT_TRUE(std::is_sorted(
      advice.best.begin(), advice.best.end(),
      [](const Advised& a, const Advised& b) { return a.step_time_s < b.step_time_s; }));
}

/// A measured line is no match for formulas, and stays.
TEST(Advise, KeepsAMeasuredCollective) {
  const TinyFolder folder;
  const Advice advice = advise(load_document(folder.experiment(kSlowStart), {}));
  for (const Advised& a : advice.best)
    EXPECT_EQ(a.carried, "linear");
}

/// log2(4) x 2 start-ups of halving and doubling are fewer than 2 (4 - 1), and bytes as many.
TEST(Advise, ChoosesAnotherCollective) {
  const TinyFolder folder;
  const Advice advice = advise(load_document(folder.experiment(kRing), {}));
  EXPECT_NE(of(advice, "any").carried, "ring");
  EXPECT_LT(of(advice, "any").step_time_s, advice.step_time_s);
}

TEST(Advise, WhatItSaysIsWhatItsSettingsGive) {
  const TinyFolder folder;
  for (const char* fidelity : {"analytic", "message"}) {
    const std::string file = folder.experiment(kRing);
    const auto config = load_document(file, {{std::string("/run/fidelity=") + fidelity}});
    for (const Advised& a : advise(config).best) {
      auto changed = std::make_shared<Document>(*config);
      for (const auto& [pointer, value] : a.strategy.items())
        *place_in_experiment(changed->root, pointer) = value;
      EXPECT_EQ(simulate(read_experiment(changed)).step_time_s, a.step_time_s)
          << fidelity << " " << a.system;
    }
  }
}

/// PyTorch cannot run what shortens a ring's 6 start-ups to 4, and Horovod has its coordinator.
TEST(Advise, OffersWhatAFrameworkCanRun) {
  const TinyFolder folder;
  const Advice advice = advise(load_document(folder.experiment(kRing), {}));
  EXPECT_EQ(of(advice, "PyTorch DDP").carried, "ring");
  EXPECT_EQ(of(advice, "Horovod").strategy.at("/strategy/transport").at("type"), "horovod-mpi");
}

/// On a V100 with 80 multiprocessors NCCL's blocks slow kernels down beside its all-reduce; other
/// collectives say nothing of theirs, and get as many.
TEST(Advise, CountsOverlapForAllAlike) {
  const std::string file = (data_dir() / "configs" / "advised.json").string();
  const auto config = std::make_shared<Document>(
      Document{file, parse_json(R"({"name": "v", "workload": {"model": "resnet50", "device": "v100",
          "batch": 32}, "cluster": {"preset": "dgx-1-v100", "nodes": 1}, "strategy": {"aggregation":
          {"type": "all-reduce", "collective": {"type": "nccl"}}}})",
                                file)});
  const Advice advice = advise(config, AdviseOptions{.system = "any", .collective = "ring"});
  EXPECT_GT(of(advice, "any").strategy.at("/workload/overlap").at("blocks"), 0);
}

TEST(Advise, WhatIsHeldIsNotSearched) {
  const TinyFolder folder;
  const auto config = load_document(folder.experiment(kRing), {});
  const Advice advice = advise(config, AdviseOptions{.system = "any", .collective = "ring"});
  ASSERT_EQ(advice.best.size(), 1U);
  EXPECT_EQ(advice.best[0].carried, "ring");
  EXPECT_EQ(advice.tried, 4U);
  EXPECT_EQ(message_of<InputError>([&] { advise(config, AdviseOptions{.system = "Ray"}); }),
            "--system: unknown \"Ray\"; known: any, PyTorch DDP, Horovod, ByteScheduler");
}

/// The tiny trace has float32 gradients: 4 MB, 1 MB and 4 kB take half as long in float16, and
/// only PyTorch and Horovod send them so.
TEST(Advise, OffersGradientsInFewerBytes) {
  const TinyFolder folder;
  const Advice advice = advise(load_document(folder.experiment(kSlowStart), {}));
  ASSERT_EQ(advice.narrower.size(), 2U);
  for (const Advised& a : advice.narrower) {
    EXPECT_LT(a.step_time_s, of(advice, a.system).step_time_s);
    EXPECT_EQ(a.strategy.at("/workload/dtype"), "float16");
  }
}

TEST(Advise, SaysItForPeopleAndForPrograms) {
  const TinyFolder folder;
  const Advice advice = advise(load_document(folder.experiment(kSlowStart), {}));
  EXPECT_TRUE(advice.text().starts_with("tiny: a step takes 55.004 ms; ")) << advice.text();
  EXPECT_NE(advice.text().find("\nPyTorch DDP: DistributedDataParallel(model, bucket_cap_mb=1)\n"),
            std::string::npos);
  EXPECT_NEAR(advice.json()["best"][0]["gain_pct"].get<double>(), (1 - 53 / 55.004) * 100, 1e-6);
  EXPECT_NE(advise(load_document(folder.experiment(), {})).text().find("nothing that was tried"),
            std::string::npos);
}

/// Ten servers' worth of bytes on the links of four nodes: 4 workers x 5.004 MB / 4 servers on
/// 1 GB/s are 5 ms, of which 3 / 4 leave their node. That is less than the exposed time of a ring
/// with latencies of 10 us, so that settings with servers are tried; at a hundredth of the
/// bandwidth they are not where a ring of 4, 2 x 3 / 4 of the bytes, hides part of it.
TEST(Advise, ServersWhoseLinksAloneNeedLongerAreNotTried) {
  const TinyFolder folder;
  const Advice advice =
      advise(load_document(folder.experiment(R"({"cluster": {"nodes": 2, "gpus_per_node": 8,
          "network": {"bandwidth": "0.01 GB/s", "latency": "1 us"},
          "intra_node": {"type": "switch", "latency": "0 s", "bandwidth": "100 GB/s"}},
          "strategy": {"aggregation": {"collective": {"type": "hierarchical", "a": null, "b": null}}}})"),
                           {}));
  ASSERT_EQ(advice.left_out.size(), 2U) << advice.text();
  EXPECT_EQ(advice.left_out[0].carried, "a server on each node");
  EXPECT_NE(advice.text().find("not tried: ByteScheduler, 12 settings through a server on each "
                               "node: the links of servers"),
            std::string::npos);
}

/// Of steps of 1000 h, 3.6e6 s, the twenty that a mean of tensor fusion is of are more than the 4e6
/// s that can be simulated; the one of DDP is not.
TEST(Advise, ASystemOfWhichNothingCanBeSimulatedIsNamed) {
  const TinyFolder folder;
  const std::vector<std::string> sets{"/workload/compute_time=1000 h"};
  const Advice advice = advise(load_document(folder.experiment(kRing), sets));
  EXPECT_EQ(of(advice, "PyTorch DDP").system, "PyTorch DDP");
  for (const Advised& a : advice.best)
    EXPECT_NE(a.system, "Horovod");
  const std::string text = advice.text();
  const auto line = text.find("\nnot tried: Horovod, 60 settings through ring: ");
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_LT(text.find("s that can be simulated\n", line), text.find('\n', line + 1)) << text;
  for (const Untried& left : advice.left_out)
    EXPECT_NE(left.system, "PyTorch DDP");
}

TEST(Advise, AnInterruptedOneIsAnExceptionOrTheBestSoFar) {
  const TinyFolder folder;
  const auto config = load_document(folder.experiment(kRing), {});
  const OnProgress listener = [](double share) {
    if (share > 0.2) throw Interrupted();
  };
  EXPECT_THROW((void)advise(config, listener), Interrupted);
  double fastest = 1;
  const Advice advice = advise(config,
                               {.keeps_partial = true,
                                .on_better =
                                    [&](const Advised& better) {
                                      EXPECT_LT(better.step_time_s, fastest);
                                      fastest = better.step_time_s;
                                    }},
                               listener);
  EXPECT_TRUE(advice.is_partial);
  ASSERT_FALSE(advice.best.empty());
  EXPECT_EQ(advice.best.front().step_time_s, fastest);
  EXPECT_TRUE(advice.text().ends_with("interrupted: the best until then\n"));
}

/// None of its settings is one of a layout's; an empty table would say nothing.
TEST(Advise, ALayoutIsRefused) {
  const std::string file = (data_dir() / "configs/examples/llama2-7b.json").string();
  EXPECT_EQ(message_of<InputError>([&] { advise(load_document(file, {})); }),
            file +
                ": /strategy/layout: advise tries schedules of whole models on every worker, and "
                "a layout sends its gradients by its own rules: expected none");
}

TEST(Advise, ARunThatLearnsIsRefused) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"workload": {"dataset_samples": 640}, "run": {"convergence": {"problem": "bowl",
          "target": 0.9, "epochs": 1}}})");
  const std::string message = message_of<InputError>([&] { advise(load_document(file, {})); });
  EXPECT_NE(message.find(": /run/convergence"), std::string::npos) << message;
}

TEST(Advise, JobsAreRefused) {
  const std::string file = (data_dir() / "configs/examples/two-jobs.json").string();
  EXPECT_EQ(message_of<InputError>([&] { advise(load_document(file, {})); }),
            file + ": /jobs: found several jobs, expected none, as advice is for one training");
}

}  // namespace
}  // namespace steptime
