// A transformer cut over t tensor and c context ranks: T = s b / c tokens of a micro-batch on a
// rank, each layer of it
//
//   products (K inputs, N outputs)     time
//     queries, keys, values  h, e (a + 2k) / t
//     result of attention    e a / t, h
//     MLP                    h, f / t (twice if gated);  f / t, h
//   each T x N x K forward, for its inputs' and for its weights' gradients
//   attention     fused: 2 T s a e / t operations of the causal half, backward 2.5 times; else
//   twice
//                 as many, and a s T / t scores that are moved five times, both doubled backward
//   the rest      values that are moved: norms, residuals, dropout 11 h, activation 2f or 3f / t,
//                 rotary positions 2 e (a + k) / t; backward 1.7 times
//
//   kept, B a token, with values of w bytes (Korthikanti et al.: 34 h with w = 2, f = 4h)
//     norms and residuals          4 h w + dropout's masks 2 h; / t with sequence parallelism only
//     queries, result              2 a e w / t
//     keys, values                 2 k e w / t
//     MLP                          3 f w / t, not gated 2 f w / t
//     scores, not fused            a s (2 w + 1) / t with dropout, else a s w / t
//     sums of a fused softmax      4 a / t
//
//   parameters    split ones / t, the others whole; mixed precision has weights in it, gradients in
//                 the workload's dtype, and beside the optimizer's states of 4 B each a master copy
//                 of 4 B, with gradients of 2 B a copy of these, too: 18 B, 20 B, or 16 B in
//                 float32
//   logits        T V / t values, and of each a float32 copy and its gradient
//
// Scope: one micro-batch. Times are those of the device's calibrated rates, which were not fitted
// on transformers cut over ranks. Sources: Korthikanti et al., 2205.05198 tables 1 and 2; Narayanan
// et al., 2104.04473 appendix; Megatron-LM theoretical_memory_usage.py and
// docs/user-guide/features/dist_optimizer.md (bytes per parameter); Dao et al., 2205.14135.
#include "models/transformer_work.h"

#include "models/kernel_time.h"
#include "models/memory.h"
#include "models/model_request.h"
#include "sim/config/words.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kMostSeconds = 1e6;  // as in a trace file
constexpr double kBackwardMoves = 1.7;
constexpr double kFusedBackward = 2.5;
constexpr double kScoreMoves = 5;
constexpr double kHiddenMoves = 11;

std::int64_t divided(std::int64_t count, std::int64_t by) {
  return (count + by - 1) / by;
}

Duration time_of(double seconds) {
  if (!(seconds <= kMostSeconds))
    throw std::overflow_error(fmt::format("a layer takes more than {} s", kMostSeconds));
  return from_seconds(seconds);
}

class Work {
 public:
  Work(const TransformerShape& shape, const MicroBatch& batch, const ModelCut& cut,
       const Device& device, const Training& training)
      : shape_(shape),
        batch_(batch),
        cut_(cut),
        device_(device),
        training_(training),
        time_(device, training.precision),
        tokens_(static_cast<double>(batch.samples * batch.sequence / cut.context)),
        t_(static_cast<double>(cut.tensor)),
        sp_(cut.sequence_parallel ? t_ : 1) {}

  ModelWork all() const {
    ModelWork work{.parameter = parameter_bytes(),
                   .exchanged = exchanged(),
                   .logits = bytes(tokens_ * vocabulary() * (time_.value_bytes() + 8)),
                   .context = kDriverContext,
                   .device = device_.memory,
                   .samples = batch_.samples,
                   .tokens = batch_.sequence,
                   .peak_flops = time_.rates().flops,
                   .memory_rate = time_.bandwidth(),
                   .optimizer_bytes = optimizer_bytes(),
                   .model = shape_.name,
                   .device_name = device_.name,
                   .domain = "shapes of transformers are not calibrated"};
    count_flops(work);
    work.layers.push_back(embedding());
    const LayerWork block = layer();
    for (std::int64_t l = 0; l < shape_.layers; ++l) {
      work.layers.push_back(block);
      work.layers.back().name = fmt::format("layer {}", l);
      for (Tensor& tensor : work.layers.back().tensors)
        tensor.name = fmt::format("layer {}.{}", l, tensor.name);
    }
    work.layers.push_back(head());
    if (shape_.is_tied) work.tied_params = divided(shape_.vocabulary, cut_.tensor) * shape_.hidden;
    return work;
  }

 private:
  static double as_double(std::int64_t count) { return static_cast<double>(count); }
  double h() const { return as_double(shape_.hidden); }
  double queries() const { return as_double(shape_.heads * shape_.head_dim) / t_; }
  double keys_values() const { return as_double(2 * shape_.kv_heads * shape_.head_dim) / t_; }
  double ffn() const { return as_double(shape_.ffn) / t_; }
  double vocabulary() const { return as_double(divided(shape_.vocabulary, cut_.tensor)); }
  static Bytes bytes(double count) { return {std::llround(std::min(count, 1e18))}; }

  double product(double inputs, double outputs) const {
    return time_.seconds(time_.executed(2 * tokens_ * inputs * outputs, inputs, outputs),
                         time_.rates().gemm_efficiency,
                         tokens_ * (inputs + outputs) + inputs * outputs);
  }
  double moves(double values_of_token) const {
    return time_.seconds(0, 1, tokens_ * values_of_token);
  }
  /// All products of a layer with weights, once.
  double products() const {
    const auto inner = static_cast<double>(shape_.inner_products());
    return product(h(), queries() + keys_values()) + product(queries(), h()) +
           inner * product(h(), ffn()) + product(ffn(), h());
  }
  double core_flops() const {
    const double whole = 4 * tokens_ * as_double(batch_.sequence) * queries();
    return device_.fuses_attention ? whole / 2 : whole;
  }
  /// Scores, softmax and sums of values; `backward`: their gradients.
  double attention(bool backward) const {
    const double efficiency = time_.rates().gemm_efficiency;
    const double values = 2 * queries() + keys_values();
    if (device_.fuses_attention) {
      return time_.seconds(core_flops() * (backward ? kFusedBackward : 1), efficiency,
                           tokens_ * values * (backward ? 2 : 1));
    }
    const double scores = as_double(shape_.heads) / t_ * as_double(batch_.sequence) * kScoreMoves;
    const double once = time_.seconds(core_flops(), efficiency, tokens_ * values) + moves(scores);
    return backward ? 2 * once : once;
  }
  double rest() const {
    const double activation = (shape_.is_gated ? 3 : 2) * ffn();
    const double rotary = shape_.positions == 0 ? 2 * queries() + keys_values() : 0;
    return moves(kHiddenMoves * h() / sp_ + activation + rotary);
  }

  LayerWork layer() const {
    const double once = products();
    const double core = attention(false);
    const double core_back = attention(true);
    LayerWork layer{.forward = time_of(once + core + rest()),
                    .input_gradient = time_of(once + core_back + kBackwardMoves * rest()),
                    .weight_gradient = time_of(once),
                    .attention = time_of(core),
                    .attention_gradient = time_of(core_back)};
    layer.tensors = tensors(layer_params(shape_), "weights", "norms and biases");
    keep(layer);
    return layer;
  }

  void keep(LayerWork& layer) const {
    const double w = time_.value_bytes();
    const double outside = (4 * w + (shape_.has_dropout ? 2 : 0)) * h() / sp_;
    const double inside = w * (2 * queries() + keys_values() + (shape_.is_gated ? 3 : 2) * ffn());
    const double heads = as_double(shape_.heads) / t_;
    double core = 4 * heads;
    if (!device_.fuses_attention)
      core = heads * as_double(batch_.sequence) * (shape_.has_dropout ? 2 * w + 1 : w);
    layer.kept = bytes(tokens_ * (outside + inside + core));
    layer.kept_attention = device_.fuses_attention ? Bytes{} : bytes(tokens_ * core);
    layer.kept_input = bytes(tokens_ * w * h() / sp_);
  }

  std::vector<Tensor> tensors(const SharedParams& params, const char* split,
                              const char* replicated) const {
    std::vector<Tensor> tensors;
    if (params.replicated > 0) tensors.push_back({replicated, params.replicated});
    if (params.split > 0) tensors.push_back({split, divided(params.split, cut_.tensor)});
    return tensors;
  }

  LayerWork embedding() const {
    const double values = tokens_ * h();
    const SharedParams params = embedding_params(shape_);
    LayerWork layer{
        .name = "embedding",
        .forward = time_of(time_.seconds(0, 1, 2 * values)),
        .weight_gradient = time_of(time_.seconds(0, 1, 2 * values + vocabulary() * h())),
        .is_block = false};
    layer.tensors = {{"tokens", divided(shape_.vocabulary, cut_.tensor) * shape_.hidden}};
    if (params.replicated > 0) layer.tensors.push_back({"positions", params.replicated});
    return layer;
  }

  LayerWork head() const {
    const double once = product(h(), vocabulary());
    const double loss = moves(2 * vocabulary() * (1 + 8 / time_.value_bytes()));
    const double norm = moves(2 * h() / sp_);
    LayerWork layer{.name = "logits and loss",
                    .forward = time_of(norm + once + loss),
                    .input_gradient = time_of(once + loss / 2 + kBackwardMoves * norm),
                    .weight_gradient = time_of(once),
                    .kept = bytes(tokens_ * 2 * time_.value_bytes() * h() / sp_),
                    .is_block = false,
                    .is_loss = true};
    layer.tensors = {{"last norm", head_params(shape_).replicated}};
    if (!shape_.is_tied)
      layer.tensors.push_back({"logits", divided(shape_.vocabulary, cut_.tensor) * shape_.hidden});
    return layer;
  }

  ParameterBytes parameter_bytes() const {
    const std::int64_t value = bytes_of(training_.precision);
    const auto states = static_cast<std::int64_t>(std::llround(4 * training_.optimizer.state));
    if (value >= 4) return {value, training_.weight_bytes, states};
    return {value, training_.weight_bytes, 4 + states + (training_.weight_bytes < 4 ? 4 : 0)};
  }

  ExchangedBytes exchanged() const {
    const double w = time_.value_bytes();
    return {.hidden = bytes(tokens_ * h() * w),
            .queries = bytes(tokens_ * queries() * w),
            .keys_values = bytes(tokens_ * keys_values() * w)};
  }

  double optimizer_bytes() const {
    const bool is_mixed = bytes_of(training_.precision) < 4;
    return 4 * training_.optimizer.values + (is_mixed ? time_.value_bytes() : 0);
  }

  void count_flops(ModelWork& work) const {
    const double s = as_double(batch_.sequence);
    const double core = 4 * as_double(shape_.layers * shape_.heads * shape_.head_dim) * s * s;
    const double all = 2 * as_double(multiply_accumulates(shape_, batch_.sequence));
    const double products = all - core;
    const double logits = 2 * as_double(shape_.vocabulary) * h() * s;
    const double used = device_.fuses_attention ? core / 2 : core;
    work.model_flops = 3 * (products + core / 2);
    work.hardware_flops = 3 * (products + used);
    work.attention_flops = used;
    work.forward_flops = products - logits + used;
  }

  const TransformerShape& shape_;
  const MicroBatch& batch_;
  const ModelCut& cut_;
  const Device& device_;
  const Training& training_;
  KernelTime time_;
  double tokens_;
  double t_;
  double sp_;
};

/// Numbers of a shape that ranks can share only evenly.
void check_cut(const Config& request, const TransformerShape& shape, const ModelCut& cut,
               std::int64_t sequence) {
  const auto expect = [&](std::int64_t count, std::int64_t by, const char* what) {
    if (count % by == 0) return;
    request.fail("model", fmt::format("{} has {} {}, which {} ranks of the layout cannot share "
                                      "evenly",
                                      shape.name, count, what, by));
  };
  expect(shape.heads, cut.tensor, "heads of queries");
  expect(shape.kv_heads, cut.tensor, "heads of keys and values");
  expect(shape.ffn, cut.tensor, "values inside the MLP");
  if (sequence % cut.context != 0) {
    request.fail("sequence", fmt::format("found {}, expected a multiple of the layout's {} context "
                                         "ranks",
                                         sequence, cut.context));
  }
}

class TransformerModel final : public ShapeModel {
 public:
  ModelWork work(const Config& request, const ModelCut& cut) const override {
    const TransformerShape shape = shape_of(request);
    const Device device = device_of(request);
    const std::int64_t gradient = bytes_of(request.get<std::string>("dtype"));
    const Training training = training_of(request, device, gradient);
    if (!request.has("sequence"))
      request.fail("sequence", "required but missing, as \"model\" is the shape of a transformer");
    const auto sequence = request.get<std::int64_t>("sequence");
    check_cut(request, shape, cut, sequence);
    if (shape.positions > 0 && sequence > shape.positions) {
      request.fail("sequence", fmt::format("found {}, expected at most {}, the positions of {}",
                                           sequence, shape.positions, shape.name));
    }
    try {
      return transformer_work(shape, {request.get<std::int64_t>("batch"), sequence}, cut, device,
                              training);
    } catch (const std::overflow_error& e) {
      request.fail("batch", e.what());
    }
  }

 private:
  static TransformerShape shape_of(const Config& request) {
    const std::string name = text_under(request, "model");
    if (name.ends_with(".json"))
      return parse_transformer(request.text_of("model"), request.get<std::string>("model"));
    const std::string file = find_transformer(name);
    if (!file.empty()) return read_transformer(file);
    if (!find_layer_table(name).empty()) {
      request.fail("model",
                   fmt::format("\"{}\" is a layer table, which no layout can cut; expected "
                               "the shape of a transformer",
                               name));
    }
    request.fail("model", unknown_word(name, transformer_names()));
  }
};

const bool kRegistered =
    ShapeModels::instance().add("roofline", "the shape of a transformer and a device", {},
                                [](const Config&) { return std::make_unique<TransformerModel>(); });

}  // namespace

ModelWork transformer_work(const TransformerShape& shape, const MicroBatch& batch,
                           const ModelCut& cut, const Device& device, const Training& training) {
  return Work(shape, batch, cut, device, training).all();
}

}  // namespace steptime
