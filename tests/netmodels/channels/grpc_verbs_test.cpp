#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// As for gRPC: gradients of 4 MB, the last of which is ready at 3 s, 4 ms to copy one; the wire
/// takes 1 ms and 4 ms.
double step(const std::string& transport, const std::string& schedule,
            const std::string& fidelity = "analytic") {
  return simulate(training_experiment(
                      fmt::format(R"({{"aggregation": {{"type": "parameter-server", "servers": 1}},
                                       "schedule": {{"type": "{}"}}, "transport": {}}})",
                                  schedule, transport),
                      1, fmt::format(R"({{"fidelity": "{}"}})", fidelity)))
      .step_time_s;
}

TEST(GrpcVerbs, AControlMessageGoesBeforeATensor) {
  const std::string verbs = R"({"type": "grpc-verbs", "channel": {"type": "grpc-verbs",
                                "copy": "1 GB/s", "control": "6 ms"}})";
  for (const char* fidelity : {"analytic", "message"}) {
    // Push: copied at 4 ms, told at 10, in at 15. Answer and request: 17. Pull: told at 23, in at
    // 28, copied at 32.
    EXPECT_NEAR(step(verbs, "wfbp", fidelity), 3.032, 1e-12) << fidelity;
  }
  // A second gradient is copied at 8 ms; its control messages follow those of the first: push at
  // 16 ms, in at 21, answer and request at 23; the first's pull is told from 17 to 23, its own
  // until 29, in at 34, copied at 38.
  EXPECT_NEAR(step(verbs, "naive"), 3.038, 1e-12);
}

TEST(GrpcGdr, CopiesNothing) {
  // Told at 6 ms, 4 ms in the stream and 5 on the wire: in at 11. Answer and request: 13. Pull:
  // told at 19, in at 24.
  EXPECT_NEAR(step(R"({"type": "grpc-gdr", "channel": {"type": "grpc-gdr", "stream": "1 GB/s",
                       "request": "6 ms"}})",
                   "wfbp"),
              3.024, 1e-12);
}

}  // namespace
}  // namespace steptime
