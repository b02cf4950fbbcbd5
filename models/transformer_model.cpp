// The work of a transformer on one rank, from its shape and a device: parameters, times and kept
// bytes are those of models/transformer_work.h.
//
// Scope: one micro-batch. Tensor ranks share heads, inner values and vocabulary evenly, context
// ranks the sequence. Bytes of a parameter: weights in the precision, gradients in the workload's
// dtype; in mixed precision the optimizer has a master copy of 4 B beside its states of 4 B each,
// and with gradients of 2 B a copy of these: 18 B, 20 B, in float32 16 B with Adam; one that keeps
// remainders of weights has 2 B in place of both: 16 B, 14 B.
// Source: Megatron-LM docs/user-guide/features/dist_optimizer.md (bytes per parameter); remainders:
// store_param_remainders of NVIDIA/apex apex/contrib/optimizers/distributed_fused_adam.py, which
// NVIDIA/NeMo sets for bfloat16 (nemo/collections/nlp/models/language_modeling/
// megatron_gpt_model.py, setup_optimization).
#include "models/layer_table.h"
#include "models/memory.h"
#include "models/model_request.h"
#include "models/transformer_work.h"
#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/workload/model_work.h"

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

std::vector<Tensor> tensors_of(const ParameterCount& count, std::int64_t tensor) {
  std::vector<Tensor> tensors;
  if (count.replicated > 0) tensors.push_back({"replicated", count.replicated});
  if (count.split > 0) tensors.push_back({"split", (count.split + tensor - 1) / tensor});
  return tensors;
}

ParameterBytes parameter_bytes(const Training& training) {
  const std::int64_t value = bytes_of(training.precision);
  const auto states = static_cast<std::int64_t>(std::llround(4 * training.optimizer.state));
  if (value >= 4) return {value, training.weight_bytes, states};
  if (training.optimizer.keeps_remainders) return {value, training.weight_bytes, 2 + states};
  return {value, training.weight_bytes, 4 + states + (training.weight_bytes < 4 ? 4 : 0)};
}

/// Of a value and its part of a scale: MXFP8 has a scale of a byte for 32 values, NVFP4 one for 16
/// of half a byte (OCP Microscaling Formats 1.0; Transformer Engine common/recipe/__init__.py).
double bytes_of_recipe(const std::string& products) {
  if (products == "mxfp8") return 1 + 1. / 32;
  return products == "nvfp4" ? 0.5 + 1. / 16 : 1;
}

/// In float32, of the input, the weights and the result of each of a block's four linear layers
/// (NVIDIA/TransformerEngine@62a84b3c transformer_engine/pytorch/fp8.py get_fp8_max and
/// add_fp8_tensors_to_global_buffer: three a module forward; backward two, taken as many).
constexpr std::int64_t kMaxima = std::int64_t{4} * 3 * 4;

class RankWork {
 public:
  RankWork(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
           const Training& training, const Software& software)
      : shape_(shape), cut_(cut), device_(device), training_(training), software_(software) {}

  ModelWork all() const {
    const std::int64_t value = bytes_of(training_.precision);
    const HeadMemory head_bytes = head_memory(shape_, cut_, value, software_.fuses_loss);
    ModelWork work{
        .parameter = parameter_bytes(training_),
        .exchanged = exchanged(value),
        .logits = head_bytes.logits,
        .context = kDriverContext,
        .device = device_.memory,
        .multiprocessors = device_.multiprocessors,
        .samples = cut_.samples,
        .tokens = cut_.sequence,
        .update = [device = device_, training = training_](
                      std::int64_t params) { return optimizer_time(params, device, training); },
        .model = shape_.name,
        .device_name = device_.name,
        .domain = device_.transformers.contains(training_.precision)
                      ? "inside"
                      : "shapes of transformers are not calibrated"};
    count_flops(work);
    work.layers.push_back(part("embedding",
                               embedding_work(shape_, cut_, device_, training_, software_),
                               shape_.embedding_parameters()));
    work.layers.back().kept = embedding_memory(shape_, cut_);
    const LayerWork layer = block();
    for (std::int64_t l = 0; l < shape_.layers; ++l) {
      work.layers.push_back(layer);
      work.layers.back().name = fmt::format("layer {}", l);
    }
    ParameterCount head = shape_.final_norm_parameters();
    head += shape_.head_parameters();
    work.layers.push_back(
        part("logits and loss", head_work(shape_, cut_, device_, training_, software_), head));
    work.layers.back().kept = head_bytes.inputs;
    work.layers.back().is_loss = true;
    if (shape_.tied) {
      work.tied_params =
          ParameterCount{.split = shape_.vocabulary * shape_.hidden}.of_rank(cut_.tensor);
    }
    for (LayerWork& of : work.layers) {
      for (Tensor& tensor : of.tensors)
        tensor.name = fmt::format("{}.{}", of.name, tensor.name);
    }
    return work;
  }

 private:
  LayerWork part(std::string name, const PassWork& time, const ParameterCount& params) const {
    return {.name = std::move(name),
            .forward = time.forward,
            .input_gradient = time.input_gradient,
            .weight_gradient = time.weight_gradient,
            .tensors = tensors_of(params, cut_.tensor),
            .is_block = false};
  }

  LayerWork block() const {
    LayerWork layer = part("layer", layer_work(shape_, cut_, device_, training_, software_),
                           shape_.layer_parameters());
    layer.is_block = true;
    layer.attention = attention_core_forward(shape_, cut_, device_, training_, software_);
    // Two products for each of the forward pass, and with a fused one the scores again.
    layer.attention_gradient = scaled(layer.attention, software_.fuses_attention() ? 2.5 : 2);
    const LayerMemory memory = layer_memory(shape_, cut_, bytes_of(training_.precision), software_);
    layer.kept = memory.whole();
    layer.kept_attention = memory.attention_core;
    layer.kept_input = memory.input;
    layer.kept_norms = memory.norms;
    return layer;
  }

  ExchangedBytes exchanged(std::int64_t value) const {
    const std::int64_t tokens = cut_.samples * cut_.sequence / cut_.context;
    const std::int64_t hidden = tokens * shape_.hidden;
    std::optional<Bytes> gathered;
    if (software_.gathers_products && !software_.products.empty()) {
      gathered = {std::llround(static_cast<double>(hidden) * bytes_of_recipe(software_.products))};
    }
    return {.hidden = {hidden * value},
            .queries = {tokens * shape_.query_width() / cut_.tensor * value},
            .keys_values = {2 * tokens * shape_.key_width() / cut_.tensor * value},
            .gathered = gathered,
            .maxima = {software_.delays_scales && software_.products == "float8" ? kMaxima : 0}};
  }

  void count_flops(ModelWork& work) const {
    const SampleFlops flops = sample_flops(shape_, cut_.sequence);
    work.model_flops = flops.model();
    work.attention_flops = flops.selective_recompute();
    work.forward_flops = flops.full_recompute();
    work.peak_flops = software_.products.empty()
                          ? device_.precisions.at(training_.precision).flops
                          : device_.transformers.at(software_.products).flops;
  }

  const TransformerShape& shape_;
  const ShapeCut& cut_;
  const Device& device_;
  const Training& training_;
  const Software& software_;
};

/// Numbers of a shape that ranks can share only evenly.
void check_cut(const Config& request, const TransformerShape& shape, const ShapeCut& cut) {
  const auto expect = [&](std::int64_t count, const char* what) {
    if (count % cut.tensor == 0) return;
    request.fail("model", fmt::format("{} has {} {}, which the layout's {} tensor ranks cannot "
                                      "share evenly",
                                      shape.name, count, what, cut.tensor));
  };
  expect(shape.heads, "heads of queries");
  expect(shape.kv_heads, "heads of keys and values");
  expect(shape.ffn, "values inside the feed-forward network");
  if (cut.sequence % cut.context != 0) {
    request.fail("sequence",
                 fmt::format("found {}, expected a multiple of the layout's {} context ranks",
                             cut.sequence, cut.context));
  }
  const std::int64_t shared = cut.sequence / cut.context;  // tokens of a rank
  if (cut.sequence_parallel && shared % cut.tensor != 0) {
    request.fail("sequence",
                 fmt::format("found {}, expected a multiple of {}: sequence parallelism cuts the "
                             "tokens of a context rank over {} tensor ranks",
                             cut.sequence, cut.context * cut.tensor, cut.tensor));
  }
  if (shape.positions > 0 && cut.sequence > shape.positions) {
    request.fail("sequence", fmt::format("found {}, expected at most {}, the positions of {}",
                                         cut.sequence, shape.positions, shape.name));
  }
}

Software software_of(const Config& request, const Device& device) {
  Software software = usual_software(device);
  const auto says = [&](const char* key, const char* word) {
    return request.get<std::string>(key) == word;
  };
  if (request.has("attention")) {
    software.attention = says("attention", "unfused")             ? AttentionKernel::kUnfused
                         : says("attention", "flash-attention-1") ? AttentionKernel::kFirstFused
                                                                  : AttentionKernel::kFused;
  }
  if (request.has("operators")) software.fuses_operators = says("operators", "fused");
  if (request.has("loss")) software.fuses_loss = says("loss", "fused");
  if (request.has("gathers")) software.gathers_products = says("gathers", "products");
  if (request.has("scales")) software.delays_scales = says("scales", "delayed");
  if (request.has("host_per_kernel"))
    software.host_per_kernel = request.get<Duration>("host_per_kernel");
  const bool keeps_products = request.has("keeps") && says("keeps", "products");
  if (!request.has("products")) return software;
  software.products = request.get<std::string>("products");
  if (!device.transformers.contains(software.products)) {
    request.fail("products", fmt::format("device \"{}\" has no rates for {} of transformers",
                                         device.name, software.products));
  }
  if (keeps_products) software.kept_bytes = bytes_of_recipe(software.products);
  return software;
}

class TransformerModel final : public ShapeModel {
 public:
  ModelWork work(const Config& request, const ModelCut& cut) const override {
    const TransformerShape shape = shape_of(request);
    if (!request.has("sequence")) {
      request.fail("sequence", "required but missing, as \"model\" is the shape of a transformer");
    }
    const ShapeCut of{.samples = request.get<std::int64_t>("batch"),
                      .sequence = request.get<std::int64_t>("sequence"),
                      .tensor = cut.tensor,
                      .context = cut.context,
                      .sequence_parallel = cut.sequence_parallel};
    check_cut(request, shape, of);
    const Device device = device_of(request);
    const Training training =
        training_of(request, device, bytes_of(request.get<std::string>("dtype")));
    const Software software = software_of(request, device);
    try {
      return RankWork(shape, of, device, training, software).all();
    } catch (const RangeError& e) {
      request.fail("batch", e.what());
    }
  }

 private:
  static TransformerShape shape_of(const Config& request) {
    TransformerShape shape = named_shape(request);
    if (!request.has("shape")) return shape;
    return with_sizes(std::move(shape), request.object("shape", transformer_size_params()));
  }

  static TransformerShape named_shape(const Config& request) {
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
}  // namespace steptime
