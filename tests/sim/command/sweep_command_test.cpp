// Sweeps into a folder: nothing that is finished is lost, and however the points were shared and
// interrupted, the files have the same bytes.
#include "sim/command/sweep_command.h"

#include "sim/config/data_dir.h"
#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "tests/support/tiny_experiment.h"

#include <atomic>
#include <filesystem>
#include <ostream>
#include <random>
#include <set>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kHundred = R"({"sweep": {"/cluster/nodes": {"from": 1, "to": 25, "plus": 1},
    "/strategy/schedule/type": ["wfbp", "mg-wfbp", "optimal", "none"]}})";

const std::set<std::string> kWhole{"tiny.csv", "tiny.inputs.json", "tiny.jsonl"};

std::set<std::string> names_in(const TinyFolder& folder, const std::string& name) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(name)))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(SweepCommand, ShardsAreJoinedToTheSameBytes) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kHundred);
  const std::string whole = steptime({"sweep", file, "--format", "jsonl"}).out;
  for (const char* shard : {"3/4", "1/4", "4/4", "2/4"}) {
    const Outcome part =
        steptime({"sweep", file, "-o", folder.path("out"), "--shard", shard, "--format", "jsonl"});
    EXPECT_EQ(part.exit, shard[0] == '4' ? 4 : 0);  // which has "none"
    EXPECT_EQ(lines_of(part.out).size(), 25U);
  }
  EXPECT_EQ(names_in(folder, "out"),
            (std::set<std::string>{"tiny.1-of-4.shard", "tiny.2-of-4.shard", "tiny.3-of-4.shard",
                                   "tiny.4-of-4.shard"}));
  EXPECT_NE(folder.read("out/tiny.2-of-4.shard").find("\"complete\":true"), std::string::npos);
  const Outcome merged = steptime({"merge", file, "-o", folder.path("out"), "--format", "jsonl"});
  EXPECT_EQ(merged.exit, 4);
  EXPECT_EQ(merged.out, whole);
  EXPECT_EQ(folder.read("out/tiny.jsonl"), whole);
  EXPECT_EQ(folder.read("out/tiny.csv"), steptime({"sweep", file, "--format", "csv"}).out);
  EXPECT_EQ(names_in(folder, "out"), kWhole);
}

TEST(SweepCommand, AMergeOfTooFewIsRefused) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kHundred);
  steptime({"sweep", file, "-o", folder.path("out"), "--shard", "1/2"});
  const Outcome merged = steptime({"merge", file, "-o", folder.path("out")});
  EXPECT_EQ(merged.exit, 2);
  EXPECT_EQ(merged.err, "steptime: " + folder.path("out") +
                            ": 50 of 100 points of tiny are missing, the first is 1\n");
  // --resume simulates what is missing, whoever did the rest.
  EXPECT_EQ(steptime({"sweep", file, "-o", folder.path("out"), "--resume"}).exit, 4);
  EXPECT_EQ(folder.read("out/tiny.jsonl"), steptime({"sweep", file, "--format", "jsonl"}).out);
}

/// Of a shard's 50 rows the third is altered, and 47 stand behind it.
TEST(SweepCommand, ResumingSaysWhichRowsWereDamaged) {
  const TinyFolder folder;
  const std::vector<std::string> args{"sweep",   folder.experiment(kHundred),
                                      "-o",      folder.path("out"),
                                      "--shard", "1/2",
                                      "--jobs",  "1",
                                      "--resume"};
  steptime(args);
  const std::string whole = folder.read("out/tiny.1-of-2.shard");
  std::string damaged = whole;
  damaged.at(damaged.find("{\"point\":4,") + 12) = '#';
  folder.write("out/tiny.1-of-2.shard", damaged);
  const std::string said = steptime(args).err;
  EXPECT_NE(said.find("warning: " + folder.path("out/tiny.1-of-2.shard") + ":"), said.npos) << said;
  EXPECT_NE(said.find(": it and the 47 rows behind it are simulated again\n"), said.npos) << said;
  EXPECT_EQ(folder.read("out/tiny.1-of-2.shard"), whole);
}

/// Interrupts the sweep when so many bytes were written.
class Tripwire : public std::stringbuf {
 public:
  Tripwire(std::atomic<bool>& flag, std::size_t bytes) : flag_(flag), bytes_(bytes) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const auto written = std::stringbuf::xsputn(text, size);
    if (str().size() >= bytes_) flag_ = true;
    return written;
  }

 private:
  std::atomic<bool>& flag_;
  std::size_t bytes_;
};

TEST(SweepCommand, ResumesUntilItHasTheSameBytes) {
  const TinyFolder folder;
  const std::string file =
      folder.experiment(R"({"sweep": {"/run/seed": {"from": 1, "to": 3000, "plus": 1}}})");
  const std::string whole = steptime({"sweep", file, "--format", "jsonl"}).out;
  std::vector<std::string> args{"sweep",    file,    "-o", folder.path("out"),
                                "--format", "jsonl", "-j2"};
  std::size_t bytes = 1;
  for (int interruptions = 0;; ++interruptions) {
    ASSERT_LT(interruptions, 20);
    std::atomic<bool> interrupted{false};
    Tripwire wire(interrupted, bytes);
    std::ostream out(&wire);
    std::ostringstream err;
    const int exit = run_command_line(args, {.out = out, .err = err, .interrupted = &interrupted});
    args.resize(7);
    args.emplace_back("--resume");
    bytes += whole.size() / 3;
    const std::string said = wire.str();
    if (exit == 0) {
      EXPECT_GE(interruptions, 2);
      EXPECT_EQ(said, whole);
      break;
    }
    EXPECT_EQ(exit, 130);
    const std::size_t end = said.rfind("{\"interrupted\":");
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(said.substr(0, end), whole.substr(0, end));
    EXPECT_TRUE(err.str().ends_with(" of 3000 points are done; --resume goes on with the others\n"))
        << err.str();
    EXPECT_EQ(names_in(folder, "out"), (std::set<std::string>{"tiny.unfinished"}));
  }
  EXPECT_EQ(folder.read("out/tiny.jsonl"), whole);
  EXPECT_EQ(names_in(folder, "out"), kWhole);
}

TEST(SweepCommand, AnUnfinishedOneIsNeitherForgottenNorMixedWithAnother) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kHundred);
  const std::string out = folder.path("out");
  steptime({"sweep", file, "-o", out, "--shard", "1/2"});
  EXPECT_EQ(steptime({"sweep", file, "-o", out}).err,
            "steptime: " + out +
                "/tiny.1-of-2.shard: holds 50 points of a sweep that did not end; "
                "--resume continues it, or remove the file\n");
  const Outcome other = steptime({"sweep", file, "-o", out, "--resume", "--set", "/run/seed=5"});
  EXPECT_EQ(other.exit, 2);
  EXPECT_NE(other.err.find(file + " was edited since, or there are other --set values"),
            std::string::npos)
      << other.err;
}

// A sweep that reads a file of every kind: each has its digest beside the rows, and after an edit
// of any, rows of before and after it are never joined.
class EditedInput : public testing::TestWithParam<const char*> {
 protected:
  EditedInput() {
    for (const auto& [name, shipped] : {std::pair{"device.json", "models/devices/v100.json"},
                                        {"layers.json", "models/caffe/alexnet.json"},
                                        {"preset.json", "netmodels/presets/k80-10gbe.json"}})
      folder_.write(name, text_at((data_dir() / shipped).string()));
    folder_.write("table.csv", "bytes,time_us\n4,10\n1000000000,1000000\n");
    folder_.write("x.json", R"({"name": "tiny",
        "workload": {"trace": "trace.json"},
        "cluster": {"preset": "preset.json", "nodes": 4},
        "strategy": {"aggregation": {"type": "all-reduce",
                                     "collective": {"type": "table", "file": "table.csv"}}},
        "sweep": {"/workload": [{"trace": "trace.json"},
                                {"model": "layers.json", "device": "device.json", "batch": 8}],
                  "/run/seed": [1, 2, 3]}})");
  }
  Outcome sweep(const std::string& shard) const {
    return steptime({"sweep", folder_.path("x.json"), "-o", out_, "--shard", shard, "--resume"});
  }
  /// Another digest, and the same meaning.
  void edit() const { folder_.write(GetParam(), text_at(folder_.path(GetParam())) + "\n"); }
  TinyFolder folder_;
  std::string out_ = folder_.path("out");
};

TEST_P(EditedInput, IsNeverMixedWithWhatItWas) {
  ASSERT_EQ(sweep("1/2").exit, 0) << sweep("1/2").err;
  edit();
  ASSERT_EQ(sweep("2/2").exit, 0);
  const Outcome merged = steptime({"merge", folder_.path("x.json"), "-o", out_});
  EXPECT_EQ(merged.exit, 2);
  EXPECT_EQ(
      merged.err.find("steptime: " + out_ + "/tiny.2-of-2.shard: expected rows computed from " +
                      GetParam() + " with sha1 "),
      0U)
      << merged.err;
  EXPECT_EQ(names_in(folder_, "out"),
            (std::set<std::string>{"tiny.1-of-2.shard", "tiny.2-of-2.shard"}));
}

TEST_P(EditedInput, IsNotWhatAResumedSweepBeganWith) {
  ASSERT_EQ(sweep("1/2").exit, 0);
  edit();
  for (const Outcome& refused :
       {sweep("1/2"), steptime({"sweep", folder_.path("x.json"), "-o", out_, "--resume"})}) {
    EXPECT_EQ(refused.exit, 2);
    EXPECT_EQ(refused.err.find("steptime: " + folder_.path(GetParam()) + ": expected sha1 "), 0U)
        << refused.err;
  }
}

TEST_P(EditedInput, IsRefusedByAMergeOfWhatIsWhole) {
  for (const char* shard : {"1/2", "2/2"})
    ASSERT_EQ(sweep(shard).exit, 0);
  const std::string before = text_at(folder_.path(GetParam()));
  edit();
  const std::vector<std::string> merge{"merge", folder_.path("x.json"), "-o", out_};
  EXPECT_EQ(steptime(merge).err.find("steptime: " + folder_.path(GetParam()) + ": expected sha1 "),
            0U);
  folder_.write(GetParam(), before);
  EXPECT_EQ(steptime(merge).exit, 0);
  const Json inputs = Json::parse(folder_.read("out/tiny.inputs.json"));
  EXPECT_EQ(inputs.at("sha1").at(GetParam()), sha1_of(before));
}

INSTANTIATE_TEST_SUITE_P(All, EditedInput,
                         testing::Values("x.json", "trace.json", "preset.json", "device.json",
                                         "table.csv", "layers.json"),
                         [](const auto& input) {
                           const std::string name = input.param;
                           return name.substr(0, name.find('.'));
                         });

// Shipped files have no place beside the config.
TEST(SweepCommand, SaysWhichShippedFilesItWasComputedFrom) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"cluster": {"preset": "k80-10gbe", "network": null}, "sweep": {"/run/seed": [1, 2]}})");
  ASSERT_EQ(steptime({"sweep", file, "-o", folder.path("out")}).exit, 0);
  const Json inputs = Json::parse(folder.read("out/tiny.inputs.json"));
  std::vector<std::string> names;
  for (const auto& [name, digest] : inputs.at("sha1").items())
    names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"steptime:netmodels/presets/k80-10gbe.json",
                                      "steptime:traces/record.jsonl", "trace.json", "x.json"}));
}

/// The text with a byte changed, added or taken away, lines exchanged or doubled, or cut short.
std::string mutated(std::string text, std::mt19937_64& random) {
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
  for (std::size_t times = 1 + below(3); times > 0 && !text.empty(); --times) {
    const std::size_t at = below(text.size());
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        text[at] = "0123456789.,\"{}:\n"[below(17)];
        break;
      case 2:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 3:
        text.erase(at, 1 + below(40));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, text.substr(below(text.size()), below(2000)));
        break;
      default: {
        const std::size_t from = text.rfind('\n', at) + 1;
        const std::string line = text.substr(from, text.find('\n', from) + 1 - from);
        text.insert(text.rfind('\n', below(text.size())) + 1, line);
      }
    }
  }
  return text;
}

// Whatever was done to a shard's file: a merge gives the bytes of the sweep, or a line that says
// what is wrong.
TEST(SweepCommand, AMutatedShardGivesNoOtherRow) {
  constexpr int kFiles = 3000;
  const TinyFolder folder;
  const std::string file =
      folder.experiment(R"({"sweep": {"/run/seed": {"from": 1, "to": 12, "plus": 1}}})");
  const std::string whole = steptime({"sweep", file, "--format", "jsonl"}).out;
  const std::string out = folder.path("out");
  for (const char* shard : {"1/2", "2/2"})
    steptime({"sweep", file, "-o", out, "--shard", shard});
  const std::string first = folder.read("out/tiny.1-of-2.shard");
  const std::string second = folder.read("out/tiny.2-of-2.shard");
  std::mt19937_64 random(1);
  int taken = 0;
  for (int i = 0; i < kFiles; ++i) {
    folder.write("out/tiny.1-of-2.shard", mutated(first, random));
    folder.write("out/tiny.2-of-2.shard", second);
    const Outcome merged = steptime({"merge", file, "-o", out, "--format", "jsonl"});
    if (merged.exit == 0) {
      ++taken;  // such as a line twice
      ASSERT_EQ(merged.out, whole) << i;
      continue;
    }
    ASSERT_EQ(merged.exit, 2) << i << merged.err;
    ASSERT_EQ(merged.out, "");
    ASSERT_EQ(lines_of(merged.err).size(), 1U) << merged.err;
  }
  EXPECT_LT(taken, kFiles / 2);
}

TEST(SweepCommand, AConfigThatIsWrongBeforeAnyPointLeavesGoodOutput) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kHundred);
  const std::string out = folder.path("out");
  steptime({"sweep", file, "-o", out});
  const std::string good = folder.read("out/tiny.jsonl");
  const Outcome wrong =
      steptime({"sweep", file, "-o", out, "--set", "/cluster/network/bandwidth=\"1 parsec\""});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_EQ(wrong.err.rfind("steptime: " + file + ": /cluster/network/bandwidth: ", 0), 0U)
      << wrong.err;
  EXPECT_EQ(folder.read("out/tiny.jsonl"), good);
  EXPECT_EQ(names_in(folder, "out"), kWhole);
}

TEST(SweepCommand, AnOutputIsNoInput) {
  const TinyFolder folder;
  Json config = Json::parse(kTinyExperiment);
  const std::string file = folder.write("tiny.jsonl", config.dump());
  const Outcome sweep = steptime({"sweep", file, "-o", folder.path(".")});
  EXPECT_EQ(sweep.exit, 2);
  EXPECT_EQ(sweep.err, "steptime: " + folder.path("./tiny.jsonl") +
                           ": is an input, which is not written over\n");
  EXPECT_EQ(folder.read("tiny.jsonl"), config.dump());
  // Nor by another name.
  std::filesystem::create_symlink(file, folder.path("link.json"));
  EXPECT_EQ(steptime({"run", file, "--timeline", folder.path("link.json")}).exit, 2);
  EXPECT_EQ(folder.read("tiny.jsonl"), config.dump());
}

TEST(SweepCommand, SeveralProcessesShareThePoints) {
  // Two members one after the other: the first is interrupted after some points.
  const TinyFolder folder;
  const std::string file = folder.experiment(kHundred);
  const std::string whole = steptime({"sweep", file, "--format", "jsonl"}).out;
  std::ostringstream out, err;
  std::int64_t next = 0;
  std::string first_ones;
  SweepCrew crew{.members = 2,
                 .take = [&](std::int64_t count) { return std::exchange(next, next + count); },
                 .sum = [](std::int64_t value) { return value; }};
  SweepRequest request{.config = file, .sets = {}, .format = "jsonl", .folder = folder.path("out")};
  // Member 1 gets only the first 40 points, as if member 0 had taken the others.
  crew.member = 1;
  crew.first_ones = [](const std::string&) {
    Json missing;
    for (int i = 0; i < 40; ++i)
      missing.push_back(i);
    return missing.dump();
  };
  EXPECT_EQ(run_sweep_command(request, {.out = out, .err = err}, crew), Exit::kInterrupted);
  crew.member = 0;
  next = 0;
  request.resume = true;
  crew.first_ones = [](const std::string& text) { return text; };
  EXPECT_EQ(run_sweep_command(request, {.out = out, .err = err}, crew), Exit::kSweepHasFailures);
  EXPECT_EQ(out.str(), whole);
  EXPECT_EQ(folder.read("out/tiny.jsonl"), whole);
  EXPECT_EQ(names_in(folder, "out"), kWhole);
}

TEST(SweepCommand, WhatGoesWithAFolderNeedsOne) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kHundred);
  EXPECT_EQ(steptime({"sweep", file, "--resume"}).err,
            "steptime: --resume: expected -o, a folder\n");
  EXPECT_EQ(steptime({"sweep", file, "--shard", "1/2"}).err,
            "steptime: --shard: expected -o, a folder\n");
  EXPECT_EQ(steptime({"merge", file}).exit, 2);
}

}  // namespace
}  // namespace steptime
