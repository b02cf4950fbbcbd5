#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// As for gRPC: gradients of 4 MB, the last of which is ready at 3 s, 4 ms to copy one; the wire
/// takes 1 ms and 4 ms, and a thread 2 ms for a message.
double step(const std::string& schedule, const std::string& fidelity) {
  return simulate(training_experiment(
                      fmt::format(R"({{"aggregation": {{"type": "parameter-server", "servers": 1}},
                                       "schedule": {{"type": "{}"}},
                                       "transport": {{"type": "ps-lite-rdma", "channel":
                                         {{"type": "rdma-van", "copy": "1 GB/s",
                                           "completion": "2 ms"}}}}}})",
                                  schedule),
                      1, fmt::format(R"({{"fidelity": "{}"}})", fidelity)))
      .step_time_s;
}

TEST(RdmaVan, AThreadSeesWhatIsOver) {
  for (const char* fidelity : {"analytic", "message"}) {
    // Push: copied at 4 ms, in at 9, seen at 11. Answer and request: 13. Pull: in at 18, seen at
    // 20, copied at 24.
    EXPECT_NEAR(step("wfbp", fidelity), 3.024, 1e-12) << fidelity;
  }
  // A second gradient is 4 ms behind the first wherever both go: on the copy engines and the wire.
  EXPECT_NEAR(step("naive", "analytic"), 3.028, 1e-12);
}

}  // namespace
}  // namespace steptime
