// Is what a shipped experiment says of its machine what it simulates? Its description and its
// source say in words how many GPUs and adapters a node has: "8 nodes with 4 GPUs a node", "one
// EDR InfiniBand adapter a node".
#include "sim/config/json.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/experiment/used_path.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::optional<std::int64_t> number_of(const std::string& word) {
  constexpr std::array kWords{"zero", "one", "two",   "three", "four",
                              "five", "six", "seven", "eight"};
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (word == kWords[i]) return static_cast<std::int64_t>(i);
  }
  if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0)
    return std::stoll(word);
  return std::nullopt;
}

/// How many `things` a node has by the text, as in "one EDR adapter a node"; none: it does not say.
std::optional<std::int64_t> said(const std::string& text, const std::string& things) {
  const std::regex pattern(fmt::format(R"((\w+) (?:[A-Z]\w* ){{0,3}}{} a node)", things));
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found) {
    if (const auto number = number_of((*found)[1].str())) return number;
  }
  return std::nullopt;
}

TEST(Said, IsReadFromWords) {
  EXPECT_EQ(said("on nodes of 8 V100, one EDR InfiniBand adapter a node", "adapters?"), 1);
  EXPECT_EQ(said("8 nodes with 4 GPUs a node", "GPUs?"), 4);
  EXPECT_EQ(said("as many GPUs a node", "GPUs?"), std::nullopt);
}

TEST(Said, IsSimulated) {
  int gpus = 0;
  int adapters = 0;
  const std::filesystem::path configs = std::filesystem::path(STEPTIME_SOURCE_DIR) / "configs";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(configs)) {
    if (entry.path().extension() != ".json") continue;
    const auto document = load_document(entry.path().string(), {});
    const Json& root = document->root;
    std::string text = root.value("description", "");
    if (root.contains("claims")) text += " " + root["claims"].value("source", "");
    if (const auto of_node = said(text, "GPUs?")) {
      ++gpus;
      EXPECT_EQ(read_experiment(document).cluster->gpus_per_node, *of_node) << entry.path();
    }
    if (const auto of_node = said(text, "adapters?")) {
      ++adapters;
      const Experiment experiment = read_experiment(document);
      std::vector<SentBucket> buckets;
      EXPECT_EQ(used_path(experiment, simulate(experiment, &buckets)).adapters, *of_node)
          << entry.path();
    }
  }
  EXPECT_GE(gpus, 6);
  EXPECT_GE(adapters, 1);
}

}  // namespace
}  // namespace steptime
