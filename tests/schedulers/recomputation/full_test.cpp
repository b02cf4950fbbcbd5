#include "sim/core/error.h"
#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

ModelWork two_layers() {
  ModelWork work = work_of_blocks(2, {10, 15, 5});
  for (LayerWork& layer : work.layers) {
    layer.kept = {100};
    layer.kept_input = {8};
  }
  return work;
}

// Two layers of forward 10 and backward 20: 20 + 2 x (10 + 20) = 80. Their inputs, 2 x 8, are kept,
// and beside them the rest of one layer while it is computed again, 92.
TEST(FullRecomputation, LayersAreComputedAgainFromTheirInputs) {
  for (const LayoutTimes& times :
       in_every_way(plan_of({.recompute = R"({"type": "full"})"}, two_layers()))) {
    EXPECT_EQ(times.step.count(), 80);
    EXPECT_EQ(times.ranks[0].spent[static_cast<std::size_t>(Spent::kRecompute)].count(), 20);
    EXPECT_EQ(times.ranks[0].at_peak[static_cast<std::size_t>(HeldFor::kActivations)], 16 + 92);
  }
}

TEST(FullRecomputation, EveryNthLayerOrLayersByNumber) {
  const auto second = make<Recomputation>(R"({"type": "full", "every": 2})");
  EXPECT_EQ(second->of(0), Recomputed::kLayer);
  EXPECT_EQ(second->of(1), Recomputed::kNothing);
  EXPECT_EQ(second->of(2), Recomputed::kLayer);
  const auto listed = make<Recomputation>(R"({"type": "full", "layers": [3, 1]})");
  EXPECT_EQ(listed->of(0), Recomputed::kNothing);
  EXPECT_EQ(listed->of(1), Recomputed::kLayer);
  EXPECT_EQ(listed->of(3), Recomputed::kLayer);
}

TEST(FullRecomputation, RefusesWhatIsNoLayer) {
  const auto error = [](const char* json) -> std::string {
    try {
      (void)make<Recomputation>(json);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error(R"({"type": "full", "layers": [1, -2]})"),
            "x.json: /recompute/layers: found -2, expected numbers of layers, from 0 on");
  EXPECT_EQ(error(R"({"type": "full", "layers": [1], "every": 2})"),
            "x.json: /recompute/every: unexpected, as \"layers\" names them");
  EXPECT_EQ(error(R"({"type": "full", "layers": [1, 0, 1]})"),
            "x.json: /recompute/layers: found 1 twice, expected each once");
  EXPECT_EQ(error(R"({"type": "full", "layers": 1})"),
            "x.json: /recompute/layers: found 1, expected a list of numbers of layers");
}

}  // namespace
}  // namespace steptime
