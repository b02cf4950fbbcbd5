#include "calibration/dnnl/layer_runs.h"

#include "calibration/shapes.h"
#include "sim/core/error.h"

#include <algorithm>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

using dnnl::memory;
using dnnl::prop_kind;
using Arguments = std::unordered_map<int, memory>;

class Builder {
 public:
  explicit Builder(std::int64_t batch) : batch_(batch) {}

  LayerRun run(const TableLayer& layer) {
    switch (layer.kind) {
      case LayerKind::kConvolution:
        return convolution(layer);
      case LayerKind::kFullyConnected:
        return inner_product(layer);
      case LayerKind::kBatchNorm:
        return batch_norm(layer);
      case LayerKind::kPooling:
        return pooling(layer);
      case LayerKind::kSoftmax:
        return softmax(layer);
      case LayerKind::kAdd:
        return add(layer);
      case LayerKind::kDepthwiseConvolution:
        throw InputError(
            fmt::format("layer \"{}\": depthwise convolutions are not measured", layer.name));
      case LayerKind::kEmbedding:
      case LayerKind::kLayerNorm:
      case LayerKind::kMatrixProduct:
        throw InputError(
            fmt::format("layer \"{}\": networks on sequences are not measured", layer.name));
      case LayerKind::kActivation:
      case LayerKind::kConcat:
      case LayerKind::kDropout:
      case LayerKind::kLrn:
        return elementwise(layer);
    }
    STEPTIME_CHECK(false, layer.name);
  }

 private:
  static memory::desc any(const memory::dims& dims) {
    return {dims, memory::data_type::f32, memory::format_tag::any};
  }
  static memory::desc plain(const memory::dims& dims) {
    return {dims, memory::data_type::f32,
            dims.size() == 4 ? memory::format_tag::nChw16c : memory::format_tag::ab};
  }
  /// Memory that has been written, so that its pages are there; values near 0 keep sums finite.
  memory made(const memory::desc& desc) const {
    memory result(desc, engine_);
    std::fill_n(static_cast<float*>(result.get_data_handle()), desc.get_size() / sizeof(float),
                1e-3F);
    return result;
  }
  std::function<void()> step(const dnnl::primitive& primitive, Arguments arguments) const {
    return [primitive, arguments = std::move(arguments), stream = stream_]() mutable {
      primitive.execute(stream, arguments);
      stream.wait();
    };
  }
  static std::function<void()> both(std::function<void()> first, std::function<void()> second) {
    return [first = std::move(first), second = std::move(second)] {
      first();
      second();
    };
  }

  LayerRun convolution(const TableLayer& layer) {
    const auto shape = convolution_shape(layer.macs, layer.input, layer.output, layer.weights());
    if (!shape) {
      throw InputError(fmt::format(
          "layer \"{}\": its kernel and image do not follow from its table", layer.name));
    }
    channels_ = shape->channels_out;
    const auto source = any({batch_, shape->channels_in, shape->image_in, shape->image_in});
    const auto weights =
        any({shape->channels_out, shape->channels_in, shape->kernel, shape->kernel});
    const auto target = any({batch_, shape->channels_out, shape->image_out, shape->image_out});
    const memory::dims strides{shape->stride, shape->stride};
    const memory::dims left{shape->padding, shape->padding};
    // What a division rounded down is neither padded nor read on the right side.
    const std::int64_t rest =
        std::max<std::int64_t>(0, (shape->image_out - 1) * shape->stride + shape->kernel -
                                      shape->image_in - shape->padding);
    const memory::dims right{rest, rest};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {prop_kind::forward_training, algorithm, source, weights, target, strides, left, right},
        engine_);
    const dnnl::convolution_backward_data::primitive_desc to_source(
        {algorithm, source, weights, target, strides, left, right}, engine_, forward);
    const dnnl::convolution_backward_weights::primitive_desc to_weights(
        {algorithm, source, weights, target, strides, left, right}, engine_, forward);
    const bool is_first = !std::exchange(has_begun_, true);
    auto gradient_of_weights =
        step(dnnl::convolution_backward_weights(to_weights),
             {{DNNL_ARG_SRC, made(to_weights.src_desc())},
              {DNNL_ARG_DIFF_DST, made(to_weights.diff_dst_desc())},
              {DNNL_ARG_DIFF_WEIGHTS, made(to_weights.diff_weights_desc())}});
    auto gradient_of_source = step(dnnl::convolution_backward_data(to_source),
                                   {{DNNL_ARG_DIFF_DST, made(to_source.diff_dst_desc())},
                                    {DNNL_ARG_WEIGHTS, made(to_source.weights_desc())},
                                    {DNNL_ARG_DIFF_SRC, made(to_source.diff_src_desc())}});
    return {
        layer.name,
        step(dnnl::convolution_forward(forward), {{DNNL_ARG_SRC, made(forward.src_desc())},
                                                  {DNNL_ARG_WEIGHTS, made(forward.weights_desc())},
                                                  {DNNL_ARG_DST, made(forward.dst_desc())}}),
        // Nobody needs the gradient of the samples.
        is_first ? gradient_of_weights : both(gradient_of_weights, gradient_of_source)};
  }

  LayerRun inner_product(const TableLayer& layer) {
    const auto source = any({batch_, layer.input});
    const auto weights = any({layer.output, layer.input});
    const auto target = any({batch_, layer.output});
    const dnnl::inner_product_forward::primitive_desc forward(
        {prop_kind::forward_training, source, weights, target}, engine_);
    const dnnl::inner_product_backward_data::primitive_desc to_source({source, weights, target},
                                                                      engine_, forward);
    const dnnl::inner_product_backward_weights::primitive_desc to_weights({source, weights, target},
                                                                          engine_, forward);
    return {layer.name,
            step(dnnl::inner_product_forward(forward),
                 {{DNNL_ARG_SRC, made(forward.src_desc())},
                  {DNNL_ARG_WEIGHTS, made(forward.weights_desc())},
                  {DNNL_ARG_DST, made(forward.dst_desc())}}),
            both(step(dnnl::inner_product_backward_weights(to_weights),
                      {{DNNL_ARG_SRC, made(to_weights.src_desc())},
                       {DNNL_ARG_DIFF_DST, made(to_weights.diff_dst_desc())},
                       {DNNL_ARG_DIFF_WEIGHTS, made(to_weights.diff_weights_desc())}}),
                 step(dnnl::inner_product_backward_data(to_source),
                      {{DNNL_ARG_DIFF_DST, made(to_source.diff_dst_desc())},
                       {DNNL_ARG_WEIGHTS, made(to_source.weights_desc())},
                       {DNNL_ARG_DIFF_SRC, made(to_source.diff_src_desc())}}))};
  }

  LayerRun batch_norm(const TableLayer& layer) {
    const std::int64_t channels = layer.tensors.empty() ? channels_ : layer.tensors.front().params;
    const auto data = plain({batch_, channels, layer.input / channels, 1});
    const auto flags = dnnl::normalization_flags::use_scale_shift;
    const dnnl::batch_normalization_forward::primitive_desc forward(
        {prop_kind::forward_training, data, 1e-5F, flags}, engine_);
    const dnnl::batch_normalization_backward::primitive_desc backward(
        {prop_kind::backward, data, data, 1e-5F, flags}, engine_, forward);
    const memory source = made(data);
    const memory mean = made(forward.mean_desc());
    const memory variance = made(forward.variance_desc());
    const memory weights = made(forward.weights_desc());
    return {layer.name,
            step(dnnl::batch_normalization_forward(forward), {{DNNL_ARG_SRC, source},
                                                              {DNNL_ARG_MEAN, mean},
                                                              {DNNL_ARG_VARIANCE, variance},
                                                              {DNNL_ARG_SCALE_SHIFT, weights},
                                                              {DNNL_ARG_DST, made(data)}}),
            step(dnnl::batch_normalization_backward(backward),
                 {{DNNL_ARG_SRC, source},
                  {DNNL_ARG_MEAN, mean},
                  {DNNL_ARG_VARIANCE, variance},
                  {DNNL_ARG_SCALE_SHIFT, weights},
                  {DNNL_ARG_DIFF_DST, made(data)},
                  {DNNL_ARG_DIFF_SRC, made(data)},
                  {DNNL_ARG_DIFF_SCALE_SHIFT, made(backward.diff_weights_desc())}})};
  }

  LayerRun pooling(const TableLayer& layer) {
    const std::int64_t window = pooling_window(layer);
    const auto source = plain({batch_, channels_, layer.output / channels_ * window, 1});
    const auto target = plain({batch_, channels_, layer.output / channels_, 1});
    const memory::dims kernel{window, 1};
    const memory::dims none{0, 0};
    const auto algorithm = dnnl::algorithm::pooling_max;
    const dnnl::pooling_forward::primitive_desc forward(
        {prop_kind::forward_training, algorithm, source, target, kernel, kernel, none, none},
        engine_);
    const dnnl::pooling_backward::primitive_desc backward(
        {algorithm, source, target, kernel, kernel, none, none}, engine_, forward);
    const memory workspace(forward.workspace_desc(), engine_);
    return {layer.name,
            step(dnnl::pooling_forward(forward), {{DNNL_ARG_SRC, made(source)},
                                                  {DNNL_ARG_DST, made(target)},
                                                  {DNNL_ARG_WORKSPACE, workspace}}),
            step(dnnl::pooling_backward(backward), {{DNNL_ARG_DIFF_DST, made(target)},
                                                    {DNNL_ARG_DIFF_SRC, made(source)},
                                                    {DNNL_ARG_WORKSPACE, workspace}})};
  }

  LayerRun softmax(const TableLayer& layer) {
    const auto data = plain({batch_, layer.output});
    const dnnl::softmax_forward::primitive_desc forward({prop_kind::forward_training, data, 1},
                                                        engine_);
    const dnnl::softmax_backward::primitive_desc backward({data, data, 1}, engine_, forward);
    const memory target = made(data);
    return {
        layer.name,
        step(dnnl::softmax_forward(forward), {{DNNL_ARG_SRC, made(data)}, {DNNL_ARG_DST, target}}),
        step(dnnl::softmax_backward(backward), {{DNNL_ARG_DST, target},
                                                {DNNL_ARG_DIFF_DST, made(data)},
                                                {DNNL_ARG_DIFF_SRC, made(data)}})};
  }

  /// Its gradient is the sum's own, for both summands: nothing to do.
  LayerRun add(const TableLayer& layer) {
    const auto data = plain({batch_, layer.output});
    const dnnl::binary::primitive_desc forward({dnnl::algorithm::binary_add, data, data, data},
                                               engine_);
    return {layer.name,
            step(dnnl::binary(forward), {{DNNL_ARG_SRC_0, made(data)},
                                         {DNNL_ARG_SRC_1, made(data)},
                                         {DNNL_ARG_DST, made(data)}}),
            [] {}};
  }

  /// What reads each value once and writes it once takes about what ReLU takes: dropout, LRN,
  /// concatenation.
  LayerRun elementwise(const TableLayer& layer) {
    const auto data = plain({batch_, layer.output});
    const auto algorithm = dnnl::algorithm::eltwise_relu;
    const dnnl::eltwise_forward::primitive_desc forward(
        {prop_kind::forward_training, algorithm, data, 0.0F}, engine_);
    const dnnl::eltwise_backward::primitive_desc backward({algorithm, data, data, 0.0F}, engine_,
                                                          forward);
    const memory source = made(data);
    return {
        layer.name,
        step(dnnl::eltwise_forward(forward), {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, made(data)}}),
        step(dnnl::eltwise_backward(backward), {{DNNL_ARG_SRC, source},
                                                {DNNL_ARG_DIFF_DST, made(data)},
                                                {DNNL_ARG_DIFF_SRC, made(data)}})};
  }

  std::int64_t batch_;
  std::int64_t channels_ = 1;  ///< channels that the last convolution made
  bool has_begun_ = false;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
};

}  // namespace

std::vector<LayerRun> dnnl_runs(const std::vector<TableLayer>& layers, std::int64_t batch) {
  Builder builder(batch);
  std::vector<LayerRun> runs;
  for (const TableLayer& layer : layers) {
    try {
      runs.push_back(builder.run(layer));
    } catch (const dnnl::error& e) {
      throw InputError(fmt::format("layer \"{}\": oneDNN: {}", layer.name, e.what()));
    }
  }
  return runs;
}

}  // namespace steptime
