// One key of 24 MB that a kvstore of one node adds up and gives back, by hand: cold, from the start
// of the first step to the last weights, and steady, from the last weights of a step to those of
// the next. Each case is played as an aggregation at both fidelities, and by the Module API with
// free calls.
//
// The step computes 2 us. A star: each GPU has links of 1 GB/s each way to all others, without
// latency, and two copy threads; the key is merged on GPU 0 and takes 24 ms on an idle link.
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/tiny_experiment.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kOneKey = R"({
  "format": "steptime-trace", "version": 1, "model": "one_key", "device": "test", "batch": 8,
  "provenance": {"source": "made up", "date": "2026-11-23", "licence": "none"},
  "layers": [{"name": "l0", "forward_s": 1e-6, "backward_s": 1e-6,
              "tensors": [{"name": "w0", "params": 6000000}]}]})";

constexpr const char* kModule = R"({"type": "module", "python_call": "0 s", "engine_push": "0 s",
                                    "wake_up": "0 s", "gpu_operation": "0 s"})";

struct Steps {
  double cold_ms = 0;
  double steady_ms = 0;
};

Steps play(const std::string& cluster, const std::string& merge, const std::string& embedding,
           const std::string& fidelity) {
  const TinyFolder folder;
  folder.write("trace.json", kOneKey);
  const Json config{
      {"name", "one_key"},
      {"workload", {{"trace", "trace.json"}}},
      {"cluster", Json::parse(cluster)},
      {"strategy",
       {{"aggregation", {{"type", "kvstore"}, {"merge", merge}, {"priority", "first-key"}}},
        {"schedule", "wfbp"},
        {"embedding", Json::parse(embedding)}}},
      {"run", {{"fidelity", fidelity}}}};
  const Experiment e = read_experiment(load_document(folder.write("x.json", config.dump()), {}));
  const Result result = simulate(e);
  return {*result.cold_step_time_s * 1e3, result.step_time_s * 1e3};
}

void expect_steps(const std::string& cluster, const std::string& merge, Steps expected,
                  double tolerance_ms) {
  for (const char* embedding : {R"({"type": "async"})", kModule}) {
    for (const char* fidelity : {"analytic", "message"}) {
      const Steps played = play(cluster, merge, embedding, fidelity);
      EXPECT_NEAR(played.cold_ms, expected.cold_ms, tolerance_ms) << embedding << fidelity;
      EXPECT_NEAR(played.steady_ms, expected.steady_ms, tolerance_ms) << embedding << fidelity;
    }
  }
}

std::string star(std::int64_t gpus, const std::string& reduction) {
  return fmt::format(
      R"({{"nodes": 1, "gpus_per_node": {}, "reduction": "{}",
           "network": {{"type": "switch", "latency": "0 s", "bandwidth": "1 GB/s"}},
           "intra_node": {{"type": "switch", "latency": "0 s", "bandwidth": "1 GB/s"}}}})",
      gpus, reduction);
}

// Cold: N - 1 copies come in through GPU 0's port, one after another or side by side, and as many
// go out: 2 (N - 1) 24. Steady: two destinations at a time share the port out, so that the first
// pair has its weights after 48 and sends at once; from there on the port in is never idle:
// 48 + (N - 1) 24. With two GPUs there is no pair: 24 each way.
TEST(KvstoreHandCases, WithoutSums) {
  expect_steps(star(2, "0 ns/B"), "device", {48.002, 48.002}, 1e-6);
  expect_steps(star(4, "0 ns/B"), "device", {144.002, 120.002}, 1e-6);
  expect_steps(star(5, "0 ns/B"), "device", {192.002, 144.002}, 1e-6);
  expect_steps(star(8, "0 ns/B"), "device", {336.002, 216.002}, 1e-6);
}

// 0.3 ns/B for an addition's three accesses: an access of the array takes 2.4 ms. A sum takes 3, 5,
// 14 and 23 accesses: N + 1 up to four arrays, then 3 (N - 1) + 2.
//
// Cold: the sum more than without, 7.2, 12, 33.6 and 55.2; GPU 0's own copy, 4.8, goes beside the
// others' both times. Steady, N > 2: while it holds one of GPU 0's two copy threads, destination 1
// has the port for itself, 4.8 ms, and shares it from then on: it has its weights
// 4.8 + 2 (24 - 4.8) = 43.2 after the sum, and from then on the port in is never idle:
// sum + 43.2 + (N - 1) 24.
TEST(KvstoreHandCases, WithSums) {
  expect_steps(star(2, "0.3 ns/B"), "device", {55.202, 55.202}, 1e-6);
  expect_steps(star(4, "0.3 ns/B"), "device", {156.002, 12 + 43.2 + 72 + 0.002}, 1e-6);
  expect_steps(star(5, "0.3 ns/B"), "device", {225.602, 33.6 + 43.2 + 96 + 0.002}, 1e-6);
  expect_steps(star(8, "0.3 ns/B"), "device", {391.202, 55.2 + 43.2 + 168 + 0.002}, 1e-6);
}

/// Keys of so many MB, the last of which is pushed first, on two nodes of two GPUs with 1 GB/s on
/// every link, and one server on a machine of its own.
Steps play_two_nodes(const std::vector<std::int64_t>& keys, const std::string& merge,
                     const std::string& transport, const std::string& fidelity,
                     const std::string& ports, const std::string& embedding = R"("async")") {
  const TinyFolder folder;
  Json trace = Json::parse(kOneKey);
  Json tensors = Json::array();
  for (const std::int64_t mb : keys)
    tensors.push_back({{"name", fmt::format("w{}", tensors.size())}, {"params", mb * 250'000}});
  trace["layers"][0]["tensors"] = tensors;
  folder.write("trace.json", trace.dump());
  const Json link{{"type", "switch"}, {"latency", "0 s"}, {"bandwidth", "1 GB/s"}};
  const Json config{
      {"name", "keys"},
      {"workload", {{"trace", "trace.json"}}},
      {"cluster",
       {{"nodes", 2},
        {"gpus_per_node", 2},
        {"network", link},
        {"intra_node", link},
        {"messages", {{"ports", ports}}}}},
      {"strategy",
       {{"aggregation",
         {{"type", "kvstore"}, {"servers", 1}, {"merge", merge}, {"priority", "first-key"}}},
        {"embedding", Json::parse(embedding)},
        {"schedule", "wfbp"},
        {"transport", Json::parse(transport)}}},
      {"run", {{"fidelity", fidelity}}}};
  const Experiment e = read_experiment(load_document(folder.write("x.json", config.dump()), {}));
  const Result result = simulate(e);
  return {*result.cold_step_time_s * 1e3, result.step_time_s * 1e3};
}

void expect(const Steps& played, const Steps& expected) {
  EXPECT_NEAR(played.cold_ms, expected.cold_ms, 1e-6);
  EXPECT_NEAR(played.steady_ms, expected.steady_ms, 1e-6);
}

/// ps-lite whose threads and copies take no time.
constexpr const char* kPsLite = R"({"type": "ps-lite", "channel": {"type": "zmq",
                                    "rate": "1000000000 GB/s", "copy": "1000000000 GB/s"}})";

// Cold: 24 to GPU 0 of each node, 24 to its host, two pushes through one port 48, two answers 48,
// 24 to GPU 0 and 24 to GPU 1: 192. Where messages share a port, both nodes have their values at
// once, and every step is as the first one.
//
// One message after another: node 0's push is in after 24, its values leave the port 24 before node
// 1's, and so does its next push. From then on the server has node 0's push at t + 24 and node 1's,
// which comes right behind it, at t + 48; node 0 has its values at t + 72 and its next push leaves
// the host 4 x 24 later: 168. So does node 1, always 24 behind. It is what ports at analytic
// fidelity are, and at message fidelity, if asked for.
TEST(KvstoreHandCases, TwoNodesAndAServer) {
  for (const char* embedding : {R"("async")", kModule}) {
    for (const char* transport : {R"({"type": "mpi"})", kPsLite}) {
      const auto played = [&](const char* fidelity, const char* ports) {
        return play_two_nodes({24}, "device", transport, fidelity, ports, embedding);
      };
      expect(played("message", "fair"), {192.002, 192.002});
      expect(played("message", "fifo"), {192.002, 168.002});
      expect(played("analytic", "fair"), {192.002, 168.002});
    }
  }
}

// Keys A and B in host memory: four copies share each host's port, 96; A's two pushes take the
// server's port until 144 and B's until 192. A is answered at 144, but the requests for it are
// behind B's pushes on their sockets: they are there at 192. A's values take 48 and B's, behind
// them, another 48: 288; B is copied to the GPUs until 336.
//
// Over a wire on which requests overtake, A's values take 144 to 192, beside B's pushes, and B's
// until 240; B is copied until 288.
TEST(KvstoreHandCases, ARequestIsBehindAPush) {
  for (const char* embedding : {R"("async")", kModule}) {
    const auto played = [&](const char* transport) {
      return play_two_nodes({24, 24}, "local", transport, "message", "fair", embedding);
    };
    expect(played(kPsLite), {336.002, 336.002});
    expect(played(R"({"type": "mpi"})"), {288.002, 288.002});
  }
}

// One message after another, A of 24 MB and B of 20: A is on both hosts at 48 and B, behind it, at
// 88. The server has A of node 0 at 72 and of 1 at 96, B at 116 and 136. A is answered at 96; the
// requests for it are behind B's pushes, at 116 and 136. Its values leave the port at 140 and 164,
// B's, answered at 136, at 184 and 204. The host of node 1 copies A from 164 to 212 and B until
// 252.
//
// Where requests overtake, A's values leave at 120 and 144, B's at 164 and 184: 144 + 48 + 40.
TEST(KvstoreHandCases, ARequestIsBehindAPushOnPorts) {
  EXPECT_NEAR(play_two_nodes({20, 24}, "local", kPsLite, "analytic", "fair").cold_ms, 252.002,
              1e-6);
  EXPECT_NEAR(play_two_nodes({20, 24}, "local", R"({"type": "mpi"})", "analytic", "fair").cold_ms,
              232.002, 1e-6);
}

constexpr const char* kP3 = R"({"preset": "p3.16xlarge", "nodes": 1, "reduction": "0 ns/B"})";
/// The links' latencies and what they shift are left out of the derivations.
constexpr double kLatencies = 0.02;

// An NVLink carries 23.94 GB/s, QPI, between the sockets, 10. GPUs 5, 6 and 7 have no NVLink to
// GPU 0: their pushes take 72 MB / 10 GB/s = 7.2 ms, longer than the others'. Pulls: GPU 0's two
// threads take 0, which is over at once, and 1, then from their heap 2, 4, 7, 6, 3 and 5. 1 and 2
// have one NVLink, 1.0; 4 two, 1.0 to 1.5; 7 QPI from 1.0, alone until 6 joins it at 1.5; it has
// 5 MB then and the other 19 at 5 GB/s, at 5.3; 6 has the last 5 MB alone, at 5.8, as 3 has its 24
// over two NVLinks; then 5, 2.4: 8.2, and 15.4 in all.
// Steady: 7 pushes from 5.3 after the sum, 6 from 5.8, 5 from 8.2; until then 7 has sent 17 MB and
// 6 12. Three share QPI until 7 is through, 2.1: 10.3; 6 has 5 MB left and 5 17, which they share
// until 11.3; 5 sends the last 12 alone: 12.5.
// In the order of the GPUs' numbers 5 and 6 would come before 7: 15.9 and 13.5.
TEST(KvstoreHandCases, DeviceOnAP3) {
  expect_steps(kP3, "device", {7.2 + 8.2, 12.5}, kLatencies);
}

// Four GPUs reach the host's memory across QPI: 4 x 24 / 10 = 9.6 each way, and all of them have
// their weights at once, so that a steady step is a cold one.
TEST(KvstoreHandCases, LocalOnAP3) {
  expect_steps(kP3, "local", {19.2, 19.2}, kLatencies);
}

}  // namespace
}  // namespace steptime
