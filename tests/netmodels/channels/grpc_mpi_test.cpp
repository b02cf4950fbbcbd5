#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// A worker and a server; gradients of 4 MB, the last of which is ready at 3 s: 2 ms to encode one,
/// 4 ms to copy it, 1 ms for a loop; the wire takes 1 ms and 4 ms.
Experiment one_worker(const std::string& schedule, const std::string& fidelity = "analytic") {
  return training_experiment(
      fmt::format(R"({{"aggregation": {{"type": "parameter-server", "servers": 1}},
                       "schedule": {{"type": "{}"}}, "transport": {{"type": "grpc-mpi", "channel":
                         {{"type": "grpc-mpi", "encode": "2 GB/s", "copy": "1 GB/s",
                           "loop": "1 ms"}}}}}})",
                  schedule),
      1, fmt::format(R"({{"fidelity": "{}"}})", fidelity));
}

TEST(GrpcMpi, OneThreadDoesAll) {
  for (const char* fidelity : {"analytic", "message"}) {
    std::vector<SentBucket> buckets;
    // Push: 1 + 4 + 2 until 7 ms, on the wire until 12, 1 + 2 until 15. Answer and request: 17.
    // Pull: 1 + 2 until 20, on the wire until 25, 1 + 2 until 28, copied to the GPU at 32.
    const Result result = simulate(one_worker("wfbp", fidelity), &buckets);
    EXPECT_NEAR(result.step_time_s, 3.032, 1e-12) << fidelity;
    double threads = 0;
    for (const Cause& cause : result.attribution) {
      if (cause.resource == "polling threads") threads += cause.seconds;
    }
    EXPECT_NEAR(threads, 16e-3, 1e-12);
  }
}

TEST(GrpcMpi, TensorsQueueForIt) {
  // Gradients A and B are ready at 3 s. ms:
  //   client  sends A 0-7, B 7-14, receives A 25-28, B 33-36
  //   server  receives A 12-15, sends A 17-20, receives B 20-23, sends B 25-28
  // B is on the wire from 28 to 33, and is copied to the GPU at 40 ms.
  EXPECT_NEAR(simulate(one_worker("naive")).step_time_s, 3.040, 1e-12);
}

}  // namespace
}  // namespace steptime
