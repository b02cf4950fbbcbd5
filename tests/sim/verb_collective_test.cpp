// `steptime collective`: sizes, comparison, formats, and every way to get it wrong.
#include "sim/cli.h"
#include "sim/json.h"
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
  const Ran preset = run({"--preset", "k80-10gbe", "--nodes", "4", "--gpus", "2", "--collective",
                          "nccl", "--nccl-version", "2.4.8", "-b", "8", "-e", "8"});
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
      "steptime: steptime collective: expected either CONFIG or --preset; see steptime collective "
      "--help\n";
  EXPECT_EQ(error({}), either);
  EXPECT_EQ(error({config.path(), "--preset", "k80-10gbe"}), either);
  EXPECT_TRUE(error({"--preset", "no-such"})
                  .starts_with("steptime: steptime collective: /cluster/preset: unknown "
                               "\"no-such\"; known: "));
  EXPECT_EQ(error({config.path(), "-b", "8Q"}),
            "steptime: -b: expected a size such as 8, 64K, 128M or 1G, got \"8Q\"\n");
  for (const char* size : {"", "-8", "nan", "inf", "1e30", "K", "8KB"})
    EXPECT_NE(error({config.path(), "-e", size}).find("-e"), std::string::npos) << size;
  EXPECT_EQ(error({config.path(), "-b", "16", "-e", "8"}),
            "steptime: -b: 16 B is more than -e: 8 B\n");
  EXPECT_EQ(error({config.path(), "-f", "1"}), "steptime: -f: expected more than 1, got 1\n");
  EXPECT_EQ(error({config.path(), "-i", "0"}), "steptime: -i: must be positive, got 0\n");
  EXPECT_EQ(error({config.path(), "-b", "0", "-e", "1G", "-i", "1"}),
            "steptime: -b, -e: more than 100000 sizes\n");
  EXPECT_EQ(error({config.path(), "--format", "xml"}),
            "steptime: --format: unknown \"xml\"; known: table, json, csv\n");
  EXPECT_EQ(error({config.path(), "--fidelity", "message"}),
            "steptime: --fidelity: unknown \"message\"; known: analytic\n");
  EXPECT_EQ(
      error({config.path(), "--compare", measured.path(), "-b", "2K"}),
      "steptime: " + measured.path() + ": no measurement from 2048 B to 9223372036854775807 B\n");
  EXPECT_EQ(error({config.path(), "--nodes", "0"}),
            "steptime: " + config.path() +
                ": /cluster/nodes: must be at least 1 and at most 10000000, got 0\n");
  EXPECT_TRUE(error({config.path(), "--nccl-version", "2.4.8"})
                  .starts_with("steptime: " + config.path() +
                               ": /strategy/aggregation/collective/version: unknown key"));
}

}  // namespace
}  // namespace steptime
