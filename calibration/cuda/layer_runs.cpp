#include "calibration/cuda/layer_runs.h"

#include "calibration/cuda/device.h"
#include "calibration/shapes.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cublas_v2.h>
#include <cudnn.h>
#include <map>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

void check_dnn(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw MissingError(fmt::format("{}: {}", call, cudnnGetErrorString(status)));
}
void check_blas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw MissingError(fmt::format("{}: status {}", call, static_cast<int>(status)));
}

// The layers' functions keep descriptors, and functions are copied.
template <class Handle>
using Shared = std::shared_ptr<std::remove_pointer_t<Handle>>;
template <class Handle>
Shared<Handle> made(cudnnStatus_t (*make)(Handle*), cudnnStatus_t (*destroy)(Handle)) {
  Handle handle = nullptr;
  check_dnn(make(&handle), "cudnnCreate");
  return Shared<Handle>(handle, [destroy](Handle h) { (void)destroy(h); });
}

using Tensor4 = Shared<cudnnTensorDescriptor_t>;

/// How values are kept and multiplied; sums are float32 in each.
struct Precision {
  cudnnDataType_t values;
  cudaDataType_t blas_values;
  std::int64_t bytes;  ///< per value
  cudnnTensorFormat_t format;
  cudnnMathType_t products;
  cublasMath_t blas_products;
};

Precision precision_named(const std::string& name) {
  constexpr auto kRows = CUDNN_TENSOR_NCHW;
  constexpr auto kChannelsLast =
      CUDNN_TENSOR_NHWC;  // what tensor cores take without a transposition
  static const std::map<std::string, Precision> known{
      {"float32", {CUDNN_DATA_FLOAT, CUDA_R_32F, 4, kRows, CUDNN_FMA_MATH, CUBLAS_DEFAULT_MATH}},
      {"tf32",
       {CUDNN_DATA_FLOAT, CUDA_R_32F, 4, kRows, CUDNN_TENSOR_OP_MATH, CUBLAS_TF32_TENSOR_OP_MATH}},
      {"float16",
       {CUDNN_DATA_HALF, CUDA_R_16F, 2, kChannelsLast, CUDNN_TENSOR_OP_MATH, CUBLAS_DEFAULT_MATH}},
      {"bfloat16",
       {CUDNN_DATA_BFLOAT16, CUDA_R_16BF, 2, kChannelsLast, CUDNN_TENSOR_OP_MATH,
        CUBLAS_DEFAULT_MATH}}};
  const auto found = known.find(name);
  if (found == known.end())
    throw InputError(
        fmt::format("--precision: unknown \"{}\"; known: bfloat16, float16, float32, "
                    "tf32",
                    name));
  return found->second;
}

constexpr float kOne = 1;
constexpr float kZero = 0;

class Cudnn final : public ComputeBackend {
 public:
  explicit Cudnn(const std::string& precision) : precision_(precision_named(precision)) {
    check_dnn(cudnnSetStream(dnn_.get(), stream_.get()), "cudnnSetStream");
    cublasHandle_t handle = nullptr;
    check_blas(cublasCreate(&handle), "cublasCreate");
    blas_.reset(handle);
    check_blas(cublasSetStream(handle, stream_.get()), "cublasSetStream");
    check_blas(cublasSetMathMode(handle, precision_.blas_products), "cublasSetMathMode");
  }

  std::vector<LayerRun> layer_runs(const std::vector<TableLayer>& layers,
                                   std::int64_t batch) override {
    batch_ = batch;
    std::int64_t most_values = 0;
    std::int64_t most_params = 0;
    for (const TableLayer& layer : layers) {
      most_values = std::max({most_values, layer.input, layer.output});
      for (const Tensor& t : layer.tensors)
        most_params = std::max(most_params, t.params);
    }
    constexpr std::int64_t kStatistics = 1 << 20;  // of batch norm: four values per channel
    for (GpuMemory* memory : {&source_, &target_, &source_gradient_, &target_gradient_})
      *memory = gpu_memory(precision_.bytes * batch * most_values);
    for (GpuMemory* memory : {&weights_, &weights_gradient_})
      *memory = gpu_memory(std::max(kStatistics, 4 * most_params));
    std::vector<LayerRun> runs;
    runs.reserve(layers.size());
    for (const TableLayer& layer : layers)
      runs.push_back(run_of(layer));
    workspace_ = gpu_memory(std::max<std::int64_t>(1, workspace_bytes_));
    reserve_ = gpu_memory(std::max<std::int64_t>(1, reserve_bytes_));
    return runs;
  }

  void mark() override {
    marks_.push_back(make_event());
    check(cudaEventRecord(marks_.back().get(), stream_.get()), "cudaEventRecord");
  }
  std::vector<double> laps() override {
    std::vector<double> laps;
    for (std::size_t i = 1; i < marks_.size(); ++i)
      laps.push_back(seconds_between(marks_[i - 1], marks_[i]));
    marks_.clear();
    return laps;
  }
  std::string device() const override { return gpu_name(0); }
  std::string library() const override {
    return fmt::format("cuDNN {}, CUDA {}", cudnnGetVersion(), cuda_version());
  }
  std::string time() const override { return "time of GPU 0"; }

 private:
  LayerRun run_of(const TableLayer& layer) {
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
        return activation(layer);
    }
    STEPTIME_CHECK(false, layer.name);
  }

  void* workspace() const { return workspace_.get(); }

  Tensor4 tensor(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return tensor(n, c, h, w, precision_.values);
  }
  Tensor4 tensor(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                 cudnnDataType_t values) const {
    Tensor4 result = made(cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor);
    check_dnn(
        cudnnSetTensor4dDescriptor(result.get(), precision_.format, values, static_cast<int>(n),
                                   static_cast<int>(c), static_cast<int>(h), static_cast<int>(w)),
        "cudnnSetTensor4dDescriptor");
    return result;
  }

  LayerRun convolution(const TableLayer& layer) {
    const auto shape = convolution_shape(layer.macs, layer.input, layer.output, layer.weights());
    if (!shape) {
      throw InputError(fmt::format(
          "layer \"{}\": its kernel and image do not follow from its table", layer.name));
    }
    channels_ = shape->channels_out;
    const Tensor4 x = tensor(batch_, shape->channels_in, shape->image_in, shape->image_in);
    const Tensor4 y = tensor(batch_, shape->channels_out, shape->image_out, shape->image_out);
    const auto w = made(cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor);
    const auto kernel = static_cast<int>(shape->kernel);
    check_dnn(cudnnSetFilter4dDescriptor(w.get(), precision_.values, precision_.format,
                                         static_cast<int>(shape->channels_out),
                                         static_cast<int>(shape->channels_in), kernel, kernel),
              "cudnnSetFilter4dDescriptor");
    const auto how = made(cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor);
    const auto padding = static_cast<int>(shape->padding);
    const auto stride = static_cast<int>(shape->stride);
    check_dnn(cudnnSetConvolution2dDescriptor(how.get(), padding, padding, stride, stride, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              "cudnnSetConvolution2dDescriptor");
    check_dnn(cudnnSetConvolutionMathType(how.get(), precision_.products),
              "cudnnSetConvolutionMathType");
    // The fastest, as frameworks choose it that try them.
    int found = 0;
    cudnnConvolutionFwdAlgoPerf_t forward{};
    check_dnn(cudnnFindConvolutionForwardAlgorithm(dnn_.get(), x.get(), w.get(), how.get(), y.get(),
                                                   1, &found, &forward),
              "cudnnFindConvolutionForwardAlgorithm");
    cudnnConvolutionBwdDataAlgoPerf_t to_source{};
    check_dnn(cudnnFindConvolutionBackwardDataAlgorithm(dnn_.get(), w.get(), y.get(), how.get(),
                                                        x.get(), 1, &found, &to_source),
              "cudnnFindConvolutionBackwardDataAlgorithm");
    cudnnConvolutionBwdFilterAlgoPerf_t to_weights{};
    check_dnn(cudnnFindConvolutionBackwardFilterAlgorithm(dnn_.get(), x.get(), y.get(), how.get(),
                                                          w.get(), 1, &found, &to_weights),
              "cudnnFindConvolutionBackwardFilterAlgorithm");
    for (const std::size_t bytes : {forward.memory, to_source.memory, to_weights.memory})
      workspace_bytes_ = std::max(workspace_bytes_, static_cast<std::int64_t>(bytes));
    const bool is_first = !std::exchange(has_begun_, true);
    return {
        layer.name,
        [=, this] {
          check_dnn(cudnnConvolutionForward(dnn_.get(), &kOne, x.get(), source_.get(), w.get(),
                                            weights_.get(), how.get(), forward.algo, workspace(),
                                            forward.memory, &kZero, y.get(), target_.get()),
                    "cudnnConvolutionForward");
        },
        [=, this] {
          check_dnn(cudnnConvolutionBackwardFilter(dnn_.get(), &kOne, x.get(), source_.get(),
                                                   y.get(), target_gradient_.get(), how.get(),
                                                   to_weights.algo, workspace(), to_weights.memory,
                                                   &kZero, w.get(), weights_gradient_.get()),
                    "cudnnConvolutionBackwardFilter");
          if (is_first) return;  // nobody needs the gradient of the samples
          check_dnn(cudnnConvolutionBackwardData(dnn_.get(), &kOne, w.get(), weights_.get(),
                                                 y.get(), target_gradient_.get(), how.get(),
                                                 to_source.algo, workspace(), to_source.memory,
                                                 &kZero, x.get(), source_gradient_.get()),
                    "cudnnConvolutionBackwardData");
        }};
  }

  void multiply(cublasOperation_t of_a, cublasOperation_t of_b, std::int64_t rows,
                std::int64_t columns, std::int64_t inner, const GpuMemory& a, std::int64_t lines_a,
                const GpuMemory& b, std::int64_t lines_b, const GpuMemory& c) {
    const cudaDataType_t values = precision_.blas_values;
    check_blas(
        cublasGemmEx(blas_.get(), of_a, of_b, static_cast<int>(rows), static_cast<int>(columns),
                     static_cast<int>(inner), &kOne, a.get(), values, static_cast<int>(lines_a),
                     b.get(), values, static_cast<int>(lines_b), &kZero, c.get(), values,
                     static_cast<int>(rows), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
  }

  /// In columns, as cuBLAS has it: weights are input x output, samples columns.
  LayerRun inner_product(const TableLayer& layer) {
    const std::int64_t in = layer.input;
    const std::int64_t out = layer.output;
    return {layer.name,
            [=, this] {
              multiply(CUBLAS_OP_T, CUBLAS_OP_N, out, batch_, in, weights_, in, source_, in,
                       target_);
            },
            [=, this] {
              multiply(CUBLAS_OP_N, CUBLAS_OP_T, in, out, batch_, source_, in, target_gradient_,
                       out, weights_gradient_);
              multiply(CUBLAS_OP_N, CUBLAS_OP_N, in, batch_, out, weights_, in, target_gradient_,
                       out, source_gradient_);
            }};
  }

  LayerRun batch_norm(const TableLayer& layer) {
    const std::int64_t channels = layer.tensors.empty() ? channels_ : layer.tensors.front().params;
    const Tensor4 data = tensor(batch_, channels, layer.input / channels, 1);
    const Tensor4 per_channel = tensor(1, channels, 1, 1, CUDNN_DATA_FLOAT);
    const auto part = [channels](const GpuMemory& memory, std::int64_t index) {
      return static_cast<float*>(memory.get()) + index * channels;
    };
    constexpr double kEpsilon = 1e-5;
    // What frameworks call: with channels last the calls without "Ex" are twenty times as slow.
    const auto mode = precision_.format == CUDNN_TENSOR_NHWC ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT
                                                             : CUDNN_BATCHNORM_SPATIAL;
    constexpr auto kAlone = CUDNN_BATCHNORM_OPS_BN;  // no activation, no addition
    std::size_t forward = 0;
    std::size_t backward = 0;
    std::size_t reserve = 0;
    check_dnn(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
                  dnn_.get(), mode, kAlone, data.get(), nullptr, data.get(), per_channel.get(),
                  nullptr, &forward),
              "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize");
    check_dnn(cudnnGetBatchNormalizationBackwardExWorkspaceSize(
                  dnn_.get(), mode, kAlone, data.get(), nullptr, data.get(), nullptr, data.get(),
                  per_channel.get(), nullptr, &backward),
              "cudnnGetBatchNormalizationBackwardExWorkspaceSize");
    check_dnn(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(dnn_.get(), mode, kAlone,
                                                                   nullptr, data.get(), &reserve),
              "cudnnGetBatchNormalizationTrainingExReserveSpaceSize");
    for (const std::size_t bytes : {forward, backward})
      workspace_bytes_ = std::max(workspace_bytes_, static_cast<std::int64_t>(bytes));
    reserve_bytes_ = std::max(reserve_bytes_, static_cast<std::int64_t>(reserve));
    return {layer.name,
            [=, this] {
              check_dnn(cudnnBatchNormalizationForwardTrainingEx(
                            dnn_.get(), mode, kAlone, &kOne, &kZero, data.get(), source_.get(),
                            nullptr, nullptr, data.get(), target_.get(), per_channel.get(),
                            part(weights_, 0), part(weights_, 1), 1.0, nullptr, nullptr, kEpsilon,
                            part(weights_gradient_, 2), part(weights_gradient_, 3), nullptr,
                            workspace(), forward, reserve_.get(), reserve),
                        "cudnnBatchNormalizationForwardTrainingEx");
            },
            [=, this] {
              check_dnn(cudnnBatchNormalizationBackwardEx(
                            dnn_.get(), mode, kAlone, &kOne, &kZero, &kOne, &kZero, data.get(),
                            source_.get(), nullptr, nullptr, data.get(), target_gradient_.get(),
                            nullptr, nullptr, data.get(), source_gradient_.get(), per_channel.get(),
                            part(weights_, 0), nullptr, part(weights_gradient_, 0),
                            part(weights_gradient_, 1), kEpsilon, part(weights_gradient_, 2),
                            part(weights_gradient_, 3), nullptr, workspace(), backward,
                            reserve_.get(), reserve),
                        "cudnnBatchNormalizationBackwardEx");
            }};
  }

  LayerRun pooling(const TableLayer& layer) {
    const std::int64_t window = pooling_window(layer);
    const std::int64_t outputs = layer.output / channels_;
    const Tensor4 x = tensor(batch_, channels_, outputs * window, 1);
    const Tensor4 y = tensor(batch_, channels_, outputs, 1);
    const auto how = made(cudnnCreatePoolingDescriptor, cudnnDestroyPoolingDescriptor);
    check_dnn(
        cudnnSetPooling2dDescriptor(how.get(), CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN,
                                    static_cast<int>(window), 1, 0, 0, static_cast<int>(window), 1),
        "cudnnSetPooling2dDescriptor");
    return {layer.name,
            [=, this] {
              check_dnn(cudnnPoolingForward(dnn_.get(), how.get(), &kOne, x.get(), source_.get(),
                                            &kZero, y.get(), target_.get()),
                        "cudnnPoolingForward");
            },
            [=, this] {
              check_dnn(
                  cudnnPoolingBackward(dnn_.get(), how.get(), &kOne, y.get(), target_.get(),
                                       y.get(), target_gradient_.get(), x.get(), source_.get(),
                                       &kZero, x.get(), source_gradient_.get()),
                  "cudnnPoolingBackward");
            }};
  }

  LayerRun softmax(const TableLayer& layer) {
    const Tensor4 data = tensor(batch_, layer.output, 1, 1);
    return {layer.name,
            [=, this] {
              check_dnn(cudnnSoftmaxForward(dnn_.get(), CUDNN_SOFTMAX_ACCURATE,
                                            CUDNN_SOFTMAX_MODE_INSTANCE, &kOne, data.get(),
                                            source_.get(), &kZero, data.get(), target_.get()),
                        "cudnnSoftmaxForward");
            },
            [=, this] {
              check_dnn(cudnnSoftmaxBackward(dnn_.get(), CUDNN_SOFTMAX_ACCURATE,
                                             CUDNN_SOFTMAX_MODE_INSTANCE, &kOne, data.get(),
                                             target_.get(), data.get(), target_gradient_.get(),
                                             &kZero, data.get(), source_gradient_.get()),
                        "cudnnSoftmaxBackward");
            }};
  }

  /// Its gradient is the sum's own, for both summands: nothing to do.
  LayerRun add(const TableLayer& layer) {
    const Tensor4 data = tensor(batch_, 1, layer.output, 1);
    return {layer.name,
            [=, this] {
              check_dnn(cudnnAddTensor(dnn_.get(), &kOne, data.get(), source_.get(), &kOne,
                                       data.get(), target_.get()),
                        "cudnnAddTensor");
            },
            [] {}};
  }

  /// What reads each value once and writes it once takes about what ReLU takes: dropout, LRN,
  /// concatenation.
  LayerRun activation(const TableLayer& layer) {
    const Tensor4 data = tensor(batch_, 1, layer.output, 1);
    const auto how = made(cudnnCreateActivationDescriptor, cudnnDestroyActivationDescriptor);
    check_dnn(cudnnSetActivationDescriptor(how.get(), CUDNN_ACTIVATION_RELU,
                                           CUDNN_NOT_PROPAGATE_NAN, 0.0),
              "cudnnSetActivationDescriptor");
    return {layer.name,
            [=, this] {
              check_dnn(cudnnActivationForward(dnn_.get(), how.get(), &kOne, data.get(),
                                               source_.get(), &kZero, data.get(), target_.get()),
                        "cudnnActivationForward");
            },
            [=, this] {
              check_dnn(cudnnActivationBackward(dnn_.get(), how.get(), &kOne, data.get(),
                                                target_.get(), data.get(), target_gradient_.get(),
                                                data.get(), source_.get(), &kZero, data.get(),
                                                source_gradient_.get()),
                        "cudnnActivationBackward");
            }};
  }

  Precision precision_;
  const int gpus_ = gpus();  // says what is missing, before cuDNN does in other words
  std::int64_t batch_ = 1;
  std::int64_t channels_ = 1;  ///< channels that the last convolution made
  bool has_begun_ = false;
  Stream stream_ = make_stream();
  Shared<cudnnHandle_t> dnn_ = made(cudnnCreate, cudnnDestroy);
  std::unique_ptr<cublasContext, FreedBy<cublasDestroy_v2>> blas_;
  GpuMemory source_, target_, source_gradient_, target_gradient_, weights_, weights_gradient_;
  GpuMemory workspace_;
  GpuMemory reserve_;  ///< what batch norm keeps from its forward to its backward pass
  std::int64_t workspace_bytes_ = 0;
  std::int64_t reserve_bytes_ = 0;
  std::vector<Event> marks_;
};

}  // namespace

std::unique_ptr<ComputeBackend> make_cudnn_backend(const std::string& precision) {
  return std::make_unique<Cudnn>(precision);
}

}  // namespace steptime
