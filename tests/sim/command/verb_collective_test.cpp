// `steptime collective`: sizes, comparison, formats, and every way to get it wrong.
#include "sim/command/cli.h"
#include "sim/config/json.h"
#include "tests/support/scratch_file.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Ran {
  int exit;
  std::string out;
  std::string err;
};

Ran run(std::vector<std::string> args) {
  args.insert(args.begin(), "collective");
  std::ostringstream out, err;
  const int exit = run_command_line(args, Terminal{out, err});
  return {exit, out.str(), err.str()};
}

/// T = 10 us + 1 ns/B on 2 nodes.
const char* const kConfig = R"({"name": "x", "cluster": {"nodes": 2,
    "network": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"}},
    "strategy": {"aggregation": {"type": "all-reduce",
      "collective": {"type": "linear", "a": "10 us", "b": "1 ns/B"}}}})";

std::vector<std::int64_t> sizes(const std::vector<std::string>& args) {
  std::vector<std::string> all = args;
  all.insert(all.end(), {"--format", "json"});
  std::vector<std::int64_t> bytes;
  const Ran ran = run(all);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  for (const Json& row : parse_json(ran.out, "out"))
    bytes.push_back(row.at("bytes").get<std::int64_t>());
  return bytes;
}

using Sizes = std::vector<std::int64_t>;

TEST(VerbCollective, SizesAreThoseOfNcclTests) {
  const ScratchFile config("x.json", kConfig);
  EXPECT_EQ(sizes({config.path(), "-b", "8", "-e", "64", "-f", "2"}), (Sizes{8, 16, 32, 64}));
  EXPECT_EQ(sizes({config.path(), "-b", "1K", "-e", "1.5M", "-f", "32"}),
            (Sizes{1024, 32768, 1048576}));
  EXPECT_EQ(sizes({config.path(), "-b", "0", "-e", "12", "-i", "4"}), (Sizes{0, 4, 8, 12}));
  EXPECT_EQ(sizes({config.path(), "-b", "1G"}), (Sizes{1 << 30}));
  EXPECT_EQ(sizes({config.path()}).size(), 25U);  // 8 B to 128 MiB
}

TEST(VerbCollective, JsonRow) {
  const ScratchFile config("x.json", kConfig);
  const Json list =
      parse_json(run({config.path(), "-b", "90000", "-e", "90000", "--format", "json"}).out, "out");
  EXPECT_EQ(list.dump(), R"([{"bytes":90000,"time_us":100.0,"algbw_GBps":0.9,"busbw_GBps":0.9}])");
}

TEST(VerbCollective, TheTableSaysWhatItIsOf) {
  const ScratchFile config("x.json", kConfig);
  // 90000 B in 10 us + 90 us; among 2 ranks, busbw is 2 (2 - 1) / 2 of algbw.
  EXPECT_EQ(run({config.path(), "-b", "90000", "-e", "90000"}).out,
            "# collective: linear (a 10 us, b 1 ns/B)\n"
            "# cluster: 2 nodes with 1 GPU, 2 ranks\n"
            "# fidelity: analytic; busbw = 1 algbw\n"
            "#        size         count     type   redop        time    algbw    busbw\n"
            "#         (B)    (elements)                         (us)   (GB/s)   (GB/s)\n"
            "        90000         22500    float     sum       100.0     0.90     0.90\n");
  const std::string gather = run({"--preset", "p3.16xlarge", "--nodes", "1", "--collective",
                                  "all-gather", "--fidelity", "message", "-b", "8", "-e", "8"})
                                 .out;
  EXPECT_EQ(gather.substr(0, gather.find("#        size")),
            "# collective: all-gather\n"
            "# cluster: p3.16xlarge, 1 node with 8 GPUs, 8 ranks\n"
            "# fidelity: message; busbw = 0.875 algbw\n");
}

TEST(VerbCollective, ParameterServersSayWhatTheyAre) {
  const ScratchFile config("x.json", R"({"name": "x", "cluster": {"nodes": 2,
    "network": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"}},
    "strategy": {"aggregation": {"type": "parameter-server", "servers": 1}}})");
  EXPECT_TRUE(run({config.path(), "-b", "8", "-e", "8"})
                  .out.starts_with("# collective: parameter-server (servers 1, "));
}

/// The first job has two of three nodes and a strategy of its own: 10 us + 90 us.
TEST(VerbCollective, OfSeveralJobsItIsTheFirstOnes) {
  const ScratchFile config("x.json", R"({"name": "x", "cluster": {"nodes": 3,
    "network": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"}},
    "jobs": [{"name": "a", "nodes": [0, 2], "strategy": {"aggregation": {"type": "all-reduce",
      "collective": {"type": "linear", "a": "10 us", "b": "1 ns/B"}}}}, {"nodes": [1]}]})");
  const Ran ran = run({config.path(), "-b", "90000", "-e", "90000", "--format", "json"});
  EXPECT_EQ(parse_json(ran.out, "out").dump(),
            R"([{"bytes":90000,"time_us":100.0,"algbw_GBps":0.9,"busbw_GBps":0.9}])");
  EXPECT_EQ(ran.err, "note: on the nodes of the first of 2 jobs, \"a\", by its strategy\n");
  const Ran wrong = run({config.path(), "--set", "/jobs/0/strategy/aggregation/collective/a=5"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_NE(wrong.err.find(": /jobs/0/strategy/aggregation/collective/a: "), std::string::npos)
      << wrong.err;
}

TEST(VerbCollective, ComparesWithAFile) {
  const ScratchFile config("x.json", kConfig);
  const ScratchFile measured("m.csv", "bytes,time_us\n1000,10\n90000,125\n");
  const Ran json = run({config.path(), "--compare", measured.path(), "--format", "json"});
  EXPECT_EQ(json.exit, 0);
  const Json list = parse_json(json.out, "out");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_NEAR(list[0].at("error_pct").get<double>(), 10, 1e-9);
  EXPECT_NEAR(list[1].at("error_pct").get<double>(), -20, 1e-9);
  EXPECT_EQ(list[1].at("measured_us"), 125.0);
  EXPECT_EQ(json.err, "sizes: 2, geometric-mean error 17.3 %, worst -20.0 % at 90000 B\n");
  EXPECT_EQ(sizes({config.path(), "--compare", measured.path(), "-b", "2K"}), (Sizes{90000}));
  const Ran csv = run({config.path(), "--compare", measured.path(), "--format", "csv"});
  EXPECT_TRUE(csv.out.starts_with(
      "bytes,time_us,algbw_GBps,busbw_GBps,choice,measured_us,error_pct\n1000,11,"))
      << csv.out;
}

TEST(VerbCollective, OptionsReplaceThePresetsAndTheConfigs) {
  const Ran preset = run({"--preset", "ring", "--nodes", "4", "--gpus", "2", "--collective", "nccl",
                          "--nccl-version", "2.4.8", "-b", "8", "-e", "8"});
  EXPECT_EQ(preset.exit, 0) << preset.err;
  EXPECT_NE(preset.out.find("/LL x1\n"), std::string::npos) << preset.out;
  const ScratchFile config("x.json", kConfig);
  const Ran ring =
      run({config.path(), "--collective", "ring", "--nodes", "3", "-b", "0", "-e", "0"});
  EXPECT_NE(ring.out.find("        4.00 "), std::string::npos) << ring.out;  // 2 (3 - 1) alpha
  const Ran set = run(
      {config.path(), "--set", "/strategy/aggregation/collective/a=7 us", "-b", "0", "-e", "0"});
  EXPECT_NE(set.out.find("        7.00 "), std::string::npos) << set.out;
}

Json one_row(std::vector<std::string> args, std::int64_t bytes) {
  const std::string size = std::to_string(bytes);
  args.insert(args.end(), {"-b", size, "-e", size, "--format", "json"});
  const Ran ran = run(args);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  return ran.exit == 0 ? parse_json(ran.out, "out").at(0) : Json::object();
}

double microseconds(const std::vector<std::string>& args, std::int64_t bytes) {
  return one_row(args, bytes).value("time_us", -1.0);
}

/// Two processes with two GPUs each are four GPUs, of which each process starts two.
TEST(VerbCollective, ProcessesAndTheirGpus) {
  const std::vector<std::string> nccl{"--preset", "dgx-a100", "--collective", "nccl"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), nccl.begin(), nccl.end());
    return more;
  };
  const std::string per_process = "/strategy/aggregation/collective/gpus_per_process=";
  EXPECT_DOUBLE_EQ(microseconds(with({"--processes", "2", "--gpus-per-process", "2"}), 1024),
                   microseconds(with({"--gpus", "4", "--set", per_process + "2"}), 1024));
  EXPECT_DOUBLE_EQ(microseconds(with({"--processes", "4"}), 1024),
                   microseconds(with({"--gpus", "4"}), 1024));
  EXPECT_EQ(run(with({"--processes", "4", "--gpus", "4"})).err,
            "steptime: --processes: expected without --gpus, which it makes up\n");
  EXPECT_EQ(run({"--preset", "dgx-a100", "--collective", "ring", "--gpus-per-process", "2"}).err,
            "steptime: --gpus-per-process: expected the collective \"nccl\", got \"ring\"\n");
}

TEST(VerbCollective, FidelityIsThatOfTheOptionOrTheConfig) {
  // A ring of 2 ranks with 7 B: 2 alpha + 7 beta, or two messages of 4 B: 2 (alpha + 4 beta).
  const ScratchFile config("x.json", kConfig);
  const std::vector<std::string> ring{config.path(), "--collective", "ring"};
  const auto with = [&](std::vector<std::string> args, const char* fidelity) {
    args.insert(args.end(), {"--fidelity", fidelity});
    return args;
  };
  EXPECT_DOUBLE_EQ(microseconds(ring, 7), 2.007);
  EXPECT_DOUBLE_EQ(microseconds(with(ring, "message"), 7), 2.008);
  std::vector<std::string> plays = ring;
  plays.insert(plays.end(), {"--set", "/run/fidelity=message"});
  EXPECT_DOUBLE_EQ(microseconds(plays, 7), 2.008);
  Json root = Json::parse(kConfig);
  root["run"] = {{"fidelity", "message"}};
  const ScratchFile message("m.json", root.dump());
  const std::vector<std::string> default_message{message.path(), "--collective", "ring"};
  EXPECT_DOUBLE_EQ(microseconds(default_message, 7), 2.008);
  EXPECT_DOUBLE_EQ(microseconds(with(default_message, "analytic"), 7), 2.007);
  const ScratchFile measured("m.csv", "bytes,time_us\n7,2.008\n");
  const Ran compared = run({config.path(), "--collective", "ring", "--fidelity", "message",
                            "--compare", measured.path(), "--format", "json"});
  EXPECT_EQ(compared.err, "sizes: 1, geometric-mean error 0.0 %, worst +0.0 % at 7 B\n");
}

TEST(VerbCollective, MessagesTakeTheLinksOfTheNode) {
  // Two nodes of four GPUs, whose own links carry 1 GB/s; the network 10 GB/s, without latency. The
  // ring's 2 x 7 steps of M / 8 take as long as the slowest link, at both fidelities.
  Json root = Json::parse(kConfig);
  root["cluster"]["gpus_per_node"] = 4;
  root["cluster"]["network"] = {{"type", "switch"}, {"latency", "0 s"}, {"bandwidth", "10 GB/s"}};
  root["cluster"]["intra_node"] = {{"type", "switch"}, {"latency", "0 s"}, {"bandwidth", "1 GB/s"}};
  const ScratchFile config("x.json", root.dump());
  const std::vector<std::string> ring{config.path(), "--collective", "ring"};
  EXPECT_DOUBLE_EQ(microseconds(ring, 8'000'000), 2 * 7 * 1000);
  std::vector<std::string> message = ring;
  message.insert(message.end(), {"--fidelity", "message"});
  EXPECT_DOUBLE_EQ(microseconds(message, 8'000'000), 2 * 7 * 1000);
}

TEST(VerbCollective, OtherOperationsHaveTheFactorsOfNcclTests) {
  // 4 ranks, alpha 0, 1 ns/B, 4000 B; a ring's halves take 3/4 M beta each, trees 2 M beta.
  Json root = Json::parse(kConfig);
  root["cluster"]["nodes"] = 4;
  root["cluster"]["network"]["latency"] = "0 s";
  const ScratchFile config("x.json", root.dump());
  struct Expected {
    const char* name;
    double us;
    double factor;
    const char* text;
  };
  for (const auto& [name, us, factor, text] :
       {Expected{"all-gather", 3, .75, "        4000           250    float    none "},
        Expected{"all-to-all", 3, .75, "        4000           250    float    none "},
        Expected{"reduce-scatter", 3, .75, "        4000           250    float     sum "},
        Expected{"broadcast", 8, 1, "        4000          1000    float    none "},
        Expected{"reduce", 8, 1, "        4000          1000    float     sum "},
        Expected{"ring", 6, 1.5, "        4000          1000    float     sum "}}) {
    const std::vector<std::string> args{config.path(), "--collective", name};
    for (const char* fidelity : {"analytic", "message"}) {
      std::vector<std::string> all = args;
      all.insert(all.end(), {"--fidelity", fidelity});
      const Json row = one_row(all, 4000);
      EXPECT_DOUBLE_EQ(row.at("time_us"), us) << name << ' ' << fidelity;
      EXPECT_DOUBLE_EQ(row.at("algbw_GBps"), 4 / us) << name;
      EXPECT_DOUBLE_EQ(row.at("busbw_GBps"), 4 / us * factor) << name;
    }
    EXPECT_NE(run({config.path(), "--collective", name, "-b", "4000", "-e", "4000"}).out.find(text),
              std::string::npos)
        << name;
  }
}

TEST(VerbCollective, ParameterServersCountAsAWayToAllReduce) {
  // 2 workers, 1 server: 2 M beta in and 2 M beta out of its port, 4 alpha; busbw as an all-reduce.
  Json root = Json::parse(kConfig);
  root["strategy"]["aggregation"] = {{"type", "parameter-server"}, {"servers", 1}};
  const ScratchFile config("x.json", root.dump());
  const Json row = one_row({config.path()}, 1000);
  EXPECT_DOUBLE_EQ(row.at("time_us"), 4 + 4);
  EXPECT_DOUBLE_EQ(row.at("busbw_GBps"), row.at("algbw_GBps"));  // 2 (2 - 1) / 2
}

TEST(VerbCollective, NcclOptionsFitAConfigAndAPreset) {
  Json root = Json::parse(kConfig);
  root["cluster"]["intra_node"] = root["cluster"]["network"];
  const ScratchFile config("x.json", root.dump());
  for (const std::vector<std::string>& machine :
       {std::vector<std::string>{config.path()}, {"--preset", "switch"}}) {
    std::vector<std::string> args = machine;
    args.insert(args.end(), {"--nodes", "1", "--gpus", "8", "--collective", "nccl"});
    std::vector<std::string> old = args;
    old.insert(old.end(), {"--nccl-version", "2.7.8"});
    std::vector<std::string> late = args;
    late.insert(late.end(), {"--nccl-version", "2.18.3"});
    // LL over a ring of 8 and PCIe: 3.6 + 14 x 1.0 us, and 6.6 + 14 x 1.0 us from 2.18 on.
    EXPECT_NEAR(microseconds(late, 8) - microseconds(old, 8), 3, 0.01);
    std::vector<std::string> set = args;
    set.insert(set.end(), {"--set", "/strategy/aggregation/collective/version=2.18.3"});
    EXPECT_EQ(microseconds(set, 8), microseconds(late, 8));
  }
}

TEST(VerbCollective, TheConfigsOwnCollectiveKeepsItsParameters) {
  Json root = Json::parse(kConfig);
  root["cluster"]["gpus_per_node"] = 8;
  root["cluster"]["gpus"] = {{"links", "pcie"},
                             {"link_bandwidth", "1 GB/s"},
                             {"compute_capability", 70},
                             {"launch", "1 ms"}};
  root["strategy"]["aggregation"]["collective"] = {
      {"type", "nccl"}, {"version", "2.4.8"}, {"gpus_per_process", 8}};
  const ScratchFile config("x.json", root.dump());
  // 8 kernels of a process, 1 ms each, hide what the all-reduce of 8 B takes.
  EXPECT_DOUBLE_EQ(microseconds({config.path()}, 8), 8000);
  EXPECT_DOUBLE_EQ(microseconds({config.path(), "--collective", "nccl"}, 8), 8000);
  // The first two GPUs only: a process drives no more.
  EXPECT_DOUBLE_EQ(microseconds({config.path(), "--gpus", "2"}, 8), 2000);
}

TEST(VerbCollective, TuringIsVoltaWithoutLl128) {
  // NCCL asks for 7.0 exactly before it takes LL128, and for 7.0 or later elsewhere.
  Json root = Json::parse(kConfig);
  root["cluster"] = {{"nodes", 1},
                     {"gpus_per_node", 2},
                     {"network", root["cluster"]["network"]},
                     {"gpus",
                      {{"links", "nvlink"},
                       {"link_bandwidth", "20 GB/s"},
                       {"matrix", Json::parse("[[0, 2], [2, 0]]")},
                       {"compute_capability", 70}}}};
  root["strategy"]["aggregation"]["collective"] = {{"type", "nccl"}, {"version", "2.7.8"}};
  const ScratchFile config("x.json", root.dump());
  const auto table = [&](const char* capability, const char* protocol) {
    return run({config.path(), "--format", "csv", "--set",
                std::string("/cluster/gpus/compute_capability=") + capability, "--set",
                std::string("/strategy/aggregation/collective/protocol=") + protocol})
        .out;
  };
  EXPECT_NE(table("70", "auto").find("LL128"), std::string::npos);
  EXPECT_EQ(table("75", "auto").find("LL128"), std::string::npos);
  for (const char* protocol : {"ll", "simple"})
    EXPECT_EQ(table("75", protocol), table("70", protocol));
}

TEST(VerbCollective, OutsideTheDomainIsSaid) {
  const ScratchFile table("t.csv", "bytes,time_us\n8,10\n16,20\n");
  Json config = Json::parse(kConfig);
  config["strategy"]["aggregation"]["collective"] = {{"type", "table"}, {"file", table.path()}};
  const ScratchFile file("x.json", config.dump());
  EXPECT_EQ(run({file.path(), "-b", "8", "-e", "16", "--strict"}).err, "");
  const Ran outside = run({file.path(), "-b", "8", "-e", "32", "--strict"});
  EXPECT_EQ(outside.exit, 5);
  EXPECT_EQ(outside.err, "note: 32 B is outside the measured 8 to 16 B\n");
  EXPECT_EQ(run({file.path(), "-b", "8", "-e", "32"}).exit, 0);
}

/// The first doubt of `collective --strict` at 64 MiB, or "" where it exits 0.
std::string strict_doubt(std::vector<std::string> args) {
  args.insert(args.end(), {"-b", "64M", "-e", "64M", "--strict"});
  const Ran ran = run(args);
  EXPECT_EQ(ran.exit, ran.err.empty() ? 0 : 5) << ran.err;
  return ran.err;
}

// NCCL's own is validated by tables of NCCL on eight H100; a ring of messages by none.
TEST(VerbCollective, StrictRefusesAGenericRingForALibrarysAllGather) {
  EXPECT_EQ(
      strict_doubt({"--preset", "dgx-h100", "--collective", "nccl", "--operation", "all-gather"}),
      "");
  EXPECT_NE(strict_doubt({"--preset", "dgx-h100", "--collective", "all-gather"})
                .find("no measured table of all-gather all-gather from 1 MiB"),
            std::string::npos);
}

// 18 links of Hopper, 20 GB/s each as NCCL counts, have half the rate of Blackwell's.
TEST(VerbCollective, StrictRefusesBlackwellByHoppersPreset) {
  EXPECT_NE(strict_doubt({"--preset", "dgx-h100", "--collective", "nccl", "--set",
                          "/cluster/gpus/compute_capability=100"})
                .find("nvlink at 2880 Gbit/s, measured at "),
            std::string::npos);
}

// The tables of Hopper are of 2.27 to 2.29.
TEST(VerbCollective, StrictRefusesAReleaseByTheRulesOfAnother) {
  EXPECT_NE(
      strict_doubt({"--preset", "dgx-h100", "--collective", "nccl", "--nccl-version", "2.21.5"})
          .find("no measured table of NCCL 2.21"),
      std::string::npos);
}

// Without a preset nothing says what the links stand for: only --strict asks.
TEST(VerbCollective, StrictRefusesWhatNobodyMeasured) {
  const ScratchFile config("x.json", kConfig);
  const std::vector<std::string> ring{config.path(), "--collective", "ring", "-b",
                                      "1M",          "-e",           "1M"};
  EXPECT_EQ(run(ring).exit, 0);
  EXPECT_EQ(run(ring).err, "");
  std::vector<std::string> strict = ring;
  strict.emplace_back("--strict");
  EXPECT_EQ(run(strict).exit, 5);
  EXPECT_EQ(run(strict).err,
            "note: no measured table of ring all-reduce from 1 MiB between hosts over switch, "
            "several nodes\n");
}

TEST(VerbCollective, EveryMistakeIsOneLine) {
  const ScratchFile config("x.json", kConfig);
  const ScratchFile measured("m.csv", "bytes,time_us\n1000,10\n");
  const auto error = [&](std::vector<std::string> args) {
    const Ran ran = run(args);
    EXPECT_EQ(ran.exit, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  const std::string either =
      "steptime: collective: expected either CONFIG or --preset; see steptime collective "
      "--help\n";
  EXPECT_EQ(error({}), either);
  EXPECT_EQ(error({config.path(), "--preset", "k80-10gbe"}), either);
  EXPECT_TRUE(error({"--preset", "no-such"})
                  .starts_with("steptime: collective: /cluster/preset: unknown "
                               "\"no-such\"; known: "));
  EXPECT_EQ(error({config.path(), "-b", "8Q"}),
            "steptime: -b: expected a size such as 8, 64K, 128M or 1G, got \"8Q\"\n");
  EXPECT_EQ(error({config.path(), "-e", ""}),
            "steptime: --maxbytes: expected a value, got an empty one\n");
  for (const char* size : {"-8", "nan", "inf", "1e30", "K", "8KB"})
    EXPECT_NE(error({config.path(), "-e", size}).find("-e"), std::string::npos) << size;
  EXPECT_EQ(error({config.path(), "-b", "16", "-e", "8"}),
            "steptime: -b: 16 B is more than -e: 8 B\n");
  EXPECT_EQ(error({config.path(), "--format", "dot"}),
            "steptime: --format: unknown \"dot\"; known: table, json, csv\n");
  EXPECT_EQ(error({config.path(), "--links"}),
            "steptime: " + config.path() +
                ": --links plays messages: fidelity \"message\" needs a collective that is made "
                "of messages, such as ring; this one is known by its time only\n");
  EXPECT_EQ(error({config.path(), "--links", "--format", "csv"}),
            "steptime: --links: csv has no place for links; known: table, json, dot\n");
  EXPECT_EQ(error({config.path(), "-f", "1"}), "steptime: -f: expected more than 1, got 1\n");
  EXPECT_EQ(error({config.path(), "-i", "0"}), "steptime: -i: must be positive, got 0\n");
  EXPECT_EQ(error({config.path(), "-b", "0", "-e", "1G", "-i", "1"}),
            "steptime: -b, -e: more than 100000 sizes\n");
  EXPECT_EQ(error({config.path(), "--format", "xml"}),
            "steptime: --format: unknown \"xml\"; known: table, json, csv\n");
  EXPECT_EQ(
      error({config.path(), "--compare", measured.path(), "-b", "2K"}),
      "steptime: " + measured.path() + ": no measurement from 2048 B to 9223372036854775807 B\n");
  EXPECT_EQ(error({config.path(), "--nodes", "0"}),
            "steptime: " + config.path() +
                ": /cluster/nodes: must be at least 1 and at most 10000000, got 0\n");
}

TEST(VerbCollective, LinksOfTheLargestSize) {
  const std::vector<std::string> tree{"--preset", "p3.16xlarge",  "--gpus", "4",  "--nodes",
                                      "1",        "--collective", "tree",   "-b", "1M",
                                      "-e",       "2M",           "--links"};
  const std::string text = run(tree).out;
  // The pair of GPUs 0 and 1 has a single NVLink.
  EXPECT_NE(text.find("# links, for 2097152 B; the busiest first, which limits it\n"),
            std::string::npos);
  EXPECT_NE(text.find("  gpu0  gpu1  nvlink      23.94  2097152"), std::string::npos) << text;
  const auto with = [&](const char* format) {
    auto args = tree;
    args.insert(args.end(), {"--format", format});
    return run(args).out;
  };
  const Json rows = parse_json(with("json"), "out");
  EXPECT_FALSE(rows.at(0).contains("links"));
  EXPECT_EQ(rows.at(1).at("links").size(), 6U);
  EXPECT_EQ(rows.at(1).at("links").at(0).at("bytes"), 2097152);
  EXPECT_TRUE(with("dot").starts_with("graph machine {\n"));
}

}  // namespace
}  // namespace steptime
