// A sweep's results become a picture, or one line says why not.
#include "tests/support/tiny_experiment.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

bool has_gnuplot() {
  return std::system("command -v gnuplot > /dev/null 2>&1") == 0;  // NOLINT(concurrency-mt-unsafe)
}

std::string results(const TinyFolder& folder) {
  const std::string config = folder.experiment(R"({"sweep": {"/cluster/nodes": [2, 4, 8]}})");
  EXPECT_EQ(steptime({"sweep", config, "-o", folder.path("r")}).exit, 0);
  return folder.path("r/tiny.jsonl");
}

TEST(VerbPlot, DrawsASweepOrNamesThePackageThatDoes) {
  const TinyFolder folder;
  const std::string file = results(folder);
  const std::string picture = folder.path("x.svg");
  const Outcome plotted = steptime({"plot", file, "-o", picture});
  if (!has_gnuplot()) {
    EXPECT_EQ(plotted.exit, 6);
    EXPECT_EQ(plotted.err, "steptime: gnuplot is not installed: apt-get install gnuplot-nox\n");
    EXPECT_FALSE(folder.has("x.svg"));
    return;
  }
  EXPECT_EQ(plotted.exit, 0) << plotted.err;
  EXPECT_EQ(plotted.err, "wrote " + picture + ": 3 points\n");
  EXPECT_NE(folder.read("x.svg").find("<svg"), std::string::npos);
  EXPECT_NE(folder.read("x.svg").find("speedup"), std::string::npos);
}

/// A line for each, named in the legend.
TEST(VerbPlot, DrawsSeveralSweeps) {
  if (!has_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  const TinyFolder folder;
  const std::string file = results(folder);
  std::filesystem::copy_file(file, folder.path("r/other.jsonl"));
  const Outcome plotted =
      steptime({"plot", file, folder.path("r/other.jsonl"), "-o", folder.path("x.svg")});
  EXPECT_EQ(plotted.err, "wrote " + folder.path("x.svg") + ": 6 points\n");
  for (const char* text : {">experiment<", ">tiny<", ">other<"})
    EXPECT_NE(folder.read("x.svg").find(text), std::string::npos) << text;
  EXPECT_EQ(steptime({"plot", file, file, "-o", folder.path("x.svg")}).err,
            "steptime: " + file + ": is named twice\n");
}

TEST(VerbPlot, RefusesWhatItCannotDraw) {
  const TinyFolder folder;
  const std::string file = results(folder);
  EXPECT_EQ(steptime({"plot", file, "-o", folder.path("x.gif")}).err,
            "steptime: --output: expected a name that ends in .svg, .png or .pdf, got \"" +
                folder.path("x.gif") + "\"\n");
  EXPECT_EQ(steptime({"plot", file, "-o", folder.path("x.svg"), "--where", "nodes"}).err,
            "steptime: --where nodes: expected /pointer=value\n");
  EXPECT_EQ(steptime({"plot", file, "-o", folder.path("x.svg"), "--key", "epoch_time_s"}).err,
            "steptime: " + file + ": all 3 points have no epoch_time_s\n");
  EXPECT_EQ(steptime({"plot", "-o", folder.path("x.svg")}).err,
            "steptime: plot: expected RESULTS; see steptime plot --help\n");
  EXPECT_FALSE(folder.has("x.svg"));
}

}  // namespace
}  // namespace steptime
