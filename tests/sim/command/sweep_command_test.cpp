// Sweeps into a folder: nothing that is finished is lost, and however the points were shared and
// interrupted, the files have the same bytes.
#include "sim/command/sweep_command.h"

#include "tests/support/tiny_experiment.h"

#include <atomic>
#include <filesystem>
#include <ostream>
#include <set>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kHundred = R"({"sweep": {"/cluster/nodes": {"from": 1, "to": 25, "plus": 1},
    "/strategy/schedule/type": ["wfbp", "mg-wfbp", "optimal", "none"]}})";

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
  EXPECT_EQ(names_in(folder, "out"), (std::set<std::string>{"tiny.csv", "tiny.jsonl"}));
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
  EXPECT_EQ(names_in(folder, "out"), (std::set<std::string>{"tiny.csv", "tiny.jsonl"}));
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
  EXPECT_NE(other.err.find("it is of another config or other --set values"), std::string::npos)
      << other.err;
  // A trace that changed since is seen by the points that are there.
  folder.patch_trace(R"({"batch": 64})");
  EXPECT_EQ(steptime({"sweep", file, "-o", out, "--resume"}).err,
            "steptime: " + out +
                ": point 0 gives another row now, as a file that the config names "
                "has changed since; remove tiny.unfinished and .shard files to "
                "start anew\n");
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
  EXPECT_EQ(names_in(folder, "out"), (std::set<std::string>{"tiny.csv", "tiny.jsonl"}));
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
  EXPECT_EQ(names_in(folder, "out"), (std::set<std::string>{"tiny.csv", "tiny.jsonl"}));
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
