// Random layouts for properties, with what their parts are in numbers, from which tests derive what
// must come of them.
#pragma once
#include "tests/support/layouts.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rapidcheck.h>

namespace steptime {

inline std::int32_t any(std::int32_t low, std::int32_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
inline bool either() {
  return any(0, 1) == 1;
}

/// A GPU a node, a byte a ps between them.
inline std::shared_ptr<const Cluster> nodes_of(std::int64_t ranks) {
  Cluster cluster;
  cluster.nodes = ranks;
  cluster.network = {{}, {1e12}};
  return std::make_shared<const Cluster>(std::move(cluster));
}

struct DrawnLayout {
  /// What the ranks that share parameters hold in parts.
  enum class Cut { kNothing, kOptimizer, kGradients, kAll };

  TestLayout test;
  ModelWork work;
  std::string order;
  std::int64_t chunks = 1;
  std::int64_t group = 0;  ///< micro-batches that go through a chunk before the next one
  Cut cut = Cut::kNothing;
  std::int64_t shards = 1;  ///< ranks of a shard group
  UnitGathering units{};    ///< where all is in parts
  Recomputed again = Recomputed::kNothing;
  std::int64_t every = 1;  ///< with whole layers, the first of so many is computed again
  std::string context;
  bool has_ends = false;  ///< an embedding and a loss beside the blocks

  DrawnLayout() {
    draw_pipeline();
    draw_states();
    draw_exchanges();
    draw_work();
  }

  std::int64_t tensor() const { return test.degrees[0]; }
  std::int64_t contexts() const { return test.degrees[1]; }
  std::int64_t places() const { return test.degrees[3]; }
  std::int64_t micro_batches() const { return test.micro_batches; }
  std::int64_t sharers() const { return std::int64_t{test.degrees[1]} * test.degrees[2]; }
  std::int64_t stages() const { return places() * chunks; }

  /// The model's layers of a stage.
  std::vector<const LayerWork*> layers(std::int64_t stage) const {
    std::vector<const LayerWork*> of;
    std::int64_t first = has_ends ? 1 : 0;
    for (std::int64_t s = 0; s < stage; ++s)
      first += test.stages[static_cast<std::size_t>(s)];
    if (has_ends && stage == 0) of.push_back(&work.layers.front());
    for (std::int64_t b = 0; b < test.stages[static_cast<std::size_t>(stage)]; ++b)
      of.push_back(&work.layers[static_cast<std::size_t>(first + b)]);
    if (has_ends && stage + 1 == stages()) of.push_back(&work.layers.back());
    return of;
  }
  /// What is computed again of one of the model's layers.
  Recomputed again_of(const LayerWork& layer) const {
    if (!layer.is_block) return Recomputed::kNothing;
    const std::int64_t block = &layer - work.layers.data() - (has_ends ? 1 : 0);
    return block % every == 0 ? again : Recomputed::kNothing;
  }
  /// Of a stage, whose copy of a tied embedding is one of them.
  std::int64_t params(const LayerWork& layer) const {
    const bool is_copy = layer.is_loss && places() > 1;
    return layer.params() + (is_copy ? work.tied_params : 0);
  }
  std::int64_t params_of_stage(std::int64_t stage) const {
    std::int64_t sum = 0;
    for (const LayerWork* layer : layers(stage))
      sum += params(*layer);
    return sum;
  }
  /// Of each unit that is gathered together, in the order of a forward pass.
  std::vector<std::int64_t> unit_params(std::int64_t stage) const {
    std::vector<std::int64_t> of;
    std::int64_t left = 0;  // blocks that still go into the unit
    auto all = layers(stage);
    std::reverse(all.begin(), all.end());  // units are filled from the last block on
    for (const LayerWork* layer : all) {
      if (layer->is_block && left > 0) {
        of.back() += params(*layer);
        --left;
        continue;
      }
      of.push_back(params(*layer));
      left = layer->is_block ? units.blocks - 1 : 0;
    }
    std::reverse(of.begin(), of.end());
    return of;
  }

 private:
  void draw_pipeline() {
    order = *rc::gen::element<std::string>("gpipe", "1f1b", "zb-h1", "interleaved");
    const std::int32_t p = any(order == "interleaved" ? 2 : 1, 4);
    test.degrees = {any(1, 3), any(1, 3), any(1, 4), p};
    for (std::size_t i = kDimensions - 1; i > 0; --i)
      std::swap(
          test.order_of_ranks[i],
          test.order_of_ranks[static_cast<std::size_t>(any(0, static_cast<std::int32_t>(i)))]);
    test.micro_batches = any(1, 6);
    test.order = fmt::format(R"({{"type": "{}"}})", order);
    if (order == "interleaved") {
      chunks = any(2, 3);
      test.micro_batches = any(p, 2 * p + 1);
      const std::int32_t rest = test.micro_batches % p;
      group = rest == 0 && either() ? p : test.micro_batches;
      test.order = fmt::format(R"({{"type": "interleaved", "chunks": {}, "microbatch_group": {}}})",
                               chunks, group);
    }
    has_ends = either();
    for (std::int64_t s = 0; s < p * chunks; ++s)
      test.stages.push_back(any(has_ends ? 0 : 1, 3));
    if (std::count(test.stages.begin(), test.stages.end(), 0) == std::ssize(test.stages))
      test.stages.front() = 1;
  }

  void draw_states() {
    cut = static_cast<Cut>(any(0, 3));
    shards = sharers();
    if (cut == Cut::kNothing) test.states = R"({"type": "replicated"})";
    if (cut == Cut::kOptimizer) test.states = R"({"type": "zero", "stage": 1})";
    if (cut == Cut::kGradients) test.states = R"({"type": "zero", "stage": 2})";
    if (cut != Cut::kAll) return;
    units = {
        .blocks = any(1, 2), .reshards = either(), .prefetches = either(), .at_once = any(1, 3)};
    do
      shards = any(1, static_cast<std::int32_t>(sharers()));
    while (sharers() % shards != 0);
    test.states = fmt::format(
        R"({{"type": "fsdp", "units": {}, "reshard": {}, "prefetch": "{}", "gathers": {},
             "shard_group": {}}})",
        units.blocks, units.reshards, units.prefetches ? "backward" : "none", units.at_once,
        shards);
  }

  void draw_exchanges() {
    again = static_cast<Recomputed>(any(0, 2));
    if (again == Recomputed::kAttention) test.recompute = R"({"type": "selective"})";
    if (again == Recomputed::kLayer) {
      every = any(1, 2);
      test.recompute = fmt::format(R"({{"type": "full", "every": {}}})", every);
    }
    context = *rc::gen::element<std::string>("ring", "all-gather", "ulysses");
    test.context = fmt::format(R"({{"type": "{}"}})", context);
    test.sequence_parallel = test.degrees[0] > 1 && either();
    for (bool BesideCompute::*kind :
         {&BesideCompute::gradients, &BesideCompute::weights, &BesideCompute::tensor,
          &BesideCompute::input_gradients, &BesideCompute::pipeline, &BesideCompute::context})
      test.beside.*kind = either();
    test.costs = costs_of(Duration(any(0, 20)), any(0, 3) * 1e-12);
  }

  void draw_work() {
    std::int64_t blocks = 0;
    for (const std::int64_t of_stage : test.stages)
      blocks += of_stage;
    work = work_of_blocks(blocks, {any(1, 40), any(1, 40), any(1, 40)}, any(1, 50));
    for (LayerWork& layer : work.layers) {
      layer.attention = layer.forward / 2;
      layer.attention_gradient = layer.input_gradient / 2;
      layer.kept = {100};
      layer.kept_attention = {30};
      layer.kept_input = {10};
    }
    work.parameter = {.weight = any(1, 2), .gradient = any(1, 2), .optimizer = any(0, 3)};
    // Whole bytes for up to three tensor ranks.
    work.exchanged = {
        .hidden = {6 * any(1, 9)}, .queries = {any(1, 9)}, .keys_values = {any(1, 9)}};
    if (!has_ends) return;
    // They take some time, as what is held from no instant to a later one is no peak.
    work.layers.insert(work.layers.begin(), {.name = "embedding",
                                             .forward = Duration(any(1, 20)),
                                             .weight_gradient = Duration(any(0, 20)),
                                             .tensors = {{"tokens", any(1, 50)}},
                                             .kept = {7},
                                             .is_block = false});
    work.layers.push_back({.name = "loss",
                           .forward = Duration(any(1, 20)),
                           .input_gradient = Duration(any(0, 20)),
                           .weight_gradient = Duration(any(0, 20)),
                           .tensors = {{"norm", any(1, 9)}},
                           .kept = {13},
                           .is_block = false,
                           .is_loss = true});
    work.logits = {70};
    if (either()) work.tied_params = work.layers.front().params();
  }
};

}  // namespace steptime
