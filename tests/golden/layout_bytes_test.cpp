// The bytes that every rank of a shipped layout exchanges in a step, derived from its config and
// from the sizes of its model alone: T tokens of a micro-batch on a rank, h values each, of L
// layers; t tensor, c context, d data and p pipeline ranks; m micro-batches.
//
// Source: Korthikanti et al., 2205.05198 section 4 (tensor, sequence); Narayanan et al., 2104.04473
// section 4.1 (scatter and gather); Rajbhandari et al., 1910.02054 section 7 (ZeRO); Zhao et al.,
// 2304.11277 (FSDP, hybrid sharding); Liu et al., 2310.01889, Jacobs et al., 2309.14509 and Llama
// 3, 2407.21783 section 3.3.2 (context).
#include "sim/config/input_files.h"
#include "sim/config/json.h"
#include "sim/config/output_files.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/result.h"
#include "sim/layouts/play.h"
#include "sim/sweeps/point_runner.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;
using Count = std::int64_t;

const fs::path kRoot = STEPTIME_SOURCE_DIR;

Json file_at(const fs::path& path) {
  return parse_json(read_file(path.string()), path.string());
}
std::string type_of(const Json& strategy, const char* key, const char* usual) {
  return strategy.contains(key) ? strategy.at(key).at("type").get<std::string>() : usual;
}
Count ceil_of(Count count, Count parts) {
  return (count + parts - 1) / parts;
}

/// A step, by the words of its config.
class Step {
 public:
  explicit Step(const Json& config)
      : workload_(config.at("workload")), strategy_(config.at("strategy")) {
    const Json layout = strategy_.at("layout");
    t_ = layout.value("tensor", 1);
    c_ = layout.value("context", 1);
    p_ = layout.value("pipeline", 1);
    is_sequence_ = layout.value("sequence_parallel", false);
    const Json& cluster = config.at("cluster");
    const Count gpus = cluster.at("nodes").get<Count>() * cluster.value("gpus_per_node", 1);
    d_ = gpus / (t_ * c_ * p_);
    const Json order = strategy_.value("pipeline_order", Json::object());
    v_ = order.value("chunks", order.value("type", "") == "interleaved" ? 2 : 1);
    const Count batch = workload_.value("batch", 1);
    m_ = workload_.contains("global_batch") ? workload_.at("global_batch").get<Count>() / batch / d_
                                            : workload_.value("accumulate", 1);
    if (workload_.contains("model"))
      read_shape(batch);
    else
      read_trace();
    const Count stages = p_ * v_;
    stages_.assign(static_cast<std::size_t>(stages), layers_ / stages);
    if (layout.contains("stages") && layout.at("stages").is_array())
      stages_ = layout.at("stages").get<std::vector<Count>>();
    if (layout.value("stages", Json()) == "short-ends") {
      stages_.assign(static_cast<std::size_t>(stages), (layers_ + 2) / stages);
      --stages_.front();
      --stages_.back();
    }
  }

  Count places() const { return p_; }

  BytesOfGroups of_place(Count place) const {
    BytesOfGroups bytes{};
    for (Count c = 0; c < v_; ++c)
      add_stage(c * p_ + place, bytes);
    // An embedding that both ends have: its gradients once, a part where ranks keep parts only.
    if (p_ > 1 && is_tied_ && (place == 0 || place + 1 == p_)) {
      const Count parts = stage_of_zero() >= 2 ? shard_group() : 1;
      at(bytes, GroupKind::kEnds) += ceil_of(ceil_of(vocabulary_, t_) * gradient_, parts);
    }
    return bytes;
  }

 private:
  static Count& at(BytesOfGroups& bytes, GroupKind kind) {
    return bytes[static_cast<std::size_t>(kind)];
  }

  void read_shape(Count batch) {
    const Json shape = file_at(kRoot / "models/transformers" /
                               (workload_.at("model").get<std::string>() + ".json"));
    const auto size = [&](const char* key) { return shape.at(key).get<Count>(); };
    layers_ = size("layers");
    const Count h = size("hidden"), f = size("ffn");
    const Count a = size("heads") * size("head_dim"), k = size("kv_heads") * size("head_dim");
    const bool gated = shape.at("gated").get<bool>(), biases = shape.at("biases").get<bool>();
    const Count norm = (shape.at("norms") == "rms" ? 1 : 2) * h;
    // Attention h (2 a + 2 k), feed-forward network 2 h f or, gated, 3 h f; biases of what a tensor
    // rank has a part of, and two of h that each has whole, as it has the norms.
    Count split = h * (2 * a + 2 * k) + (gated ? 3 : 2) * h * f;
    if (biases) split += a + 2 * k + (gated ? 2 : 1) * f;
    block_ = ceil_of(split, t_) + 2 * norm + (biases ? 2 * h : 0);
    vocabulary_ = size("vocabulary") * h;
    is_tied_ = shape.at("tied").get<bool>();
    first_ = ceil_of(vocabulary_, t_) + shape.value("positions", Count{0}) * h;
    last_ = norm + (is_tied_ && p_ == 1 ? 0 : ceil_of(vocabulary_, t_));
    const Count value = 2;  // float16, bfloat16
    gradient_ = workload_.at("dtype") == "float32" ? 4 : 2;
    weight_ = value;
    const Count tokens = batch * workload_.at("sequence").get<Count>() / c_;
    hidden_ = tokens * h * value;
    queries_ = tokens * a / t_ * value;
    keys_values_ = 2 * tokens * k / t_ * value;
  }

  /// Only how many parameters it has, in four bytes each.
  void read_trace() {
    const Json trace =
        file_at(kRoot / "configs/layouts" / workload_.at("trace").get<std::string>());
    for (const Json& layer : trace.at("layers")) {
      ++layers_;
      last_ += layer.value("params", Count{0});
      for (const Json& tensor : layer.value("tensors", Json::array()))
        last_ += tensor.at("params").get<Count>();
    }
    weight_ = gradient_ = 4;
  }

  bool is_done_again(Count block) const {
    const Json again = strategy_.value("recompute", Json::object());
    if (again.value("type", "") != "full") return false;
    if (!again.contains("layers")) return block % again.value("every", 1) == 0;
    const Json& listed = again.at("layers");
    return std::find(listed.begin(), listed.end(), Json(block)) != listed.end();
  }

  void add_stage(Count stage, BytesOfGroups& bytes) const {
    Count block = 0;
    for (Count s = 0; s < stage; ++s)
      block += stages_[static_cast<std::size_t>(s)];
    const Count blocks = stages_[static_cast<std::size_t>(stage)];
    for (Count b = block; b < block + blocks; ++b)
      add_block(is_done_again(b) ? 2 : 1, bytes);
    // Activations over the boundary below and gradients over that above come, the others go: a
    // part of T h each; without sequence parallelism the receivers' tensor ranks gather the whole.
    const Count last = p_ * v_ - 1;
    const Count boundaries = m_ * ((stage > 0 ? 1 : 0) + (stage < last ? 1 : 0));
    at(bytes, GroupKind::kPipeline) += boundaries * (hidden_ / t_);
    if (t_ > 1 && !is_sequence_) at(bytes, GroupKind::kTensor) += boundaries * hidden_;
    add_states(stage, blocks, bytes);
  }

  void add_block(Count forwards, BytesOfGroups& bytes) const {
    // Two all-reduces of T h a pass; with sequence parallelism a reduce-scatter and an all-gather
    // each, and backward two more all-gathers of inputs that were not kept.
    const Count reduced = 2 * (forwards + 1);
    if (t_ > 1)
      at(bytes, GroupKind::kTensor) += m_ * (is_sequence_ ? 2 * reduced + 2 : reduced) * hidden_;
    if (c_ == 1) return;
    Count& context = at(bytes, GroupKind::kContext);
    const std::string exchange = type_of(strategy_, "context_exchange", "ring");
    // Ring: c - 1 times keys and values, backward with their gradients; all-gather: those of all,
    // backward again, and their gradients; Ulysses: four all-to-alls a pass.
    if (exchange == "ring") context += m_ * (forwards + 2) * (c_ - 1) * keys_values_;
    if (exchange == "all-gather") context += m_ * (forwards + 2) * c_ * keys_values_;
    if (exchange == "ulysses") context += m_ * (forwards + 1) * 4 * queries_;
  }

  Json states_of() const { return strategy_.value("states", Json{{"type", "replicated"}}); }
  Count stage_of_zero() const {
    const Json states = states_of();
    if (states.at("type") == "fsdp") return 3;
    return states.at("type") == "zero" ? states.value("stage", 1) : 0;
  }
  Count shard_group() const { return states_of().value("shard_group", c_ * d_); }

  void add_states(Count stage, Count blocks, BytesOfGroups& bytes) const {
    const Count ranks = c_ * d_;
    if (ranks == 1) return;
    const Json states = states_of();
    std::vector<Count> units;  // parameters
    if (stage == 0 && first_ > 0) units.push_back(first_);
    const Count each = states.value("units", 1);
    for (Count left = blocks; left > 0; left -= each)
      units.push_back(std::min(each, left) * block_);
    if (stage + 1 == p_ * v_) units.push_back(last_);
    Count params = 0;
    for (const Count unit : units)
      params += unit;
    Count& shards = at(bytes, GroupKind::kShards);
    // Gradients once, or with ZeRO-2 and -3 of each micro-batch; weights once, or where units are
    // let go between passes, which without a pipeline is usual, twice of each micro-batch.
    shards += (stage_of_zero() >= 2 ? m_ : 1) * params * gradient_;
    const bool reshards = stage_of_zero() == 3 && states.value("reshard", p_ == 1);
    if (stage_of_zero() > 0) shards += (reshards ? 2 * m_ : 1) * params * weight_;
    const Count group = shard_group();
    if (group == ranks) return;
    for (const Count unit : units)
      at(bytes, GroupKind::kReplicas) += m_ * ceil_of(unit * gradient_, group);
  }

  Json workload_, strategy_;
  Count t_ = 1, c_ = 1, d_ = 1, p_ = 1, v_ = 1, m_ = 1;
  bool is_sequence_ = false, is_tied_ = false;
  Count layers_ = 0, vocabulary_ = 0;
  Count block_ = 0, first_ = 0, last_ = 0;  ///< parameters of a block, of what is before and behind
  Count weight_ = 0, gradient_ = 0;         ///< bytes of a parameter
  Count hidden_ = 0, queries_ = 0, keys_values_ = 0;
  std::vector<Count> stages_;  ///< blocks of each
};

TEST(LayoutBytes, EveryShippedLayoutExchangesWhatItsConfigSays) {
  std::vector<fs::path> files{kRoot / "configs/examples/llama3-70b-3d.json"};
  for (const auto& entry : fs::directory_iterator(kRoot / "configs/layouts"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::int64_t steps = 0;
  for (const fs::path& file : files) {
    const Sweep sweep(load_document(file.string(), {}));
    PointRunner runner(sweep);
    for (std::int64_t point = 0; point < sweep.points(); ++point, ++steps) {
      const Result result = runner.run(point);
      const Step step(runner.config());
      ASSERT_EQ(static_cast<Count>(result.layout->times.ranks.size()), step.places());
      for (Count place = 0; place < step.places(); ++place) {
        EXPECT_EQ(result.layout->times.ranks[static_cast<std::size_t>(place)].bytes,
                  step.of_place(place))
            << file << ", point " << point << ", rank " << place;
      }
    }
  }
  EXPECT_GE(steps, 20);
}

}  // namespace
}  // namespace steptime
