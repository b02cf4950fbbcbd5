#include "sim/experiment/summary.h"

#include "tests/support/simulated.h"

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Summary, SaysItInWords) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, R"({"workload": {"dataset_samples": 1000}})");
  Result r = simulate(e);
  r.fingerprint = 0xab;
  r.step_time_interval_s = {0.0431, 0.0505};
  r.domain = {.status = Validity::Status::kValidated, .n = 20, .typical_pct = 3.6, .worst_pct = 9};
  EXPECT_EQ(summary(e, r),
            "tiny: tiny on test, batch 32 per worker, 4 workers\n"
            "\n"
            "  step time            44.000 ms   43.100 to 50.500 on what is known of such runs\n"
            "    forward            15.000 ms\n"
            "    backward           27.000 ms\n"
            "    exposed comm        2.000 ms   of 8.004 ms in 3 messages\n"
            "  throughput          2909.09 /s   samples, all workers\n"
            "  speedup                 3.82 x   of 4: scaling efficiency 95.5 %\n"
            "  epoch                    0.4 s   of 1000 samples\n"
            "  domain               validated   20 measurements, typically 3.6 % off, at most 9 "
            "%\n"
            "  fingerprint   00000000000000ab\n");
  r.domain = {.status = Validity::Status::kExtrapolated, .n = 1, .beyond = {"why", "and why"}};
  r.messages = r.workers = 1;
  const std::string text = summary(e, r);
  EXPECT_NE(text.find("per worker, 1 worker\n"), std::string::npos) << text;
  EXPECT_NE(text.find("in 1 message\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  domain            extrapolated   1 measurement, typically 0 % off\n"
                      "                                   why\n"
                      "                                   and why\n"),
            std::string::npos)
      << text;
  r.domain = {.status = Validity::Status::kUnvalidated, .beyond = {"why"}};
  EXPECT_NE(summary(e, r).find("  domain             unvalidated   why\n"), std::string::npos);
}

TEST(Summary, SaysWhatServersDidAndWhatWasLearnt) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder);
  Result r = simulate(e);
  r.messages = 12;
  r.comm_busy_s = 0.003;
  TrainingOutcome t{.seeds = {1, 2, 3}, .learns = true, .target = 0.93};
  t.servers = 2;
  t.fullest_server = 1.25;
  TrainingTimes times;
  times.staleness = {1, 0, 1};
  times.curve = {{.time_s = 9, .epoch = 2, .score = {.accuracy = 0.96}}};
  // Each reaches the target in a test of its own, and is tested last at 96 %.
  for (const auto& [time_s, epoch] : {std::pair(4., 1.), std::pair(6., 1.5), std::pair(8., 2.)}) {
    t.runs.push_back(times);
    t.runs.back().curve.insert(t.runs.back().curve.begin(),
                               {.time_s = time_s, .epoch = epoch, .score = {.accuracy = 0.93}});
  }
  r.training = std::make_shared<TrainingOutcome>(t);
  const std::string text = summary(e, r);
  const auto says = [&](const std::string& line) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  };
  says("   12 messages\n");
  says("  fullest server          1.25 x   an even share of the bytes on 2 servers\n");
  says("  busiest server        3.000 ms   that its thread works in a step\n");
  says("  staleness                  1.0   updates that an update has not seen, on average\n");
  says("  accuracy                96.0 %   at the end, mean of 3 seeds\n");
  says(
      "  time                     6.0 s   to 93 %, median of 3 seeds, which take 4.0 to 8.0 s; "
      "1.5 epochs of what is learnt\n");
  EXPECT_EQ(text.find("not steady"), std::string::npos);
  t.target = 0.97;
  t.runs.back().unsettled_steps = 64;
  r.training = std::make_shared<TrainingOutcome>(t);
  EXPECT_NE(summary(e, r).find("  time                     never   to 97 %, median of 3 seeds\n"),
            std::string::npos);
  EXPECT_NE(
      summary(e, r).find("    not steady                64   steps came to no steady state: times "
                         "are means over their second half\n"),
      std::string::npos)
      << summary(e, r);
}

TEST(Summary, SaysWhereTheTimeOfAStepGoes) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder);
  Result r = simulate(e);
  // 44 ms. What is less than 0.5 % in all is not told apart behind the third line: 0.2 ms are.
  r.attribution = {{"compute", "", 0.040},
                   {"send", "link", 0.002},
                   {"wait", "host", 0.0018},
                   {"sum", "host", 0.0001},
                   {"other", "host", 0.0001}};
  const std::string text = summary(e, r);
  EXPECT_NE(text.find("  critical path        40.000 ms   90.9 %  compute\n"
                      "                        2.000 ms    4.5 %  send (link)\n"
                      "                        1.800 ms    4.1 %  wait (host)\n"
                      "                        0.200 ms    0.5 %  other causes\n"),
            std::string::npos)
      << text;
}

/// What connects the nodes has no ends.
TEST(Summary, NamesLinksByTheirEnds) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder);
  Result r = simulate(e);
  r.links = {{.from = "network", .to = "network", .bytes = 2'000'000, .busy = 0.5},
             {.from = "gpu0", .to = "gpu1", .kind = "nvlink", .bytes = 1'000'000, .busy = 0.25}};
  const std::string text = summary(e, r);
  EXPECT_NE(text.find("between nodes, 2.000 MB a step\n"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu0 to gpu1 (nvlink), 1.000 MB a step\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace steptime
