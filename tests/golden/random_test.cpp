// Did any experiment of 2,300 that were drawn at random change? tests/golden/random/<group>.jsonl
// has one on each line: its config, and what the simulation gave. Every digit counts.
//
// STEPTIME_UPDATE_GOLDENS=1 in the environment simulates the configs that stand in the files anew,
// and writes them; STEPTIME_DRAW_EXPERIMENTS=1 draws them anew, too (tests/support/
// drawn_experiments.h). STEPTIME_GROUP names the one group that either is about, if it is not all.
#include "sim/config/output_files.h"
#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "sim/layouts/play.h"
#include "tests/support/drawn_experiments.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(STEPTIME_TESTS_DIR) / "golden/random";

constexpr std::size_t kGroups = kDrawnGroups.size() + 1;
const DrawnGroup& group_at(std::size_t place) {
  return place < kDrawnGroups.size() ? kDrawnGroups[place] : kDrawnLayouts;
}

std::string path_of(std::string_view group) {
  return (kFolder / fmt::format("{}.jsonl", group)).string();
}

bool is_set(const char* name, std::string_view value) {
  const char* text = std::getenv(name);
  return text != nullptr && text == value;
}
bool draws() {
  return is_set("STEPTIME_DRAW_EXPERIMENTS", "1");
}
bool updates(std::string_view group) {
  const bool is_meant = std::getenv("STEPTIME_GROUP") == nullptr || is_set("STEPTIME_GROUP", group);
  return is_meant && (draws() || is_set("STEPTIME_UPDATE_GOLDENS", "1"));
}

/// Whole picoseconds.
std::int64_t ps(double seconds) {
  return std::llround(seconds * 1e12);
}

/// Of each place in the pipeline: when its step ends, how long it exchanges in how many calls, and
/// the most memory that it holds, at which moment.
Json stages_of(const LayoutTimes& times) {
  Json stages = Json::array();
  for (const StageTimes& stage : times.ranks) {
    stages.push_back({stage.end.count(), stage.exchanging.count(), stage.exchanges, stage.peak,
                      stage.peak_at.count()});
  }
  return stages;
}

/// What stands behind a config on its line. Buckets: when each was ready, sent and back, in ps.
Json outcome_of(const Experiment& e) {
  Json row;
  try {
    std::vector<SentBucket> buckets;
    const Result result = simulate(e, &buckets);
    row["step_s"] = result.step_time_s;
    if (result.cold_step_time_s) row["cold_step_s"] = *result.cold_step_time_s;
    row["compute_s"] = result.compute_time_s;
    row["comm_busy_s"] = result.comm_busy_s;
    row["messages"] = result.messages;
    if (result.training && result.training->has_servers())
      row["staleness"] = result.training->mean_staleness();
    row["buckets_ps"] = Json::array();
    for (const SentBucket& bucket : buckets)
      row["buckets_ps"].push_back({ps(bucket.ready_s), ps(bucket.start_s), ps(bucket.end_s)});
    Json causes = Json::object();  // those of one name together
    for (const Cause& cause : result.attribution)
      causes[cause.cause] = causes.value(cause.cause, 0.0) + cause.seconds;
    row["attribution_ps"] = Json::object();
    for (const auto& [name, seconds] : causes.items())
      row["attribution_ps"][name] = ps(seconds.get<double>());
    if (result.layout) row["stages"] = stages_of(result.layout->times);
  } catch (const ModelFailure& failure) {
    const std::string text = failure.what();  // "deadlock after 0.1 s: ..."
    row["fails"] = text.substr(0, text.find(':'));
  }
  return row;
}

std::string line_of(const Json& config, const Json& outcome) {
  Json line{{"config", config}};
  line.update(outcome);
  return line.dump();
}

/// Not read_file(), which would keep it from being written over.
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

/// Experiments of a group, of which some attempts are refused.
std::string drawn(std::size_t group) {
  constexpr std::uint32_t kOfGroup = 1'000'000;
  const auto& [name, experiments] = group_at(group);
  std::string text;
  std::int64_t found = 0;
  std::uint32_t attempt = 0;
  for (; found < experiments; ++attempt) {
    const Json config =
        ExperimentDraw(static_cast<std::uint32_t>(group) * kOfGroup + attempt).config(name);
    try {
      text += line_of(config, outcome_of(drawn_experiment(config))) + "\n";
      ++found;
    } catch (const InputError& refusal) {
      if (is_set("STEPTIME_SHOW_REFUSALS", "1")) fmt::print("{}\n", refusal.what());
    }
  }
  fmt::print("{}: {} of {} draws were refused\n", name, attempt - found, attempt);
  return text;
}

std::string updated(const std::string& text) {
  std::string now;
  for (const std::string& line : lines_of(text)) {
    const Json config = Json::parse(line)["config"];
    now += line_of(config, outcome_of(drawn_experiment(config))) + "\n";
  }
  return now;
}

class RandomExperiments : public testing::TestWithParam<std::size_t> {};

TEST_P(RandomExperiments, GiveWhatTheyGave) {
  const std::size_t group = GetParam();
  const std::string_view name = group_at(group).name;
  const std::string path = path_of(name);
  if (updates(name)) {
    write_file(path, draws() ? drawn(group) : updated(text_of(path)));
    return;
  }
  constexpr int kMostShown = 10;
  const std::vector<std::string> then = lines_of(text_of(path));
  EXPECT_EQ(std::ssize(then), group_at(group).experiments);
  int different = 0;
  for (std::size_t i = 0; i < then.size(); ++i) {
    const Json config = Json::parse(then[i])["config"];
    const Json outcome = outcome_of(drawn_experiment(config));
    if (line_of(config, outcome) == then[i]) continue;
    if (++different > kMostShown) continue;
    Json before = Json::parse(then[i]);
    before.erase("config");
    ADD_FAILURE() << path << ":" << i + 1 << " changed:\n  " << config.dump() << "\n- "
                  << before.dump() << "\n+ " << outcome.dump();
  }
  EXPECT_EQ(different, 0) << "of " << then.size() << " in " << path;
}

/// Every program and every message is played. What a step's time passes for is not compared, as a
/// closed form and its messages have other names for it.
TEST_P(RandomExperiments, GiveTheSameWithoutFastPaths) {
  const std::string path = path_of(group_at(GetParam()).name);
  int different = 0;
  for (const std::string& line : lines_of(text_of(path))) {
    Json then = Json::parse(line);
    const Json config = then["config"];
    const WithoutFastPaths all_played;
    Json now = outcome_of(drawn_experiment(config));
    for (const char* key : {"config", "attribution_ps"}) {
      then.erase(key);
      now.erase(key);
    }
    constexpr int kMostShown = 3;
    if (now == then || ++different > kMostShown) continue;
    ADD_FAILURE() << config.dump() << "\n- " << then.dump() << "\n+ " << now.dump();
  }
  EXPECT_EQ(different, 0) << "of " << path;
}

INSTANTIATE_TEST_SUITE_P(Golden, RandomExperiments, testing::Range(std::size_t{0}, kGroups),
                         [](const testing::TestParamInfo<std::size_t>& group) {
                           std::string name(group_at(group.param).name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace steptime
