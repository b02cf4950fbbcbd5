#include "sim/experiment.h"

#include "sim/error.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Json loaded(const std::string& path, const std::vector<std::string>& sets) {
  return load_document(path, sets)->root;
}

TEST(LoadDocument, SetsValuesInOrder) {
  const TinyFolder folder;
  const Json root = loaded(folder.experiment(), {"/run/seed=7", "/cluster/nodes=8", "/name=a=b",
                                                 "/cluster/nodes=16", "/run/x/y=[1, \"z\"]"});
  EXPECT_EQ(root.at("run").at("seed"), 7);
  EXPECT_EQ(root.at("cluster").at("nodes"), 16);
  EXPECT_EQ(root.at("name"), "a=b");
  EXPECT_EQ(root.at("run").at("x"), Json::parse(R"({"y": [1, "z"]})"));
}

TEST(LoadDocument, ValuesAreJsonOrElseText) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  EXPECT_EQ(loaded(file, {"/name=4 MiB"}).at("name"), "4 MiB");
  EXPECT_EQ(loaded(file, {"/name=\"4\""}).at("name"), "4");
  EXPECT_EQ(loaded(file, {"/name=4"}).at("name"), 4);
  EXPECT_EQ(loaded(file, {"/name=null"}).at("name"), nullptr);
  EXPECT_EQ(loaded(file, {"/name="}).at("name"), "");
}

struct SetCase {
  const char* name;
  const char* set;
  const char* message;
};
void PrintTo(const SetCase& c, std::ostream* out) {
  *out << c.name;
}
class BadSet : public testing::TestWithParam<SetCase> {};

TEST_P(BadSet, IsOneLineAndExit2) {
  const TinyFolder folder;
  const Outcome outcome = steptime({"run", folder.experiment(), "--set", GetParam().set});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, std::string("steptime: ") + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, BadSet,
    testing::Values(
        SetCase{"NoValue", "/name", "--set /name: expected /pointer=value"},
        SetCase{"NoSlash", "name=x", "--set name=x: expected /pointer=value"},
        SetCase{"NoPointer", "=x", "--set =x: expected /pointer=value"},
        SetCase{"BadEscape", "/a~2=1",
                "--set /a~2=1: \"/a~2\" does not name a place in the config"},
        SetCase{"InsideText", "/name/x=1",
                "--set /name/x=1: \"/name/x\" does not name a place in the config"},
        // A number in a pointer must not conjure up a list of that length.
        SetCase{"NumberOfANewPlace", "/run/1000000000000000000=1",
                "--set /run/1000000000000000000=1: \"/run/1000000000000000000\" does not name a "
                "place in the config"},
        SetCase{"TwoLines", "/name/a\nb=1",
                "--set /name/a?b=1: \"/name/a?b\" does not name a place in the config"}),
    [](const auto& broken) { return std::string(broken.param.name); });

TEST(ReadExperiment, BuildsEveryPart) {
  const TinyFolder folder;
  const Experiment e = read_experiment(load_document(
      folder.experiment(R"({"run": {"steps": 3, "seed": 9}, "workload": {"dtype": "float16"}})"),
      {}));
  EXPECT_EQ(e.name, "tiny");
  EXPECT_EQ(e.workload->workload.trace.model, "tiny");
  // conv, fc.w, fc.b; conv and fc. 2 bytes each.
  ASSERT_EQ(e.workload->units(Granularity::kTensor).size(), 3U);
  ASSERT_EQ(e.workload->units(Granularity::kLayer).size(), 2U);
  EXPECT_EQ(e.workload->units(Granularity::kLayer)[0].bytes, Bytes{1'001'000 * 2});
  EXPECT_EQ(e.cluster->workers(), 4);
  EXPECT_EQ(e.collective->time(Bytes{1'000'000}), std::chrono::milliseconds(2));  // 1 ms + 1 ms
  EXPECT_EQ(e.schedule->granularity(), Granularity::kTensor);
  EXPECT_EQ(e.run->steps, 3);
  EXPECT_EQ(e.run->seed, 9);
}

TEST(ReadExperiment, APartDependsOnItsSectionsOnly) {
  // Every section of an experiment belongs to a part, and a cluster to two: it gives the collective
  // its alpha, beta and gamma.
  std::map<std::string, int> readers;
  for (const Part part : kParts) {
    for (const std::string_view section : sections(part))
      ++readers[std::string(section)];
  }
  EXPECT_EQ(readers, (std::map<std::string, int>{{"/workload", 1},
                                                 {"/cluster", 2},
                                                 {"/strategy/aggregation", 1},
                                                 {"/strategy/update", 1},
                                                 {"/strategy/schedule", 1},
                                                 {"/strategy/embedding", 1},
                                                 {"/strategy/transport", 1},
                                                 {"/run", 1}}));
}

TEST(ReadExperiment, ReadsOnePartAnew) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  Experiment e = read_experiment(load_document(file, {}));
  const auto workload = e.workload;
  read_part(load_document(file, std::vector<std::string>{"/cluster/nodes=8"}), Part::kCluster, e);
  EXPECT_EQ(e.cluster->nodes, 8);
  EXPECT_EQ(e.workload, workload);
}

TEST(Resolved, WritesEveryDefaultOut) {
  const TinyFolder folder;
  const Json config = resolved(
      load_document(folder.experiment(R"({"strategy": {"aggregation": {"collective": null}}})"), {})
          ->root);
  EXPECT_EQ(config, Json::parse(R"json({
    "name": "tiny",
    "workload": {"trace": "trace.json", "dtype": "float32", "rescale": "both"},
    "cluster": {"nodes": 4, "gpus_per_node": 1,
                "network": {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"},
                "reduction": "0 s/B", "messages": {}},
    "strategy": {"aggregation": {"type": "all-reduce",
                                 "collective": {"type": "ring", "startups": "2(N-1)"}},
                 "update": {"type": "sgd"},
                 "schedule": {"type": "wfbp", "granularity": "tensor"},
                 "embedding": {"type": "async"},
                 "transport": {"type": "mpi"}},
    "run": {"fidelity": "analytic", "steps": 1, "seed": 1}
  })json"));
}

TEST(Resolved, IsAnExperimentThatGivesTheSameAgain) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"strategy": {"schedule": {"type": "fixed-buckets"}}, "run": {"seed": 3},
          "sweep": {"/cluster/nodes": [1, 2]}, "description": "d"})");
  const Json once = resolved(load_document(file, {})->root);
  folder.write("y.json", once.dump());
  const auto again = load_document(folder.path("y.json"), {});
  EXPECT_EQ(resolved(again->root), once);
  EXPECT_EQ(once.at("strategy").at("schedule").at("capacity"), "25 MiB");
  EXPECT_EQ(once.at("sweep"), Json::parse(R"({"/cluster/nodes": [1, 2]})"));
  const Experiment e = read_experiment(again);
  EXPECT_EQ(e.run->seed, 3);
}

TEST(Resolved, APresetBringsItsNumbers) {
  // A result says all that it depends on, so that it stands when a preset is corrected later.
  const TinyFolder folder;
  const std::string file =
      folder.experiment(R"({"cluster": {"preset": "k80-10gbe", "network": null}})");
  const Json cluster = resolved(load_document(file, {})->root).at("cluster");
  EXPECT_EQ(cluster.at("nodes"), 4);
  EXPECT_TRUE(cluster.contains("gpus_per_node")) << cluster;
  EXPECT_TRUE(cluster.contains("network")) << cluster;
  EXPECT_TRUE(cluster.contains("reduction")) << cluster;
}

/// A patch of the experiment or of the trace, or the text of x.json as it stands, and the line that
/// it must give, after the folder's name.
struct BrokenCase {
  const char* name;
  const char* patch;
  const char* trace_patch;
  const char* text;
  std::string message;
};
void PrintTo(const BrokenCase& c, std::ostream* out) {
  *out << c.name;
}
BrokenCase config(const char* name, const char* patch, std::string message) {
  return {name, patch, nullptr, nullptr, "x.json: " + std::move(message)};
}
BrokenCase trace(const char* name, const char* patch, std::string message) {
  return {name, "{}", patch, nullptr, "trace.json: " + std::move(message)};
}
BrokenCase raw(const char* name, const char* text, std::string message) {
  return {name, nullptr, nullptr, text, "x.json: " + std::move(message)};
}

class Broken : public testing::TestWithParam<BrokenCase> {};

TEST_P(Broken, IsOneLineAndExit2) {
  const BrokenCase& broken = GetParam();
  const TinyFolder folder;
  std::string file;
  if (broken.text != nullptr)
    file = folder.write("x.json", broken.text);
  else
    file = folder.experiment(broken.patch);
  if (broken.trace_patch != nullptr) folder.patch_trace(broken.trace_patch);
  const Outcome run = steptime({"run", file});
  EXPECT_EQ(run.exit, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "steptime: " + folder.path(broken.message) + "\n");
  const Outcome check = steptime({"check", file});
  EXPECT_EQ(check.exit, 2);
  EXPECT_EQ(check.out, "");
}

std::string name_of(const testing::TestParamInfo<BrokenCase>& info) {
  return info.param.name;
}

const std::string kTooDeep = std::string(65, '[') + std::string(65, ']');

INSTANTIATE_TEST_SUITE_P(
    NotAnExperiment, Broken,
    testing::Values(
        raw("Empty", "",
            "line 1, column 1: not JSON: unexpected end of input; expected '[', '{', or a literal"),
        raw("Truncated", "{\"name\": \"tiny\",\n \"workload\": {\"tra",
            "line 2, column 19: not JSON: invalid string: missing closing quote; last read: "
            "'\"tra'; expected string literal"),
        raw("TextBehind", "{} x",
            "line 1, column 4: not JSON: invalid literal; last read: '{} x'; expected end of "
            "input"),
        raw("Binary",
            "\x7f"
            "ELF",
            "line 1, column 1: not JSON: invalid literal; last read: '?'"),
        raw("NaN", R"({"cluster": {"nodes": NaN}})",
            R"(line 1, column 23: not JSON: invalid literal; last read: '"nodes": N')"),
        raw("TooLargeANumber", R"({"cluster": {"nodes": 1e999}})",
            "not JSON: number overflow parsing '1e999'"),
        raw("KeyTwice", R"({"name": "a", "run": {"seed": 1, "seed": 2}})",
            "key \"seed\" stands twice in one object"),
        raw("TooDeep", kTooDeep.c_str(), "nested deeper than 64 levels"),
        raw("Null", "null", "/: expected an object, got null"),
        raw("List", "[1, 2]", "/: expected an object, got a list"),
        raw("Number", "5", "/: expected an object, got 5"),
        raw("Nothing", "{}", "/name: required but missing")),
    name_of);

const std::string kKeys =
    "$schema, name, description, workload, cluster, strategy, run, sweep, claims";

INSTANTIATE_TEST_SUITE_P(
    WrongKeys, Broken,
    testing::Values(config("Unknown", R"({"gpu": 1})", "/gpu: unknown key; known: " + kKeys),
                    config("Typo", R"({"nmae": "x"})",
                           "/nmae: unknown key (did you mean \"name\"?); known: " + kKeys),
                    config("UnknownInside", R"({"cluster": {"network": {"lat/ency~": "1 us"}}})",
                           "/cluster/network/lat~1ency~0: unknown key (did you mean \"latency\"?); "
                           "known: type, latency, bandwidth"),
                    config("UnknownOfOddBytes", R"({"a\nb\u0007\u00e9": 1})",
                           "/a?b???: unknown key; known: " + kKeys),
                    config("OfAnotherSchedule",
                           R"({"strategy": {"schedule": {"type": "wfbp", "capacity": "1 MB"}}})",
                           "/strategy/schedule/capacity: unknown key; known: type, granularity"),
                    config("NoName", R"({"name": null})", "/name: required but missing"),
                    config("NoWorkload", R"({"workload": null})",
                           "/workload: required but missing"),
                    config("NoCluster", R"({"cluster": null})", "/cluster: required but missing"),
                    config("NoNodes", R"({"cluster": {"nodes": null}})",
                           "/cluster/nodes: required but missing"),
                    config("NoNetwork", R"({"cluster": {"network": null}})",
                           "/cluster/network: required but missing"),
                    config("NoBandwidth", R"({"cluster": {"network": {"bandwidth": null}}})",
                           "/cluster/network/bandwidth: required but missing"),
                    config("NeitherTraceNorModel", R"({"workload": {"trace": null}})",
                           "/workload: expected either \"trace\" or \"model\" with \"device\""),
                    config("TraceAndModel", R"({"workload": {"model": "m"}})",
                           "/workload: expected either \"trace\" or \"model\" with \"device\"")),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    WrongTypes, Broken,
    testing::Values(
        config("Name", R"({"name": 5})", "/name: expected a string, got 5"),
        config("Description", R"({"description": 5})", "/description: expected a string, got 5"),
        config("Workload", R"({"workload": "trace.json"})",
               "/workload: expected an object, got \"trace.json\""),
        config("Cluster", R"({"cluster": [4]})", "/cluster: expected an object, got a list"),
        raw("NullStrategy",
            R"({"name": "x", "workload": {"trace": "trace.json"}, "strategy": null,
                "cluster": {"preset": "k80-10gbe"}})",
            "/strategy: expected an object, got null"),
        config("Schedule", R"({"strategy": {"schedule": "wfbp"}})",
               "/strategy/schedule: expected an object {\"type\": ...}, got \"wfbp\""),
        config("Update", R"({"strategy": {"update": true}})",
               "/strategy/update: expected an object {\"type\": ...}, got true"),
        config("Nodes", R"({"cluster": {"nodes": "four"}})",
               "/cluster/nodes: expected a whole number, got \"four\""),
        config("NodesFraction", R"({"cluster": {"nodes": 4.5}})",
               "/cluster/nodes: expected a whole number, got 4.5"),
        config("Trace", R"({"workload": {"trace": 5}})",
               "/workload/trace: expected a file name, got 5"),
        config("NoTraceName", R"({"workload": {"trace": ""}})",
               "/workload/trace: expected a file name, got \"\""),
        config("Run", R"({"run": 1})", "/run: expected an object, got 1"),
        config("LongText", R"({"cluster": {"nodes":
               "0123456789012345678901234567890123456789012345678901234567890123456789"}})",
               "/cluster/nodes: expected a whole number, got "
               "\"01234567890123456789012345678901234567890123456789012345678...")),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    WrongChoices, Broken,
    testing::Values(
        config("NoType", R"({"cluster": {"network": {"type": null}}})",
               "/cluster/network/type: required but missing"),
        config("TypeIsANumber", R"({"cluster": {"network": {"type": 5}}})",
               "/cluster/network/type: expected a string, got 5"),
        config("UnknownUpdate", R"({"strategy": {"update": {"type": "adam"}}})",
               "/strategy/update/type: unknown \"adam\"; known: asgd, esgd, sgd"),
        config("UnknownTransport", R"({"strategy": {"transport": {"type": "x"}}})",
               "/strategy/transport/type: unknown \"x\"; known: mpi"),
        config("NoAggregationType", R"({"strategy": {"aggregation": {"type": null}}})",
               "/strategy/aggregation/type: required but missing"),
        config("AggregationTypeIsANumber", R"({"strategy": {"aggregation": {"type": 5}}})",
               "/strategy/aggregation/type: expected a string, got 5"),
        config(
            "UnknownAggregation", R"({"strategy": {"aggregation": {"type": "gossip"}}})",
            "/strategy/aggregation/type: unknown \"gossip\"; known: all-reduce, hybrid, kvstore, "
            "parameter-server"),
        config("UnknownFidelity", R"({"run": {"fidelity": "x"}})",
               "/run/fidelity: unknown \"x\"; known: analytic, message"),
        config("UnknownDtype", R"({"workload": {"dtype": "int8"}})",
               "/workload/dtype: unknown \"int8\"; known: float32, float16, bfloat16, float64"),
        config("UnknownGranularity",
               R"({"strategy": {"schedule": {"type": "wfbp", "granularity": "x"}}})",
               "/strategy/schedule/granularity: unknown \"x\"; known: tensor, layer")),
    name_of);

TEST(BrokenChoice, ListsWhatIsRegistered) {
  // The lists grow with the catalogues, so only their start is told here.
  const TinyFolder folder;
  const Outcome outcome =
      steptime({"run", folder.experiment(R"({"strategy": {"schedule": {"type": "mg-wbfp"}}})")});
  EXPECT_EQ(outcome.exit, 2);
  const std::string start =
      "steptime: " + folder.path("x.json: /strategy/schedule/type: unknown \"mg-wbfp\"; known: ");
  EXPECT_EQ(outcome.err.substr(0, start.size()), start);
  EXPECT_NE(outcome.err.find("mg-wfbp"), std::string::npos);
  EXPECT_EQ(lines_of(outcome.err).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    WrongQuantities, Broken,
    testing::Values(
        config("NoUnit", R"({"cluster": {"network": {"latency": "5"}}})",
               "/cluster/network/latency: \"5\" is not a number followed by one of s, ms, us, ns, "
               "ps"),
        config("BareNumber", R"({"cluster": {"network": {"latency": 5}}})",
               "/cluster/network/latency: expected a time as a string with its unit, got 5"),
        config("OtherUnit", R"({"cluster": {"reduction": "5 us"}})",
               "/cluster/reduction: \"5 us\" is not a number followed by one of s/B, ms/B, us/B, "
               "ns/B, ps/B"),
        config("InfiniteTime", R"({"cluster": {"network": {"latency": "inf s"}}})",
               "/cluster/network/latency: \"inf s\" is not a number followed by one of s, ms, us, "
               "ns, ps"),
        config("NotANumberOfBytes", R"({"cluster": {"network": {"bandwidth": "nan B/s"}}})",
               "/cluster/network/bandwidth: \"nan B/s\" is not a number followed by one of B/s, "
               "kB/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, bps, kbps, Mbps, Gbps, Tbps"),
        config("TooLargeANumber", R"({"cluster": {"reduction": "1e999 s/B"}})",
               "/cluster/reduction: \"1e999 s/B\" is not a number followed by one of s/B, ms/B, "
               "us/B, ns/B, ps/B"),
        config("TwoLines", R"({"cluster": {"network": {"latency": "5\nus"}}})",
               "/cluster/network/latency: \"5?us\" is not a number followed by one of s, ms, us, "
               "ns, ps"),
        config("NegativeTime", R"({"cluster": {"network": {"latency": "-5 us"}}})",
               "/cluster/network/latency: must not be negative, got \"-5 us\""),
        config("NoBandwidth", R"({"cluster": {"network": {"bandwidth": "0 B/s"}}})",
               "/cluster/network/bandwidth: must be positive, got \"0 B/s\""),
        config("TooLongATime", R"({"cluster": {"network": {"latency": "9300000 s"}}})",
               "/cluster/network/latency: \"9300000 s\" is beyond the range of simulated time (106 "
               "days)"),
        config("HalfAByte",
               R"({"strategy": {"schedule": {"type": "fixed-buckets", "capacity": "0.5 B"}}})",
               "/strategy/schedule/capacity: \"0.5 B\" is not a whole number of bytes"),
        config("TooManyBytes",
               R"({"strategy": {"schedule": {"type": "fixed-buckets", "capacity": "1e17 B"}}})",
               "/strategy/schedule/capacity: \"1e17 B\" is more than 2^53 bytes"),
        config("NoBytes",
               R"({"strategy": {"schedule": {"type": "fixed-buckets", "capacity": "0 B"}}})",
               "/strategy/schedule/capacity: must be positive, got \"0 B\"")),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    WrongNumbers, Broken,
    testing::Values(
        config("NegativeNodes", R"({"cluster": {"nodes": -4}})",
               "/cluster/nodes: must be at least 1 and at most 10000000, got -4"),
        config("AbsurdNodes", R"({"cluster": {"nodes": 1000000000000000000}})",
               "/cluster/nodes: must be at least 1 and at most 10000000, got 1000000000000000000"),
        config("NodesBeyondInt64", R"({"cluster": {"nodes": 10000000000000000000}})",
               "/cluster/nodes: must be at least 1 and at most 10000000, got 10000000000000000000"),
        config("AbsurdGpus", R"({"cluster": {"gpus_per_node": 1025}})",
               "/cluster/gpus_per_node: must be at least 1 and at most 1024, got 1025"),
        config("NegativeSeed", R"({"run": {"seed": -1}})",
               "/run/seed: must be at least 0 and at most 9000000000000000000, got -1"),
        config("NoSteps", R"({"run": {"steps": 0}})",
               "/run/steps: must be at least 1 and at most 1000000, got 0"),
        config("NoBatch", R"({"workload": {"batch": 0}})",
               "/workload/batch: must be at least 1 and at most 1000000000, got 0"),
        config(
            "NegativeDataset", R"({"workload": {"dataset_samples": -1}})",
            "/workload/dataset_samples: must be at least 1 and at most 1000000000000000, got -1"),
        config("NoComputeTime", R"({"workload": {"compute_time": "0 s"}})",
               "/workload/compute_time: must be positive, got \"0 s\"")),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    WrongTraces, Broken,
    testing::Values(
        BrokenCase{"Absent", R"({"workload": {"trace": "no/trace.json"}})", nullptr, nullptr,
                   "no/trace.json: cannot be read: No such file or directory"},
        BrokenCase{"AbsentOfOddBytes", R"({"workload": {"trace": "a\nb"}})", nullptr, nullptr,
                   "a?b: cannot be read: No such file or directory"},
        config("NameWithAZeroByte", R"({"workload": {"trace": "trace.json\u0000x"}})",
               R"(/workload/trace: expected a file name, got "trace.json\u0000x")"),
        BrokenCase{"TheConfigItself", R"({"workload": {"trace": "x.json"}})", nullptr, nullptr,
                   "x.json: /name: unknown key; known: format, version, model, device, batch, "
                   "provenance, forward_total_s, layers"},
        trace("OtherFormat", R"({"format": "steptime-model"})",
              "/format: unknown \"steptime-model\"; known: steptime-trace"),
        trace("LaterVersion", R"({"version": 2})",
              "/version: must be at least 1 and at most 1, got 2"),
        trace("NoProvenance", R"({"provenance": null})", "/provenance: required but missing"),
        trace("NoLicence", R"({"provenance": {"licence": null}})",
              "/provenance/licence: required but missing"),
        trace("NoLayers", R"({"layers": []})",
              "/layers: expected at least one layer, got an empty "
              "list"),
        trace("LayersAreAnObject", R"({"layers": {}})", "/layers: expected a list, got an object"),
        trace("LayerIsANumber", R"({"layers": [5]})", "/layers/0: expected an object, got 5"),
        trace("NegativeTime", R"({"layers": [{"name": "a", "forward_s": 0, "backward_s": -1}]})",
              "/layers/0/backward_s: must not be negative, got -1"),
        trace("TimeWithUnit", R"({"layers": [{"name": "a", "forward_s": "1 s", "backward_s": 1}]})",
              "/layers/0/forward_s: expected a number, got \"1 s\""),
        trace("TimeBeyondRange",
              R"({"layers": [{"name": "a", "forward_s": 0, "backward_s": 1e8}]})",
              "/layers/0/backward_s: 100000000 s is beyond the range of simulated time (106 days)"),
        trace("TooMuchCompute",
              R"({"layers": [{"name": "a", "forward_s": 6e5, "backward_s": 6e5}]})",
              "/layers: 1200000 s of compute in one step, expected at most 1e6"),
        trace("NoForwardTime", R"({"layers": [{"name": "a", "backward_s": 1}]})",
              "/layers/0/forward_s: required but missing, as the trace has no /forward_total_s"),
        trace("NoParameters",
              R"({"layers": [{"name": "a", "forward_s": 0, "backward_s": 1, "params": 0}]})",
              "/layers/0/params: must be at least 1 and at most 1125899906842624, got 0"),
        // 2^50 + 1, one more than a trace may hold
        trace(
            "TooManyParameters",
            R"({"layers": [{"name": "a", "forward_s": 0, "backward_s": 1, "params": 1125899906842625}]})",
            "/layers/0/params: must be at least 1 and at most 1125899906842624, got "
            "1125899906842625"),
        // 2 * 0.9e15 = 1.8e15 > 2^50
        trace("TooManyParametersInAll",
              R"({"layers": [{"name": "a", "forward_s": 0, "backward_s": 1, "tensors": [
                  {"name": "t", "params": 900000000000000}, {"name": "u", "params": 900000000000000}]}]})",
              "/layers: 1800000000000000 parameters in all, expected at most 1125899906842624")),
    name_of);

// Sums and products of numbers that are each in range.
INSTANTIATE_TEST_SUITE_P(
    TooLargeInAll, Broken,
    testing::Values(
        // 0.015 + 0.027 + 3 x 2e6 + 0.005004 s > 4e6 s
        config("Step", R"({"strategy": {"aggregation": {"collective": {"a": "2000000 s"}}}})",
               "one step takes 6000000.047004 s, more than the 4000000 s that can be simulated"),
        // 4000 B * 1e300 s/B
        config("TimePerByte",
               R"({"strategy": {"aggregation": {"collective": {"b": "1e300 s/B"}}}})",
               "4e+303 s is beyond the range of simulated time (106 days)"),
        // One message of 1,251,000 values, 5,004,000 B: 9e6 s + 5,004,000 * 1.8 s = 18,007,200 s,
        // which is 1.8e19 ps and wraps around in 64 bits.
        config("StartupAndTransfer",
               R"({"strategy": {"schedule": {"type": "sync-easgd"},
                   "aggregation": {"collective": {"a": "9000000 s", "b": "1.8 s/B"}}}})",
               "18007200 s is beyond the range of simulated time (106 days)"),
        // 2 (10^7 - 1) alpha with alpha = 100 s
        config("RingStartup",
               R"({"cluster": {"nodes": 10000000, "network": {"latency": "100 s"}},
                   "strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}}})",
               "/strategy/aggregation/collective: 1999999800 s is beyond the range of simulated "
               "time (106 days)"),
        // 0.042 s of compute for 32 samples are 1.3125e6 s for 10^9
        config("Batch", R"({"workload": {"batch": 1000000000}})",
               "/workload/batch: 1000000000 scales one step to 1312500 s, expected at most 1000000 "
               "s"),
        BrokenCase{"NoTimeAtAll", "{}",
                   R"({"layers": [{"name": "a", "forward_s": 0, "backward_s": 0}]})", nullptr,
                   "x.json: a step takes no time at all"}),
    name_of);

TEST(EmptyModel, WithoutLearnableLayersSendsNothing) {
  const TinyFolder folder;
  folder.patch_trace(R"({"layers": [{"name": "a", "forward_s": 0.25, "backward_s": 0.5}]})");
  for (const char* schedule :
       {"naive", "wfbp", "sync-easgd", "mg-wfbp", "optimal", "fixed-buckets"}) {
    const Outcome run =
        steptime({"run", folder.experiment(), "--format", "json", "--set",
                  std::string("/strategy/schedule={\"type\": \"") + schedule + "\"}"});
    ASSERT_EQ(run.exit, 0) << run.err;
    const Json json = Json::parse(run.out);
    EXPECT_EQ(json.at("messages"), 0) << schedule;
    EXPECT_EQ(json.at("buckets"), Json::array()) << schedule;
    EXPECT_EQ(json.at("step_time_s"), 0.75) << schedule;  // 0.25 + 0.5
    EXPECT_EQ(json.at("scaling_efficiency"), 1.0) << schedule;
  }
}

TEST(EmptyModel, WithoutComputeTimeHasNothingToScale) {
  // Twice the batch of no compute time is no compute time; the messages take 8.004 ms as before.
  const TinyFolder folder;
  folder.patch_trace(
      R"({"layers": [{"name": "a", "forward_s": 0, "backward_s": 0, "params": 1000}]})");
  const Outcome run =
      steptime({"run", folder.experiment(R"({"workload": {"batch": 64}})"), "--format", "json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(Json::parse(run.out).at("step_time_s"), 0.001004);  // 1 ms + 4000 B * 1 ns
}

}  // namespace
}  // namespace steptime
