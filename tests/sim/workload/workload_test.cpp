#include "sim/workload/workload.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};

/// A trace file with these layers, and `more` keys in front of them.
std::string trace_text(const std::string& layers, const std::string& more = "") {
  return R"({"format": "steptime-trace", "version": 1, "model": "m", "device": "d", "batch": 32,
    "provenance": {"source": "s", "date": "2018", "licence": "l"}, )" +
         more + R"("layers": [)" + layers + "]}";
}
Trace trace_of(const std::string& layers, const std::string& more = "") {
  return parse_trace(trace_text(layers, more), "t.json");
}
std::string trace_error(const std::string& layers, const std::string& more = "") {
  return message_of<InputError>([&] { trace_of(layers, more); });
}

// In forward order: a (one tensor), relu (none), b (two tensors).
constexpr const char* kThreeLayers =
    R"({"name": "a", "forward_s": 0.001, "backward_s": 0.002, "params": 10},
       {"name": "relu", "forward_s": 0.001, "backward_s": 0.001},
       {"name": "b", "forward_s": 0.003, "backward_s": 0.004,
        "tensors": [{"name": "b.w", "params": 6}, {"name": "b.b", "params": 2}]})";

TEST(Trace, Parses) {
  const Trace t = trace_of(kThreeLayers);
  EXPECT_EQ(t.model, "m");
  EXPECT_EQ(t.device, "d");
  EXPECT_EQ(t.batch, 32);
  EXPECT_EQ(t.provenance.at("source"), "s");
  EXPECT_EQ(t.domain, "inside");
  ASSERT_EQ(t.layers.size(), 3U);
  EXPECT_EQ(t.forward(), 5 * kMs);              // 1 + 1 + 3
  EXPECT_EQ(t.backward(), 7 * kMs);             // 2 + 1 + 4
  EXPECT_EQ(t.params(), 18);                    // 10 + 0 + (6 + 2)
  EXPECT_EQ(t.layers[0].tensors[0].name, "a");  // `params` on a layer is one tensor of its name
  EXPECT_TRUE(t.layers[1].tensors.empty());
  EXPECT_EQ(t.layers[2].params(), 8);
}

TEST(Trace, TheForwardPassMayBeKnownInAllOnly) {
  const Trace t = trace_of(R"({"name": "a", "backward_s": 0.002, "params": 10})",
                           R"("forward_total_s": 0.25, )");
  EXPECT_EQ(t.forward(), 250 * kMs);
  EXPECT_EQ(trace_error(R"({"name": "a", "backward_s": 0.002})"),
            "t.json: /layers/0/forward_s: required but missing, as the trace has no "
            "/forward_total_s");
  EXPECT_EQ(trace_error(R"({"name": "a", "forward_s": 0, "backward_s": 0.002})",
                        R"("forward_total_s": 0.25, )"),
            "t.json: /layers/0/forward_s: unexpected, as the trace has /forward_total_s");
}

TEST(Trace, ErrorsNameThePlace) {
  EXPECT_EQ(trace_error(""), "t.json: /layers: expected at least one layer, got an empty list");
  EXPECT_EQ(trace_error("1"), "t.json: /layers/0: expected an object, got 1");
  EXPECT_EQ(trace_error(R"({"name": "a", "forward_s": -1, "backward_s": 0})"),
            "t.json: /layers/0/forward_s: must not be negative, got -1");
  EXPECT_EQ(trace_error(R"({"name": "a", "forward_s": 0, "backward_s": 1e7})"),
            "t.json: /layers/0/backward_s: 10000000 s is beyond the range of simulated time (106 "
            "days)");
  EXPECT_EQ(trace_error(R"({"name": "a", "forward_s": 0, "backward_s": 0, "params": 0})"),
            "t.json: /layers/0/params: must be at least 1 and at most 1125899906842624, got 0");
  EXPECT_EQ(
      trace_error(R"({"name": "a", "forward_s": 0, "backward_s": 0, "params": 1, "tensors": []})"),
      "t.json: /layers/0/params: unexpected, as the layer has \"tensors\"");
  EXPECT_EQ(trace_error(R"({"name": "a", "forward_s": 0, "backward_s": 0,
                            "tensors": [{"name": "w", "params": 1.5}]})"),
            "t.json: /layers/0/tensors/0/params: expected a whole number, got 1.5");
  const std::string layer = R"({"name": "a", "forward_s": 0, "backward_s": 0.002})";
  EXPECT_EQ(trace_error(layer + ", " + layer),
            "t.json: /layers/1/name: another layer before has this name");
  EXPECT_EQ(trace_error(kThreeLayers, R"("forward_totl_s": 1, )"),
            "t.json: /forward_totl_s: unknown key (did you mean \"forward_total_s\"?); known: "
            "format, version, model, device, batch, provenance, forward_total_s, update_s, host_s, "
            "multiprocessors, domain, layers");
  EXPECT_EQ(trace_error(kThreeLayers, R"("update_s": 9, )"),
            "t.json: /update_s: expected at most the 0.001 s of the first layer's forward pass, "
            "got 9");
}

TEST(Trace, FormatVersionAndProvenanceAreRequired) {
  EXPECT_EQ(message_of<InputError>([] { parse_trace("{}", "t.json"); }),
            "t.json: /format: required but missing");
  EXPECT_EQ(message_of<InputError>([] { parse_trace(R"({"format": "other"})", "t.json"); }),
            "t.json: /format: unknown \"other\"; known: steptime-trace");
  EXPECT_EQ(message_of<InputError>(
                [] { parse_trace(R"({"format": "steptime-trace", "version": 2})", "t.json"); }),
            "t.json: /version: must be at least 1 and at most 1, got 2");
  EXPECT_EQ(message_of<InputError>([] {
              parse_trace(R"({"format": "steptime-trace", "version": 1, "model": "m", "device": "d",
                             "batch": 1, "provenance": {"source": "s", "date": "2018"}})",
                          "t.json");
            }),
            "t.json: /provenance/licence: required but missing");
}

TEST(Trace, AbsurdTotalsAreRefused) {
  // 2 * 2^49 + 2^50 = 2^51 parameters; 2^50 are allowed.
  const auto half = [](const char* name) {
    return fmt::format(R"({{"name": "{}", "forward_s": 0, "backward_s": 0,
                           "params": 562949953421312}})",
                       name);
  };
  EXPECT_EQ(trace_of(half("a") + "," + half("b")).params(), std::int64_t{1} << 50);
  EXPECT_EQ(trace_error(half("a") + "," + half("b") + "," + half("c")),
            "t.json: /layers: 1688849860263936 parameters in all, expected at most "
            "1125899906842624");
  const std::string long_layer = R"({"name": "a", "forward_s": 0, "backward_s": 600000})";
  EXPECT_NO_THROW(trace_of(long_layer));
  EXPECT_EQ(trace_error(long_layer + R"(, {"name": "b", "forward_s": 0, "backward_s": 600000})"),
            "t.json: /layers: 1200000 s of compute in one step, expected at most 1e6");
}

TEST(Trace, WhatIsWrittenIsRead) {
  for (const Trace& trace :
       {trace_of(kThreeLayers),
        trace_of(kThreeLayers, R"("update_s": 0.001, "host_s": 0.5, "multiprocessors": 80, )"),
        trace_of(R"({"name": "a\"\u00e4", "backward_s": 1e-12})", R"("forward_total_s": 0.1, )")}) {
    const std::string text = write_trace(trace);
    const Trace again = parse_trace(text, "again.json");
    EXPECT_EQ(write_trace(again), text);
    EXPECT_EQ(again.batch, trace.batch);
    EXPECT_EQ(again.forward_total, trace.forward_total);
    EXPECT_EQ(again.update, trace.update);
    EXPECT_EQ(again.host, trace.host);
    EXPECT_EQ(again.multiprocessors, trace.multiprocessors);
    EXPECT_EQ(again.provenance, trace.provenance);
    ASSERT_EQ(again.layers.size(), trace.layers.size());
    for (std::size_t i = 0; i < trace.layers.size(); ++i) {
      EXPECT_EQ(again.layers[i].name, trace.layers[i].name);
      EXPECT_EQ(again.layers[i].forward, trace.layers[i].forward);
      EXPECT_EQ(again.layers[i].backward, trace.layers[i].backward);
      EXPECT_EQ(again.layers[i].tensors.size(), trace.layers[i].tensors.size());
      EXPECT_EQ(again.layers[i].params(), trace.layers[i].params());
    }
  }
}

TEST(Trace, OneLayerPerLine) {
  EXPECT_EQ(write_trace(trace_of(kThreeLayers)),
            R"({
 "format": "steptime-trace",
 "version": 1,
 "model": "m",
 "device": "d",
 "batch": 32,
 "provenance": {
  "source": "s",
  "date": "2018",
  "licence": "l"
 },
 "layers": [
  {"name":"a","forward_s":0.001,"backward_s":0.002,"tensors":[{"name":"a","params":10}]},
  {"name":"relu","forward_s":0.001,"backward_s":0.001},
  {"name":"b","forward_s":0.003,"backward_s":0.004,"tensors":[{"name":"b.w","params":6},{"name":"b.b","params":2}]}
 ]
}
)");
}

TEST(Trace, IsReadFromAFile) {
  const ScratchFile file("trace.json", trace_text(kThreeLayers));
  EXPECT_EQ(read_trace(file.path()).params(), 18);
  EXPECT_EQ(message_of<InputError>([] { read_trace("/nowhere.json"); }),
            "/nowhere.json: cannot be read: No such file or directory");
}

TEST(Trace, ScalingKeepsTheRatios) {
  Trace t = trace_of(kThreeLayers);  // 5 + 7 = 12 ms
  scale_compute(t, 24 * kMs);
  EXPECT_EQ(t.layers[2].forward, 6 * kMs);
  EXPECT_EQ(t.layers[2].backward, 8 * kMs);
  EXPECT_EQ(t.forward() + t.backward(), 24 * kMs);

  Trace total = trace_of(R"({"name": "a", "backward_s": 0.002, "params": 10})",
                         R"("forward_total_s": 0.006, )");  // 8 ms
  scale_compute(total, 4 * kMs);
  EXPECT_EQ(total.forward(), 3 * kMs);
  EXPECT_EQ(total.backward(), 1 * kMs);
}

std::string text_of(const std::vector<GradientUnit>& units) {
  std::string text;
  for (const GradientUnit& u : units) {
    text += u.name + "@" + std::to_string(u.layer) + " " + std::to_string(u.bytes.count) + " B " +
            std::to_string(u.ready / kMs) + " ms; ";
  }
  return text;
}

TEST(Workload, UnitsComeInTheOrderInWhichGradientsBecomeReady) {
  // Backward: b ends at 4 ms, relu at 5, a at 7. b's tensors last to first; relu has none.
  const Workload w{.trace = trace_of(kThreeLayers)};
  EXPECT_EQ(text_of(w.units(Granularity::kTensor)),
            "b.b@2 8 B 4 ms; b.w@2 24 B 4 ms; a@0 40 B 7 ms; ");
  EXPECT_EQ(text_of(w.units(Granularity::kLayer)), "b@2 32 B 4 ms; a@0 40 B 7 ms; ");
}

TEST(Workload, BytesFollowTheTypeOfTheGradients) {
  const Workload w{.trace = trace_of(kThreeLayers), .bytes_per_param = 2};
  EXPECT_EQ(text_of(w.units(Granularity::kLayer)), "b@2 16 B 4 ms; a@0 20 B 7 ms; ");
}

TEST(Workload, AModelWithoutParametersHasNoUnits) {
  const Workload w{.trace = trace_of(R"({"name": "relu", "forward_s": 0, "backward_s": 1})")};
  EXPECT_TRUE(w.units(Granularity::kTensor).empty());
  EXPECT_TRUE(w.units(Granularity::kLayer).empty());
}

}  // namespace
}  // namespace steptime
