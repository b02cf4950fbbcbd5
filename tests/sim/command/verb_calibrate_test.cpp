// What `calibrate fit` fits is tested with sim/evidence/curve_fit.h; here, the way through files.
#include "tests/support/tiny_experiment.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::string kTable = "bytes,time_us\n4,10\n1000,20\n2000,30\n4000,50\n8000,90\n16000,170\n";

std::vector<std::string> fit_args(const std::string& file, std::vector<std::string> more = {}) {
  std::vector<std::string> args{"calibrate", "fit",    file,         "--ranks",   "4",  "--source",
                                "a book",    "--date", "2024-02-01", "--licence", "MIT"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(VerbCalibrate, FitsATableToAPresetThatRuns) {
  const TinyFolder folder;
  const Outcome fit =
      steptime(fit_args(folder.write("t.csv", kTable), {"-o", folder.path("lab.json")}));
  ASSERT_EQ(fit.exit, 0) << fit.err;
  EXPECT_EQ(fit.err, "wrote " + folder.path("lab.json") + "\n");
  EXPECT_EQ(lines_of(fit.out).front().substr(0, 9), "operation") << fit.out;
  const Json profile = Json::parse(folder.read("lab.json"));
  EXPECT_EQ(profile.at("provenance").at("source"), "a book");
  EXPECT_EQ(profile.at("operations").at("all-reduce").at("interval_from"), "held-out sizes");
  const Outcome run = steptime({"run", folder.experiment(R"({
    "cluster": {"preset": "lab.json", "nodes": null, "network": null},
    "strategy": {"aggregation": {"collective": {"type": "profile", "a": null, "b": null}}}})")});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_NE(run.out.find("95 % intervals"), std::string::npos) << run.out;
}

TEST(VerbCalibrate, SaysWhatIsMissing) {
  const TinyFolder folder;
  const std::string file = folder.write("t.csv", kTable);
  EXPECT_EQ(steptime({"calibrate", "fit"}).err,
            "steptime: calibrate fit: expected FILE; see steptime calibrate --help\n");
  EXPECT_EQ(steptime({"calibrate", "fit", file, "--date", "2024-02-01"}).err,
            "steptime: calibrate fit: expected --ranks, --source, --licence, which the "
            "table does not say\n");
  std::vector<std::string> of_one = fit_args(file);
  of_one.at(4) = "1";
  EXPECT_EQ(steptime(of_one).err, "steptime: --ranks: expected 2 to 10000000, got 1\n");
  of_one.at(4) = "0";
  EXPECT_EQ(steptime(of_one).err, "steptime: --ranks: expected 2 to 10000000, got 0\n");
  of_one.at(4) = "2147483647";  // of a machine that no config can have
  EXPECT_EQ(steptime(of_one).err, "steptime: --ranks: expected 2 to 10000000, got 2147483647\n");
  EXPECT_EQ(steptime(fit_args(file, {"--nodes", "0"})).err,
            "steptime: --nodes: expected 1 to 10000000, got 0\n");
  EXPECT_EQ(steptime(fit_args(file, {"--seed", "-1"})).err,
            "steptime: --seed: expected at least 0, got -1\n");
  std::vector<std::string> of_no_day = fit_args(file);
  of_no_day.at(8) = "2026-13-45";
  EXPECT_EQ(steptime(of_no_day).err,
            "steptime: --date: expected a day such as 2026-01-31, got \"2026-13-45\"\n");
  EXPECT_EQ(steptime(fit_args(file, {"--operation", "foo"})).err,
            "steptime: --operation: unknown \"foo\"; known: all-reduce, all-gather, "
            "reduce-scatter, broadcast, reduce, all-to-all, ping-pong\n");
  std::vector<std::string> twice = fit_args(file);
  twice.push_back(file);
  EXPECT_EQ(steptime(twice).err, "steptime: " + file + ": the same sizes and times as a table of " +
                                     file + ", expected another round\n");
  const std::string empty = folder.write("empty.csv", "");
  EXPECT_EQ(steptime({"calibrate", "fit", empty}).err,
            "steptime: " + empty + ": no measurement found\n");
  EXPECT_EQ(steptime({"calibrate", "rings"}).err,
            "steptime: calibrate: expected all, compute, cuda, fit, mpi or nccl, got "
            "\"rings\"\n");
  EXPECT_EQ(steptime({"calibrate", "all", "-o", folder.path("p"), "--seconds", "0"}).err,
            "steptime: --seconds: expected more than 0, less than 1e6, got 0\n");
  // No companion is beside the test's program.
  for (const std::vector<std::string>& args : {std::vector<std::string>{"calibrate", "cuda"},
                                               {"calibrate", "nccl"},
                                               {"calibrate", "compute", "--backend", "gpu"}}) {
    EXPECT_EQ(steptime(args).err,
              "steptime: steptime-cuda is not there: it is built where CUDA is found; apt-get "
              "install nvidia-cuda-toolkit, and build again\n");
  }
  EXPECT_EQ(steptime({"calibrate", "mpi"}).exit, 6);
  EXPECT_EQ(
      steptime({"calibrate", "compute"}).err,
      "steptime: steptime-dnnl is not there: it is built where oneDNN is found; apt-get install "
      "libdnnl-dev, and build again\n");
}

}  // namespace
}  // namespace steptime
