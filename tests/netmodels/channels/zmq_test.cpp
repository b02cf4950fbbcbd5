#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// As for gRPC: gradients of 4 MB, the last of which is ready at 3 s, 4 ms to copy one and 8 ms of
/// an I/O thread; the wire takes 1 ms and 4 ms.
double step(const std::string& schedule, int servers, int threads, const std::string& fidelity) {
  return simulate(training_experiment(fmt::format(R"({{"aggregation": {{"type": "parameter-server",
                                                        "servers": {}}},
                                       "schedule": {{"type": "{}"}},
                                       "transport": {{"type": "ps-lite", "channel":
                                         {{"type": "zmq", "copy": "1 GB/s", "rate": "500 MB/s",
                                           "threads": {}}}}}}})",
                                                  servers, schedule, threads),
                                      1, fmt::format(R"({{"fidelity": "{}"}})", fidelity)))
      .step_time_s;
}

TEST(Zmq, AThreadHasAllBytesInHand) {
  for (const char* fidelity : {"analytic", "message"}) {
    // Push: copied at 4 ms, on the wire from then on, but in the thread's hands until 12. Answer
    // and request: 14. Pull: in hand until 22, copied at 26.
    EXPECT_NEAR(step("wfbp", 1, 1, fidelity), 3.026, 1e-12) << fidelity;
  }
}

TEST(Zmq, AConnectionHasOneThread) {
  // Two gradients to one server, ms:
  //   client  writes A 4-12, B 12-20, reads A 20-28 and B 28-36
  //   server  reads A 4-12, B 12-20, writes A 20-28 and B 28-36
  // A is answered at 13, but its request is behind B's push on the socket, at 20. B is answered
  // then and asked for at 22. Pull B is copied at 40 ms. A second thread has no connection.
  for (const int threads : {1, 2})
    EXPECT_NEAR(step("naive", 1, threads, "analytic"), 3.040, 1e-12);
}

/// Two servers, which need two threads: one thread writes both gradients one after the other.
TEST(Zmq, BytePsHasFourThreads) {
  const auto of = [](const char* transport) {
    return simulate(
               training_experiment(
                   fmt::format(R"({{"aggregation": {{"type": "parameter-server", "servers": 2}},
                                         "schedule": {{"type": "naive"}}, "transport": {}}})",
                               transport),
                   1))
        .step_time_s;
  };
  const double four = of(R"({"type": "ps-lite", "channel": {"type": "zmq", "threads": 4,
                             "rate": "500 MB/s"}})");
  EXPECT_EQ(of(R"({"type": "byteps", "channel": {"type": "zmq-byteps", "rate": "500 MB/s"}})"),
            four);
  EXPECT_LT(four, of(R"({"type": "ps-lite", "channel": {"type": "zmq", "rate": "500 MB/s"}})"));
  EXPECT_EQ(of(R"("byteps")"), of(R"({"type": "ps-lite", "channel": "zmq-byteps"})"));
}

}  // namespace
}  // namespace steptime
