#include "sim/core/error.h"
#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// A worker and a server, 8 ms to write a gradient of 4 MB to a stream, 4 ms to copy it, 1 ms for
/// the request; the wire takes 1 ms and 4 ms.
Experiment one_worker(const std::string& transport, const std::string& schedule,
                      const std::string& fidelity = "analytic") {
  return training_experiment(
      fmt::format(R"({{"aggregation": {{"type": "parameter-server", "servers": 1}},
                       "update": {{"type": "sgd"}}, "schedule": {{"type": "{}"}},
                       "transport": {}}})",
                  schedule, transport),
      1, fmt::format(R"({{"fidelity": "{}"}})", fidelity));
}
std::string grpc(const std::string& more) {
  return R"({"type": "grpc", "channel": {"type": "grpc", "stream": "500 MB/s", "copy": "1 GB/s",
             "request": "1 ms")" +
         more + "}}";
}

TEST(Grpc, AMessageIsCopiedWrittenAndRead) {
  for (const char* fidelity : {"analytic", "message"}) {
    // The last gradient is ready at 3 s. Over the bare wire: 5 ms there, an answer and a request of
    // 1 ms each, 5 ms back.
    EXPECT_NEAR(simulate(one_worker(R"({"type": "mpi"})", "wfbp", fidelity)).step_time_s, 3.012,
                1e-12);
    // Push: copied at 4 ms, asked for at 5, on the wire until 10, but in the stream until 13.
    // Answer and request: 15. Pull: on the wire from 16 to 21, in the stream until 24, copied
    // at 28.
    EXPECT_NEAR(simulate(one_worker(grpc(""), "wfbp", fidelity)).step_time_s, 3.028, 1e-12);
  }
}

TEST(Grpc, AStreamFasterThanTheWireIsHidden) {
  // 4 ms to the host, 5 on the wire, 2 for answer and request, 5 back and 4 to the GPU.
  const std::string fast = R"({"type": "grpc", "channel": {"type": "grpc", "stream": "2 GB/s",
                               "copy": "1 GB/s"}})";
  EXPECT_NEAR(simulate(one_worker(fast, "wfbp")).step_time_s, 3.020, 1e-12);
}

TEST(Grpc, AcceleratedHasFasterStreams) {
  // 4 ms / 3.3 in the stream is less than the wire's 4 ms: as above.
  const std::string fast = R"({"type": "grpc-accelerated", "channel": {"type": "grpc-accelerated",
                               "copy": "1 GB/s"}})";
  EXPECT_NEAR(simulate(one_worker(fast, "wfbp")).step_time_s, 3.020, 1e-12);
}

TEST(Grpc, AThreadHasOneMessageAtOnce) {
  // Both gradients are ready at 3 s, and are at the host after 4 and 8 ms. With two threads the
  // second one follows 4 ms behind the first: 28 ms for the first, 32 for the second.
  EXPECT_NEAR(simulate(one_worker(grpc(R"(, "threads": 2)"), "naive")).step_time_s, 3.032, 1e-12);
  // One thread at each end, ms:
  //   client  writes A 5-13, B 14-22, reads A 22-30 and B 35-43
  //   server  reads A 5-13, writes A 16-24, reads B 24-32, writes B 35-43
  // Pull B is copied to the GPU at 47 ms.
  EXPECT_NEAR(simulate(one_worker(grpc(R"(, "threads": 1)"), "naive")).step_time_s, 3.047, 1e-12);
}

TEST(Grpc, ItsTimeIsAttributed) {
  std::vector<SentBucket> buckets;
  const Result result = simulate(one_worker(grpc(""), "wfbp"), &buckets);
  const auto seconds = [&](const char* cause, const char* resource) {
    double sum = 0;
    for (const Cause& c : result.attribution) {
      if (c.cause == cause && c.resource == resource) sum += c.seconds;
    }
    return sum;
  };
  EXPECT_NEAR(seconds("copies between GPU and host", "copy engines"), 8e-3, 1e-12);
  EXPECT_NEAR(seconds("requests", "gRPC threads"), 2e-3, 1e-12);
  EXPECT_NEAR(seconds("streams of tensors", "gRPC threads"), 16e-3, 1e-12);
}

TEST(Grpc, NeedsServers) {
  try {
    training_experiment(R"({"transport": {"type": "grpc"}})", 4);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "x.json: /strategy/transport: its channel carries pushes and pulls, and there are no "
              "servers; expected {\"type\": \"wire\"} under \"channel\", or an aggregation with "
              "servers");
  }
}

}  // namespace
}  // namespace steptime
