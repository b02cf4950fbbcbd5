// Links inside nodes that are slower while kernels run, of any experiment of a group that is drawn
// at random (tests/support/drawn_experiments.h), at both fidelities.
#include "tests/support/drawn_experiments.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr int kDraws = 60;  // of each group, at each fidelity
constexpr const char* kGroups[] = {"all-reduce", "parameter-server", "hybrid", "embedding"};

Json beside_kernels(Json config, double factor) {
  config["workload"]["overlap"] = "multiprocessors";
  config["cluster"]["intra_node_beside_kernels"] = factor;
  return config;
}

TEST(KernelLinks, AFactorOfOneChangesNothing) {
  for (const char* group : kGroups) {
    for (const char* fidelity : {"analytic", "message"}) {
      for (std::uint32_t i = 0; i < kDraws; ++i) {
        ExperimentDraw draw(i, seed_of_the_run());
        const Json config = any_of_group(draw, group, fidelity);
        const Result plain = simulate(drawn_experiment(config));
        const Result one = simulate(drawn_experiment(beside_kernels(config, 1)));
        EXPECT_EQ(plain.fingerprint, one.fingerprint) << config.dump();
        EXPECT_EQ(plain.step_time_s, one.step_time_s) << config.dump();
      }
    }
  }
  fmt::print("seed {}\n", seed_of_the_run());
}

/// Ranks that differ as well as ranks that are alike, beside collectives that slow them down.
TEST(KernelLinks, InAnEngineEachTimeHasItsCause) {
  int slowed = 0;
  for (const char* fidelity : {"analytic", "message"}) {
    for (std::uint32_t i = 0; i < kDraws; ++i) {
      ExperimentDraw draw(i, seed_of_the_run());
      const Json config = any_of_group(draw, "embedding", fidelity, [&](Json& drawn) {
        drawn["cluster"]["intra_node_beside_kernels"] = draw.between(1, 3);
        drawn["workload"]["overlap"] = {
            {"type", "factors"}, {"compute", draw.between(1, 3)}, {"collective", 1.25}};
      });
      std::vector<SentBucket> buckets;
      const Result r = simulate(drawn_experiment(config), &buckets);
      double sum = 0;
      bool is_slowed = false;
      for (const Cause& cause : r.attribution) {
        sum += cause.seconds;
        is_slowed |= cause.cause.find("slowed by") != std::string::npos;
        EXPECT_NE(cause.cause, "not explained") << config.dump();
      }
      EXPECT_NEAR(sum, r.step_time_s, 1e-11) << config.dump();
      slowed += is_slowed ? 1 : 0;
    }
  }
  fmt::print("seed {}: {} steps have slowed passes or collectives\n", seed_of_the_run(), slowed);
  EXPECT_GT(slowed, 0);
}

/// Of steps that begin with nothing under way, whose buckets are reduced in the order of their
/// gradients, and whose messages meet no others of the same collective: those of several GPUs meet
/// less at a node's port when some are late, which may be worth more than what that costs.
TEST(KernelLinks, ALargerFactorMakesNoStepShorter) {
  int longer = 0;
  for (const char* fidelity : {"analytic", "message"}) {
    for (std::uint32_t i = 0; i < 4 * kDraws; ++i) {
      ExperimentDraw draw(i, seed_of_the_run());
      const Json config = any_of_group(draw, "all-reduce", fidelity, [&](Json& drawn) {
        drawn["strategy"]["schedule"] = draw.schedule(true);
        drawn["strategy"]["transport"] = {{"type", "mpi"}};
        drawn["cluster"]["gpus_per_node"] = draw.between(2, 4);
        if (draw.one_in(2))
          drawn["cluster"]["nodes"] = 1;
        else
          drawn["strategy"]["aggregation"]["collective"] = {{"type", "ring"}};
      });
      double before = 0;
      double first = 0;
      for (const double factor : {1.0, 1.5, 4.0}) {
        const double step = simulate(drawn_experiment(beside_kernels(config, factor))).step_time_s;
        EXPECT_GE(step, before * (1 - 1e-9) - 1e-11) << factor << ' ' << config.dump();
        before = step;
        if (factor == 1) first = step;
      }
      longer += before > first * (1 + 1e-9) ? 1 : 0;
    }
  }
  fmt::print("seed {}: {} steps are longer\n", seed_of_the_run(), longer);
  EXPECT_GT(longer, 0);
}

}  // namespace
}  // namespace steptime
