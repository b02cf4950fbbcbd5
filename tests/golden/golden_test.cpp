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
#include <cstdint>
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

bool learns(const Document& document) {
  return document.root.contains(Json::json_pointer("/run/convergence"));
}

/// Learning takes seconds a point; one epoch of one seed shows whether anything changed.
std::shared_ptr<const Document> golden_document(const std::string& file) {
  const std::string path = (kConfigs / file).string();
  auto document = load_document(path, {});
  if (!learns(*document)) return document;
  const std::vector<std::string> one_epoch{"/run/convergence/seeds=1", "/run/convergence/epochs=1"};
  return load_document(path, one_epoch);
}

std::vector<std::string> simulated_rows(const std::string& file) {
  const auto document = golden_document(file);
  std::vector<std::string> rows;
  const Experiment experiment = read_experiment(document);
  std::vector<SentBucket> buckets;
  const Result result = simulate(experiment, &buckets);
  rows.push_back(row_of(Json{{"run", experiment.name}}, buckets, result).dump());
  if (learns(*document)) return rows;
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
  for (const ClaimRow& claim : simulate_claims(document->file)) {
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

/// Up to `most` points of a sweep, from the first to the last.
std::vector<std::int64_t> some_of(const Sweep& sweep, std::int64_t most) {
  std::vector<std::int64_t> points;
  const std::int64_t count = sweep.axes().empty() ? 0 : sweep.points();
  for (std::int64_t i = 0; i < std::min(count, most); ++i)
    points.push_back(count <= most ? i : i * (count - 1) / (most - 1));
  return points;
}

/// All that a run gave but for the fingerprint, as other events happen.
std::string figures_of(const Experiment& e) {
  std::vector<SentBucket> buckets;
  const Result result = simulate(e, &buckets);
  Json figures = row_of(Json{{"run", e.name}}, buckets, result);
  figures.erase("fingerprint");
  return figures.dump();
}

/// With every program and every message played: what each file itself says, of all of them, and up
/// to five points of its sweep, but for those that are refused anyway, and for sweeps of what
/// learns, whose points take seconds.
TEST(Golden, EveryExperimentGivesTheSameWithoutFastPaths) {
  constexpr std::int64_t kPoints = 5;
  int compared = 0;
  const auto compare = [&compared](const Experiment& e, const std::string& fast,
                                   const std::string& which) {
    const WithoutFastPaths all_played;
    EXPECT_EQ(figures_of(e), fast) << which;
    ++compared;
  };
  for (const std::string& file : json_files(kConfigs)) {
    const auto document = golden_document(file);
    const Experiment itself = read_experiment(document);
    compare(itself, figures_of(itself), file);
    if (learns(*document)) continue;
    const Sweep sweep(document);
    PointRunner runner(sweep);
    for (const std::int64_t point : some_of(sweep, kPoints)) {
      std::string fast;
      try {
        runner.read(point);
        fast = figures_of(runner.experiment());
      } catch (const InputError&) {
        continue;
      }
      compare(runner.experiment(), fast, fmt::format("{}, point {}", file, point));
    }
  }
  fmt::print("{} experiments and points compared\n", compared);
}

TEST(Golden, EveryGoldenHasItsExperiment) {
  for (const std::string& file : json_files(kGoldens)) {
    EXPECT_TRUE(fs::exists(kConfigs / file))
        << "tests/golden/" << file << " has no configs/" << file;
  }
}

}  // namespace
}  // namespace steptime
