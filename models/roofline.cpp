// Roofline: time of a kernel = max(work / flop rate, bytes moved / memory bandwidth) + overhead.
//
// Scope: training on one GPU with a vendor library and its framework. One kernel at a time; no
// fusion of layers but attention, where the device says so, and batch norms, where asked for; no
// caches between kernels, no input pipeline. Grouped convolutions count as ordinary ones. What a
// precision of a device was not calibrated on (depthwise convolutions, networks on sequences,
// itself), the trace's domain says. Parameters: data sheet: peak flop rate [flop/s] per precision,
// memory_bandwidth [B/s]. Fitted: gemm_efficiency, convolution_efficiency, depthwise_efficiency,
// filter_gain, convolution_traffic [1], gemm_half_size [channels], kernel_overhead [s]. Assumed or
// measured: memory_efficiency [1]. The device file says which on what. host_per_kernel [s] is the
// workload's: what the framework's host thread takes to launch a kernel; 0, as in a CUDA graph, by
// default. Validation: tests/validation/single_gpu.json, every published single-GPU row, and
// measured steps, traces/h100/steps.jsonl and traces/h200/steps.jsonl. The form of the model was
// chosen with the float32 and the measured ones in view, and so were the rows that it is fitted on;
// none of H200's is. The published rows of PyTorch found the form as it is, and the rows to fit it
// on were named before their errors were seen, but BERT-Large's: the first choice turned out to be
// compiled. Source: Williams et al. 2009, "Roofline", doi 10.1145/1498765.1498785; fast
// convolution: Lavin and Gray 2016, arXiv 1509.09308; fused attention: Dao et al. 2022, arXiv
// 2205.14135.
//
// Kernels of a layer with X input and Y output values per sample and W weights, and the values that
// each reads and writes (per sample, weights once per kernel):
//
//   kind            forward                         backward
//   with macs       X + Y + W, macs                 data gradient:   Y + X + W, macs
//                                                   weight gradient: X + Y + W, macs
//   batch-norm      2X + Y: statistics, normalise   2(X + Y) + X: two sums, then the gradient
//   activation      X + Y                           2Y + X: result and its gradient
//   pooling, lrn    X + Y                           2(X + Y): input, result, both gradients
//   dropout         X + 2Y: with the mask           2Y + X
//   add, concat, softmax
//                   X + Y                           Y + X
//   embedding       2Y: the rows, and their copies  2Y + W: zeroes, then rows are added
//   layer-norm      X + Y                           2X + Y
//   matrix-product  X + Y, macs                     twice the same, one for each factor
//
// Fused attention (scores, softmax, dropout, context) is one kernel forward, which moves queries,
// keys, values and the result, and one backward, which moves each and its gradient and makes the
// scores again: 5 products for the forward pass's 2. The first of its layers has all its time.
//
// Mixed precision (values of 2 bytes, weights of 4): the weights are cast for the forward pass (4 +
// 2 + 2 bytes) and their gradients back (2 + 2 + 4). In networks on sequences additions, layer
// norms and softmaxes are made in float32, and the loss in copies of it, which doubles their bytes
// twice.
//
// Autocast on channels-first tensors, as PyTorch runs a network that nobody has changed: tensor
// cores want channels last, so each pass of a convolution (forward, data gradient, weight gradient)
// reads and writes its two tensors once more, in a kernel each. For ResNet-50 at batch 32 this is
// 8.5 GB; no trace of it was seen. On a V100 nothing is fitted to it: 45.5 ms a step, 47.5 to 48.7
// published (configs/papers/clusters/csc-v100.json).
//
// Fused batch norms, as cuDNN has them for channels-last tensors and MLPerf's submissions of MXNet
// use them (run_and_time.sh: --fuse-bn-relu 1, --fuse-bn-add-relu 1): the kernels of a batch norm
// do the addition and the activation after it as well. Beside the norm's own values they read what
// is added and write its gradient; the bits that say where an activation is 0 are left out. Nothing
// is fitted to it.
//
// The first layer with tensors has no data gradient, and layers before it have no backward pass.
//
// The optimizer runs after the gradients were exchanged and before the next use of the weights, so
// it counts as forward time: the step is complete and no gradient is late.
//
// Kernels run in the order of the step, forward, backward, update. Each is launched host_per_kernel
// after the one before it: where all of them together take the host longer than the GPU, the GPU
// waits, and a layer has what passes until its kernels are done.
#include "models/roofline.h"

#include "models/kernel_time.h"
#include "models/memory.h"
#include "models/model_request.h"
#include "models/transformer.h"
#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/config/registry.h"
#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/workload/software_words.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

/// Tensor cores take products of so many values at a time, which the network's colours are padded
/// to.
constexpr double kTensorCoreDepth = 16;

/// Fast convolution (Winograd, FFT) exists for filters of 3x3 and more that move by one: those meet
/// each input value 9 times or more, a little less when the border is not padded. It does not pay
/// on the few channels of the network's input.
constexpr double kFastFilterUses = 8;

constexpr double kMostSeconds = 1e6;  // as in a trace file

/// What a pass of a layer launches.
using Kernels = std::vector<Kernel>;

/// Output channels of a layer with macs: a weight is used once per output position of its channel.
double channels(const TableLayer& layer) {
  const double count = static_cast<double>(layer.weights()) * static_cast<double>(layer.output) /
                       static_cast<double>(layer.macs);
  return std::max(1.0, std::round(count));
}

/// Floating-point operations per sample that the device executes in one pass over the weights.
double executed_flops(const TableLayer& layer, const LayerTable& table, const Arithmetic& rates) {
  const double flops = 2 * static_cast<double>(layer.macs);
  if (layer.kind == LayerKind::kDepthwiseConvolution || layer.kind == LayerKind::kMatrixProduct)
    return flops;
  const double count = channels(layer);
  if (layer.kind != LayerKind::kConvolution)
    return product_flops(flops, static_cast<double>(layer.weights()) / count, count, rates);
  const double tiled = tiled_flops(flops, count, rates);
  if (layer.input == table.input) {
    const auto colours = static_cast<double>(table.input_channels);
    return rates.has_tensor_cores ? tiled * rounded_up(colours, kTensorCoreDepth) / colours : tiled;
  }
  const double uses = static_cast<double>(layer.macs) / (count * static_cast<double>(layer.input));
  return uses >= kFastFilterUses ? tiled / rates.filter_gain : tiled;
}

double params_of(const TableLayer& layer) {
  double sum = 0;
  for (const Tensor& tensor : layer.tensors)
    sum += static_cast<double>(tensor.params);
  return sum;
}

/// The kernels of a table's layers, in the order of the step.
class Step {
 public:
  Step(const LayerTable& table, const Device& device, const Training& training)
      : table_(table),
        rates_(device.precisions.at(training.precision)),
        is_mixed_(training.is_mixed()),
        converts_(training.channels_first && rates_.has_tensor_cores),
        fuses_attention_(device.fuses_attention),
        fuses_norms_(training.fuses_norms) {}

  /// Of each layer, forward and backward.
  std::vector<std::pair<Kernels, Kernels>> kernels() const {
    std::vector<std::pair<Kernels, Kernels>> all;
    bool is_first = true;
    for (std::size_t i = 0; i < table_.layers.size(); ++i) {
      const TableLayer& layer = table_.layers[i];
      if (const std::size_t parts = fuses_attention_ ? attention_at(table_, i) : 0; parts > 0) {
        all.push_back(attention(i, parts));
        all.resize(all.size() + parts - 1);
        i += parts - 1;
        continue;
      }
      all.emplace_back(converted(layer, {forward(layer)}),
                       converted(layer, backward(layer, is_first)));
      is_first = is_first && layer.tensors.empty();
      if (!fuses_norms_) continue;
      const AfterNorm after = after_norm_at(table_, i);
      if (after.added > 0) {
        for (Kernels* pass : {&all.back().first, &all.back().second})
          pass->front().values += static_cast<double>(after.added);
      }
      all.resize(all.size() + after.layers);
      i += after.layers;
    }
    return all;
  }

 private:
  std::pair<Kernels, Kernels> attention(std::size_t first, std::size_t parts) const {
    const double values = attention_values(table_, first, parts);
    const double flops =
        2 * static_cast<double>(table_.layers[first].macs + table_.layers[first + parts - 1].macs);
    const auto [forward, backward] = fused_attention(flops, values, rates_);
    return {{forward}, {backward}};
  }

  /// With the kernels that bring a convolution's tensors into the layout of tensor cores and back:
  /// of each pass, one for what has the input's size and one for what has the output's.
  Kernels converted(const TableLayer& layer, Kernels kernels) const {
    if (!converts_ || layer.kind != LayerKind::kConvolution) return kernels;
    for (std::size_t passes = kernels.size(); passes > 0; --passes) {
      for (const std::int64_t values : {layer.input, layer.output})
        kernels.push_back({.values = 2 * static_cast<double>(values)});
    }
    return kernels;
  }

  /// Of a layer's values, by how many bytes more they have than the precision's.
  double widening(const TableLayer& layer) const {
    if (!is_mixed_ || !table_.has_sequences) return 1;
    if (layer.kind == LayerKind::kSoftmax && &layer == &table_.layers.back()) return 4;
    return layer.kind == LayerKind::kAdd || layer.kind == LayerKind::kLayerNorm ||
                   layer.kind == LayerKind::kSoftmax
               ? 2
               : 1;
  }

  double efficiency(LayerKind kind) const {
    if (kind == LayerKind::kConvolution) return rates_.convolution_efficiency;
    return kind == LayerKind::kDepthwiseConvolution ? rates_.depthwise_efficiency
                                                    : rates_.gemm_efficiency;
  }

  /// One pass over a layer with macs; weights in float32 take three times as much for their casts.
  Kernel products(const TableLayer& layer, bool casts_weights) const {
    const double traffic = layer.kind == LayerKind::kConvolution ? rates_.convolution_traffic : 1;
    return {executed_flops(layer, table_, rates_), efficiency(layer.kind),
            traffic * static_cast<double>(layer.input + layer.output),
            params_of(layer) * (is_mixed_ && casts_weights ? 4 : 1)};
  }

  Kernel forward(const TableLayer& layer) const {
    if (layer.macs > 0) return products(layer, true);
    const double x = static_cast<double>(layer.input) * widening(layer);
    const double y = static_cast<double>(layer.output) * widening(layer);
    double values = x + y;
    if (layer.kind == LayerKind::kBatchNorm) values = 2 * x + y;
    if (layer.kind == LayerKind::kDropout) values = x + 2 * y;
    if (layer.kind == LayerKind::kEmbedding) values = 2 * y;
    return {.values = values,
            .weights = layer.kind == LayerKind::kEmbedding ? 0 : params_of(layer)};
  }

  /// `is_first`: no layer before this one has tensors, so nobody needs the gradient of its input.
  Kernels backward(const TableLayer& layer, bool is_first) const {
    const double x = static_cast<double>(layer.input) * widening(layer);
    const double y = static_cast<double>(layer.output) * widening(layer);
    const double weights = params_of(layer);
    const auto moves = [](double values, double of_weights) {
      return Kernels{{.values = values, .weights = of_weights}};
    };
    if (is_first && layer.tensors.empty()) return {};
    switch (layer.kind) {
      case LayerKind::kConvolution:
      case LayerKind::kDepthwiseConvolution:
      case LayerKind::kFullyConnected: {
        Kernels kernels{products(layer, true)};
        if (!is_first) kernels.push_back(products(layer, false));
        return kernels;
      }
      case LayerKind::kMatrixProduct:
        return Kernels(2, products(layer, false));
      case LayerKind::kEmbedding:
        return moves(2 * y, weights);
      case LayerKind::kLayerNorm:
        return moves(2 * x + y, weights);
      case LayerKind::kBatchNorm:
        return moves(is_first ? x + y : 2 * (x + y) + x, weights);
      case LayerKind::kActivation:
      case LayerKind::kDropout:
        return moves(2 * y + x, 0);
      case LayerKind::kPooling:
      case LayerKind::kLrn:
        return moves(2 * (x + y), 0);
      case LayerKind::kAdd:
      case LayerKind::kConcat:
      case LayerKind::kSoftmax:
        return moves(x + y, 0);
    }
    return {};
  }

  const LayerTable& table_;
  const Arithmetic& rates_;
  bool is_mixed_;
  bool converts_;  ///< the layout of what convolutions read and write
  bool fuses_attention_;
  bool fuses_norms_;  ///< with what comes after them
};

/// A kernel that was timed, for a layer's forward or backward pass.
struct TimedKernel {
  std::size_t layer = 0;
  bool is_backward = false;
  double seconds = 0;
  bool is_update = false;  ///< the kernel is the optimizer's, which updates weights
  double waited = 0;       ///< the part of `seconds` in which the GPU waits for the host
};

/// In the order of the step.
std::vector<TimedKernel> timed_kernels(const LayerTable& table, const Device& device,
                                       std::int64_t batch, const Training& training) {
  const KernelTime time(device, training.precision);
  const auto samples = static_cast<double>(batch);
  const auto kernels = Step(table, device, training).kernels();
  std::vector<TimedKernel> timed;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const Kernel& kernel : kernels[i].first)
      timed.push_back({i, false, time.seconds(kernel, samples)});
  }
  for (std::size_t i = kernels.size(); i-- > 0;) {
    for (const Kernel& kernel : kernels[i].second)
      timed.push_back({i, true, time.seconds(kernel, samples)});
  }
  const Optimizer& optimizer = training.optimizer;
  const double weights_per_second =
      time.bytes_per_second() / static_cast<double>(training.weight_bytes);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const Tensor& tensor : table.layers[i].tensors) {
      const double moved =
          optimizer.values * static_cast<double>(tensor.params) / weights_per_second;
      const int kernels_of_it = std::max(1, optimizer.tensor_kernels);
      const double start = optimizer.tensor_kernels == 0 ? 0 : time.overhead();
      for (int k = 0; k < kernels_of_it; ++k)
        timed.push_back({i, false, moved / kernels_of_it + start, true});
    }
  }
  return timed;
}

/// Lengthens the kernels for which the GPU waits, as in a step amid others. Whether there are any.
bool wait_for_host(std::vector<TimedKernel>& kernels, double host_per_kernel) {
  double gpu = 0;
  for (const TimedKernel& kernel : kernels)
    gpu += kernel.seconds;
  // With less host than GPU time the host runs ahead, further with each step.
  if (gpu >= host_per_kernel * static_cast<double>(kernels.size())) return false;
  double launched = 0;
  double done = 0;
  for (const bool counts : {false, true}) {
    for (TimedKernel& kernel : kernels) {
      launched += host_per_kernel;
      const double before = std::exchange(done, std::max(launched, done) + kernel.seconds);
      if (!counts) continue;
      kernel.waited = std::max(launched - before, 0.0);
      kernel.seconds = done - before;
    }
  }
  return true;
}

std::string domain(const LayerTable& table, const Device& device, std::int64_t batch,
                   const std::string& precision) {
  const Arithmetic& rates = device.precisions.at(precision);
  const auto has = [&](LayerKind kind) {
    return std::any_of(table.layers.begin(), table.layers.end(),
                       [kind](const TableLayer& layer) { return layer.kind == kind; });
  };
  std::vector<std::string> outside;
  if (batch < device.batch_from || batch > device.batch_to) {
    outside.push_back(fmt::format("batch {} is outside the calibrated {} to {}", batch,
                                  device.batch_from, device.batch_to));
  }
  if (!rates.validation) outside.push_back(fmt::format("{} is not calibrated", precision));
  if (has(LayerKind::kDepthwiseConvolution) && !rates.knows_depthwise)
    outside.emplace_back("depthwise convolutions are not calibrated");
  if (has(LayerKind::kMatrixProduct) && !rates.knows_sequences)
    outside.emplace_back("networks on sequences are not calibrated");
  return outside.empty() ? "inside" : fmt::format("{}", fmt::join(outside, "; "));
}

/// The overheads of devices that were fitted to MXNet are those of its host, too: no kernel that
/// only copies takes as long. Where copies alone were measured they take less (copy_overhead).
constexpr double kMostCopyOverhead = 7e-6;  // h100's, of all its kernels

/// `host_per_kernel`: for which the GPU waits; 0 where the host runs ahead.
ArrayCopies copies_on(const LayerTable& table, const Device& device, const KernelTime& time,
                      double host_per_kernel) {
  const auto norms =
      std::count_if(table.layers.begin(), table.layers.end(),
                    [](const TableLayer& layer) { return layer.kind == LayerKind::kBatchNorm; });
  const double start = device.copy_overhead ? to_seconds(*device.copy_overhead)
                                            : std::min(time.overhead(), kMostCopyOverhead);
  return {.start = from_seconds(std::max(start, host_per_kernel)),
          .bytes_per_second = time.bytes_per_second(),
          .buffers = 3 * static_cast<std::int64_t>(norms)};
}

Json provenance(const LayerTable& table, const Device& device) {
  const Json& definition = table.provenance;
  return {{"source", fmt::format("computed: layer table {} ({}) on device {}", table.name,
                                 definition.at("source").get<std::string>(), device.name)},
          {"date", definition.at("date")},
          {"licence", definition.at("licence")},
          {"note", "Roofline, not a measurement. " + device.calibration}};
}

class Roofline final : public DeviceModel {
 public:
  Trace trace(const Config& request, std::int64_t bytes_per_value) const override {
    const Device device = device_of(request);
    try {
      const LayerTable table = table_of(request);
      Training training = training_of(request, device, bytes_per_value);
      const std::string kernels = kernels_word(request, table.name);
      training.channels_first = kernels == "autocast";
      training.fuses_norms = kernels == "fused";
      return roofline(table, device, request.get<std::int64_t>("batch"), training);
    } catch (const std::out_of_range& e) {
      request.fail("sequence", e.what());
    } catch (const std::overflow_error& e) {
      request.fail("batch", e.what());
    }
  }

 private:
  /// Under "model": a file, or else a shipped table by its name.
  static LayerTable table_of(const Config& request) {
    for (const char* key :
         {"shape", "products", "gathers", "keeps", "scales", "attention", "operators", "loss"}) {
      if (request.has(key)) request.fail(key, "unexpected, as \"model\" is a layer table");
    }
    std::optional<std::int64_t> sequence;
    if (request.has("sequence")) sequence = request.get<std::int64_t>("sequence");
    const std::string name = text_under(request, "model");
    if (name.ends_with(".json"))
      return parse_layer_table(request.text_of("model"), request.get<std::string>("model"),
                               sequence);
    const std::string table = find_layer_table(name);
    if (table.empty() && !find_transformer(name).empty()) {
      request.fail("model",
                   fmt::format("\"{}\" is the shape of a transformer; expected a \"layout\" under "
                               "\"strategy\", or a layer table",
                               name));
    }
    if (table.empty()) request.fail("model", unknown_word(name, layer_table_names()));
    return read_layer_table(table, sequence);
  }
};

const bool kRegistered = Registry<DeviceModel>::instance().add(
    "roofline", "layer table and device: flop rate, memory bandwidth, overhead per kernel", {},
    [](const Config&) { return std::make_unique<Roofline>(); });

}  // namespace

Trace roofline(const LayerTable& table, const Device& device, std::int64_t batch,
               const Training& training) {
  Trace trace{
      .model = table.name,
      .device = device.name,
      .batch = batch,
      .provenance = provenance(table, device),
      .domain = domain(table, device, batch, training.precision),
      .modelled = device.precisions.at(training.precision).validation.value_or(ModelErrors{}),
      .multiprocessors = device.multiprocessors,
      .memory = training_memory(table, device, batch, training)};
  std::vector<TimedKernel> kernels = timed_kernels(table, device, batch, training);
  const double host = to_seconds(training.host_per_kernel);
  const bool waits_for_host = wait_for_host(kernels, host);
  struct Passes {
    double forward = 0;
    double backward = 0;
    double& of(const TimedKernel& kernel) { return kernel.is_backward ? backward : forward; }
  };
  std::vector<Passes> passes(table.layers.size());
  Passes whole;
  Passes waits;
  double total = 0;
  double update = 0;
  for (const TimedKernel& kernel : kernels) {
    if (kernel.is_update) update += kernel.seconds;
    passes[kernel.layer].of(kernel) += kernel.seconds;
    whole.of(kernel) += kernel.seconds;
    waits.of(kernel) += kernel.waited;
    total += kernel.seconds;
  }
  if (!(total <= kMostSeconds)) {
    throw std::overflow_error(
        fmt::format("{} samples take more than {} s of compute in one step", batch, kMostSeconds));
  }
  trace.update = from_seconds(update);
  trace.copies =
      copies_on(table, device, KernelTime(device, training.precision), waits_for_host ? host : 0);
  trace.forward_wait = waits.forward > 0 ? waits.forward / whole.forward : 0;
  trace.backward_wait = waits.backward > 0 ? waits.backward / whole.backward : 0;
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    trace.layers.push_back({.name = table.layers[i].name,
                            .forward = from_seconds(passes[i].forward),
                            .backward = from_seconds(passes[i].backward),
                            .tensors = table.layers[i].tensors});
  }
  return trace;
}

}  // namespace steptime
