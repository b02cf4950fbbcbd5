// Did any shipped experiment change? Every configs/<name>.json is run, with every point of its
// sweep and every figure that it claims, and compared with tests/golden/<name>.json, a JSON list
// with one row per line. STEPTIME_UPDATE_GOLDENS=1 in the environment writes the files anew, to be
// reviewed like code.
//
// Rows hold numbers that are the same for every compiler and build type: times are whole
// picoseconds until they are printed, and nothing is printed through a library that may round
// differently.
#include "sim/config/json.h"
#include "sim/config/output_files.h"
#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/evidence/claims.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "sim/sweeps/point_runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

const fs::path kConfigs = fs::path(STEPTIME_SOURCE_DIR) / "configs";
const fs::path kGoldens = fs::path(STEPTIME_TESTS_DIR) / "golden";

bool updates() {
  const char* wanted = std::getenv("STEPTIME_UPDATE_GOLDENS");
  return wanted != nullptr && std::string(wanted) == "1";
}

/// Paths of the .json files below a folder, relative to it, in order.
std::vector<std::string> json_files(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") {
      files.push_back(entry.path().lexically_relative(folder).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// `head` with what a run gave.
Json row_of(Json head, const std::vector<SentBucket>& buckets, const Result& result) {
  Bytes bytes{};
  for (const SentBucket& bucket : buckets)
    bytes += bucket.bytes;
  head["step_s"] = result.step_time_s;
  head["compute_s"] = result.compute_time_s;
  head["comm_busy_s"] = result.comm_busy_s;
  head["exposed_comm_s"] = result.exposed_comm_s;
  head["messages"] = result.messages;
  head["bytes"] = bytes.count;
  head["fingerprint"] = fmt::format("{:016x}", result.fingerprint);
  return head;
}

/// A message without the place of this source tree.
std::string portable(std::string message) {
  const std::string here = std::string(STEPTIME_SOURCE_DIR) + "/";
  for (auto at = message.find(here); at != std::string::npos; at = message.find(here))
    message.erase(at, here.size());
  return message;
}

std::vector<std::string> simulated_rows(const std::string& file) {
  const std::string path = (kConfigs / file).string();
  const Json root = parse_json(read_file(path), path);
  // Learning takes seconds a point; one epoch of one seed shows whether anything changed.
  const bool learns = root.contains(Json::json_pointer("/run/convergence"));
  const std::vector<std::string> one_epoch{"/run/convergence/seeds=1", "/run/convergence/epochs=1"};
  const auto document = load_document(path, learns ? one_epoch : std::vector<std::string>{});
  std::vector<std::string> rows;
  const Experiment experiment = read_experiment(document);
  std::vector<SentBucket> buckets;
  const Result result = simulate(experiment, &buckets);
  rows.push_back(row_of(Json{{"run", experiment.name}}, buckets, result).dump());
  if (learns) return rows;
  const Sweep sweep(document);
  PointRunner runner(sweep);
  for (std::int64_t point = 0; point < sweep.points() && !sweep.axes().empty(); ++point) {
    Json row{{"point", point}, {"params", sweep.params(point)}};
    try {
      const Result swept = runner.run(point, &buckets);
      row = row_of(std::move(row), buckets, swept);
    } catch (const InputError& e) {
      row["error"] = portable(e.what());
    }
    rows.push_back(row.dump());
  }
  for (const ClaimRow& claim : simulate_claims(path)) {
    rows.push_back(Json{{"claim", claim.id}, {"simulated", claim.simulated}}.dump());
  }
  return rows;
}

std::string joined(const std::vector<std::string>& rows) {
  return fmt::format("[\n{}\n]\n", fmt::join(rows, ",\n"));
}

std::vector<std::string> golden_rows(const std::string& file) {
  const std::string path = (kGoldens / file).string();
  std::vector<std::string> rows;
  for (const Json& row : parse_json(read_file(path), path))
    rows.push_back(row.dump());
  return rows;
}

TEST(Golden, EveryExperimentGivesWhatItGave) {
  const std::vector<std::string> files = json_files(kConfigs);
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    const std::vector<std::string> now = simulated_rows(file);
    if (updates()) {
      write_file((kGoldens / file).string(), joined(now));
      continue;
    }
    if (!fs::exists(kGoldens / file)) {
      ADD_FAILURE() << "configs/" << file << " has no tests/golden/" << file
                    << "; build the target update-goldens";
      continue;
    }
    const std::vector<std::string> then = golden_rows(file);
    const auto [a, b] = std::mismatch(then.begin(), then.end(), now.begin(), now.end());
    if (a == then.end() && b == now.end()) continue;
    ADD_FAILURE() << "configs/" << file << " changed; the first row that differs, of "
                  << then.size() << " before and " << now.size() << " now:\n- "
                  << (a == then.end() ? "(none)" : *a) << "\n+ "
                  << (b == now.end() ? "(none)" : *b);
  }
}

/// With every program and every message played, but for fingerprints, as other events happen; and
/// but for experiments that learn, or whose messages are too many to be played.
TEST(Golden, EveryExperimentGivesTheSameWithoutFastPaths) {
  int compared = 0;
  for (const std::string& file : json_files(kConfigs)) {
    const Experiment e = read_experiment(load_document((kConfigs / file).string(), {}));
    if (e.run->convergence) continue;
    const auto row = [&] {
      std::vector<SentBucket> buckets;
      const Result result = simulate(e, &buckets);
      Json figures = row_of(Json{{"run", e.name}}, buckets, result);
      figures.erase("fingerprint");
      return figures.dump();
    };
    const std::string fast = row();
    const WithoutFastPaths all_played;
    try {
      EXPECT_EQ(row(), fast) << file;
      ++compared;
    } catch (const InputError& too_much) {
      fmt::print("{}: {}\n", file, too_much.what());
    }
  }
  fmt::print("{} experiments compared\n", compared);
  EXPECT_GT(compared, 30);
}

TEST(Golden, EveryGoldenHasItsExperiment) {
  for (const std::string& file : json_files(kGoldens)) {
    EXPECT_TRUE(fs::exists(kConfigs / file))
        << "tests/golden/" << file << " has no configs/" << file;
  }
}

}  // namespace
}  // namespace steptime
