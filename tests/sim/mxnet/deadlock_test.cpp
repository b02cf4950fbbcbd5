// Is the cycle found, and are ranks, tensors and calls named?
#include "sim/mxnet/deadlock.h"

#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/step/coordinator.h"
#include "tests/support/embedded.h"
#include "tests/support/play.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string message_of(const Embedding& embedding, const EmbeddedRun& run) {
  const std::vector<LayerTimes> times(4, {kSecond, kSecond});
  try {
    run_embedded(embedding, layers_of(times), line(2 * kSecond, {}), run);
    return "";
  } catch (const ModelFailure& e) {
    return e.what();
  }
}

TEST(Deadlock, NoneWithoutJitter) {
  const WithoutFastPaths all_ranks;
  EXPECT_EQ(message_of(*embedding_of("naive"), {.workers = 3}), "");
}

/// "seed 3: deadlock ..." of the first seed that ends in one.
std::string first_deadlock(const Embedding& embedding) {
  for (std::int64_t seed = 0; seed < 100; ++seed) {
    const std::string message = message_of(embedding, {.workers = 2, .seed = seed});
    if (!message.empty()) return fmt::format("seed {}: {}", seed, message);
  }
  return "";
}

// Two threads on one communicator, the first layer's gradient first: what there is to choose from
// when a thread comes free depends on the rank.
TEST(Deadlock, NaiveIsNamedExactly) {
  EXPECT_EQ(
      first_deadlock(*embedding_of("naive", R"("jitter": 0.5, "threads": 1)")),
      "seed 0: deadlock after 10.857231515362 s: "
      "collective 3 of communicator 0 is MPI_Allreduce(t2) at rank 0 but MPI_Allreduce(t1) at "
      "rank 1;\nso they wait for each other:\n  "
      "rank 0 in MPI_Allreduce(t2) on communicator 0 waits for rank 1 to join\n  "
      "rank 1's MPI_Allreduce(t2) waits for the thread of MPI_Allreduce(t1)\n  "
      "rank 1 in MPI_Allreduce(t1) on communicator 0 waits for rank 0 to join\n  "
      "rank 0's MPI_Allreduce(t1) waits for the thread of MPI_Allreduce(t2)");
}

// The same under Horovod: in which order ranks call is no matter, and a call holds no thread.
TEST(Deadlock, NaiveUnderHorovodHasNone) {
  const auto embedding = embedding_of("naive", R"("jitter": 0.5, "threads": 1)");
  const auto horovod = make<Coordinator>(R"({"type": "horovod", "cycle": "100 ms"})");
  const Cluster cluster = star_cluster(2);
  for (std::int64_t seed = 0; seed < 100; ++seed) {
    EmbeddedRun run{.workers = 2, .seed = seed};
    run.decided.policy = [&] { return horovod->policy(nullptr, {}, cluster); };
    ASSERT_EQ(message_of(*embedding, run), "") << seed;
  }
}

// Keys on communicators of their own, but one thread for four of them and a priority that is not
// the order of the pushes: each rank's thread runs a call that the other's waits to run.
TEST(Deadlock, ConCumWithTooFewThreads) {
  EXPECT_EQ(
      first_deadlock(*embedding_of(
          "concum", R"("jitter": 0.5, "threads": 1, "outstanding": 4, "key_order": "backward")")),
      "seed 0: deadlock after 10.857231515362 s: ranks wait for each other:\n  "
      "rank 1 in MPI_Allreduce(t1) on communicator 0 waits for rank 0 to join\n  "
      "rank 0's MPI_Allreduce(t1) waits for the thread of MPI_Allreduce(t2)\n  "
      "rank 0 in MPI_Allreduce(t2) on communicator 1 waits for rank 1 to join\n  "
      "rank 1's MPI_Allreduce(t2) waits for the thread of MPI_Allreduce(t1)");
}

}  // namespace
}  // namespace steptime
