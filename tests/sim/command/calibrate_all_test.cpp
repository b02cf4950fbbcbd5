// The programs that measure are stood in for by a script.
#include "sim/command/calibrate_all.h"

#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <filesystem>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Says in a line what it was asked, writes 10 us + 1 ns/B as all-reduces or a trace that nobody
/// looks into, and has no GPU.
constexpr const char* kScript = R"(#!/bin/sh
echo "$2 $3 $4" >>"$(dirname "$0")/asked"
what=$2
while [ "$1" != -o ]; do shift; done
if [ "$what" = compute ]; then echo '{}' >"$2"; exit 0; fi
[ "$what" = cuda ] && exit 6
cat >"$2" <<JSON
{"format": "steptime-measurements", "version": 1, "nodes": 1,
 "provenance": {"source": "$what", "date": "2026-01-31"},
 "series": [{"operation": "all-reduce", "ranks": 2, "sizes": [
   {"bytes": 1000, "seconds": [11e-6, 11e-6]}, {"bytes": 2000, "seconds": [12e-6, 12e-6]},
   {"bytes": 4000, "seconds": [14e-6, 14e-6]}]}]}
JSON
)";

struct Said {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = out, .err = err};
};

void write_program(const TinyFolder& folder, const char* name, const char* text) {
  std::filesystem::permissions(folder.write(name, text), std::filesystem::perms::owner_all);
}

TEST(CalibrateAll, MakesOneProfileOfWhatCanBeMeasured) {
  const TinyFolder folder;
  write_program(folder, "steptime", kScript);
  Said said;
  const AllRequest request{folder.path(""), folder.path("lab.json"), 2, 60, "torch/resnet50"};
  EXPECT_EQ(calibrate_all(request, said.terminal), Exit::kOk) << said.err.str();
  const Json profile = Json::parse(folder.read("lab.json"));
  EXPECT_EQ(profile.at("format"), "steptime-cluster");
  const Json& provenance = profile.at("provenance");
  EXPECT_EQ(provenance.at("source"), "steptime calibrate all");
  EXPECT_EQ(provenance.at("date"), "2026-01-31");
  EXPECT_TRUE(provenance.at("parts").contains("nccl"));
  EXPECT_FALSE(provenance.at("parts").contains("cuda"));
  EXPECT_EQ(provenance.at("traces"),
            Json({folder.path("lab.layers-cpu.json"), folder.path("lab.layers-gpu.json")}));
  // mpirun, where it is there, starts the script as well: then both have an all-reduce.
  EXPECT_TRUE(profile.at("operations").contains("all-reduce"));
  EXPECT_NE(
      said.err.str().find("2 of 5: calibrate cuda, at most 12 s\nleft out: it ended with 6\n"),
      std::string::npos)
      << said.err.str();
  EXPECT_NE(folder.read("asked").find("compute --backend gpu\n"), std::string::npos);
}

TEST(CalibrateAll, SaysWhenNothingCanBeMeasured) {
  const TinyFolder folder;
  write_program(folder, "steptime", "#!/bin/sh\nexit 6\n");
  Said said;
  EXPECT_EQ(message_of<MissingError>([&] {
              calibrate_all({folder.path(""), folder.path("lab.json"), 2, 60, "m"}, said.terminal);
            }),
            "nothing could be measured for a profile: apt-get install libopenmpi-dev openmpi-bin, "
            "and build again");
}

TEST(CalibrateAll, EndsWhatTakesTooLong) {
  const TinyFolder folder;
  write_program(folder, "steptime", "#!/bin/sh\nexec sleep 100\n");
  Said said;
  EXPECT_THROW(
      calibrate_all({folder.path(""), folder.path("lab.json"), 2, 0.5, "m"}, said.terminal),
      MissingError);
  EXPECT_NE(said.err.str().find("left out: it ended with 143\n"), std::string::npos);  // SIGTERM
}

}  // namespace
}  // namespace steptime
