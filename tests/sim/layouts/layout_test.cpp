#include "sim/layouts/layout.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using D = Dimension;
using Ranks = std::vector<std::int32_t>;

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

// Megatron's order: 2 tensor x 2 context x 2 data x 2 pipeline ranks. Rank = t + 2 (c + 2 (d + 2
// p)).
TEST(Layout, TheInnermostDimensionHasNeighbouringRanks) {
  const Layout layout({2, 2, 2, 2}, {D::kTensor, D::kContext, D::kData, D::kPipeline});
  EXPECT_EQ(layout.ranks(), 16);
  EXPECT_EQ(layout.rank({1, 0, 1, 1}), 1 + 0 + 4 + 8);
  EXPECT_EQ(layout.coordinates(13), (Coordinates{1, 0, 1, 1}));
  EXPECT_EQ(layout.group(13, std::array{D::kTensor}), (Ranks{12, 13}));
  EXPECT_EQ(layout.group(13, std::array{D::kPipeline}), (Ranks{5, 13}));
  EXPECT_EQ(layout.group(13, std::array{D::kContext, D::kData}), (Ranks{9, 11, 13, 15}));
}

// Llama 3's: pipeline before data. Rank = t + 2 (c + 1 (p + 2 d)).
TEST(Layout, AnyOrder) {
  const Layout layout({2, 1, 3, 2}, {D::kTensor, D::kContext, D::kPipeline, D::kData});
  EXPECT_EQ(layout.group(0, std::array{D::kPipeline}), (Ranks{0, 2}));
  EXPECT_EQ(layout.group(0, std::array{D::kData}), (Ranks{0, 4, 8}));
  std::set<std::int32_t> all;
  for (std::int32_t rank = 0; rank < layout.ranks(); ++rank)
    all.insert(layout.rank(layout.coordinates(rank)));
  EXPECT_EQ(all.size(), 12);
}

TEST(Layout, DataParallelismIsWhatTheClusterHasLeft) {
  const Config section = config_of(R"({"tensor": 2, "pipeline": 3})", layout_params());
  const Layout layout = layout_of(section, read_layout(section), 24);
  EXPECT_EQ(layout.data(), 4);
  EXPECT_EQ(layout.without(D::kData).ranks(), 6);
  EXPECT_EQ(
      error_of([&] { layout_of(section, read_layout(section), 16); }),
      "x.json: /: a replica takes 2 x 1 x 3 = 6 GPUs (tensor x context x pipeline), expected a "
      "divisor of the cluster's 16");
}

TEST(Layout, RefusesAnOrderThatIsNone) {
  for (const char* order : {"tensor-context-data", "tensor-context-data-data",
                            "tensor-context-data-pipeline-", "tp-cp-dp-pp", ""}) {
    const Config section = config_of(Json{{"order", order}}.dump(), layout_params());
    EXPECT_EQ(error_of([&] { read_layout(section); }),
              "x.json: /order: \"" + std::string(order) +
                  "\" does not name tensor, context, data, pipeline once each, joined by \"-\"");
  }
  const Config alone = config_of(R"({"sequence_parallel": true})", layout_params());
  EXPECT_EQ(error_of([&] { read_layout(alone); }),
            "x.json: /sequence_parallel: unexpected, as \"tensor\" is 1");
}

// 126 layers on 16 ranks are 128 places, of which embedding and loss take one each; with 8 chunks a
// rank each place is a stage, and the first and the last have nothing but these. Source: Llama 3,
// 2407.21783 section 3.3.2.
TEST(Layout, StagesAreEvenShortAtTheEndsOrGiven) {
  const auto stages = [](const char* json, std::int64_t layers, std::int64_t count) {
    return layers_of_stages(config_of(json, layout_params()), layers, count);
  };
  using Layers = std::vector<std::int64_t>;
  EXPECT_EQ(stages("{}", 8, 4), (Layers{2, 2, 2, 2}));
  const Layers llama = stages(R"({"stages": "short-ends"})", 126, 16);
  EXPECT_EQ(llama.front(), 7);
  EXPECT_EQ(llama[1], 8);
  EXPECT_EQ(llama.back(), 7);
  Layers places(128, 1);
  places.front() = places.back() = 0;
  EXPECT_EQ(stages(R"({"stages": "short-ends"})", 126, 128), places);
  EXPECT_EQ(stages(R"({"stages": "short-ends"})", 4, 1), Layers{4});
  EXPECT_EQ(error_of([&] { stages(R"({"stages": "short-ends"})", 125, 128); }),
            "x.json: /stages: 125 layers, embedding and loss do not divide over 128 stages, "
            "expected a list of numbers or another \"pipeline\"");
  EXPECT_EQ(stages(R"({"stages": [3, 5]})", 8, 2), (Layers{3, 5}));
  EXPECT_EQ(error_of([&] { stages("{}", 9, 4); }),
            "x.json: /stages: 9 layers do not divide over 4 stages, expected a list of numbers or "
            "another \"pipeline\"");
  EXPECT_EQ(error_of([&] { stages(R"({"stages": [3, 4]})", 8, 2); }),
            "x.json: /stages: found 2 stages with 7 layers, expected 2 stages with 8 layers");
  EXPECT_EQ(
      error_of([&] { stages(R"({"stages": "odd"})", 8, 2); }),
      "x.json: /stages: found \"odd\", expected \"even\", \"short-ends\" or a list of numbers");
  EXPECT_EQ(error_of([&] { stages(R"({"stages": [3, 5.5]})", 8, 2); }),
            "x.json: /stages: found 5.5, expected numbers of layers from 0 to 8");
}

}  // namespace
}  // namespace steptime
