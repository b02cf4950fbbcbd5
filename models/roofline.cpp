// Roofline: time of a kernel = max(work / flop rate, bytes moved / memory bandwidth) + overhead.
//
// Scope: training of convolutional networks with a vendor library of 2017 (cuDNN 5 to 7) on one
// GPU, SGD with momentum. One kernel at a time; no fusion of layers, no caches between kernels, no
// input pipeline. Grouped convolutions count as ordinary ones. Not calibrated: depthwise
// convolutions, networks on sequences and values of other than 4 bytes; the trace's domain says so.
// Parameters: data sheet: peak flop rate [flop/s] per size of value, memory_bandwidth [B/s].
// Fitted: gemm_efficiency [1], filter_gain [1], kernel_overhead [s]. Assumed: memory_efficiency
// [1]. The device file says what was fitted on what.
// Validation: tests/validation/single_gpu.json, every published single-GPU row. The form of the
// model was chosen with all of them in view; its parameters are fitted on the rows marked there.
// Source: Williams et al. 2009, "Roofline", doi 10.1145/1498765.1498785; fast convolution: Lavin
// and Gray 2016, arXiv 1509.09308.
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
// The first layer with tensors has no data gradient, and layers before it have no backward pass.
//
// The optimizer moves five values per parameter (reads gradient, weight, momentum; writes weight,
// momentum), one kernel per tensor. It runs after the gradients were exchanged and before the next
// use of the weights, so it counts as forward time: the step is complete and no gradient is late.
#include "models/roofline.h"

#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/config/registry.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

/// Matrix-product kernels compute output channels in tiles of at least this many.
constexpr double kChannelTile = 64;

/// Fast convolution (Winograd, FFT) exists for filters of 3x3 and more that move by one: those meet
/// each input value 9 times or more, a little less when the border is not padded. It does not pay
/// on the few channels of the network's input.
constexpr double kFastFilterUses = 8;

constexpr double kMostSeconds = 1e6;  // as in a trace file

const Params& validation_params() {
  static const Params params{
      {.key = "rows", .kind = Kind::kInteger, .range = {.low = 0, .high = 1e9}},
      {.key = "typical_pct",
       .kind = Kind::kNumber,
       .help = "mean of the absolute errors",
       .range = {.low = 0, .high = 1e6}},
      {.key = "worst_pct", .kind = Kind::kNumber, .range = {.low = 0, .high = 1e6}}};
  return params;
}

const Params& device_params() {
  static const Params params{
      {.key = "format",
       .kind = Kind::kText,
       .help = "steptime-device",
       .words = {"steptime-device"}},
      {.key = "version", .kind = Kind::kInteger, .help = "1", .range = {.low = 1, .high = 1}},
      {.key = "name", .kind = Kind::kText, .help = "as the file is called"},
      {.key = "help", .kind = Kind::kText, .help = "one line"},
      {.key = "float64_flops",
       .kind = Kind::kNumber,
       .help = "peak, flop/s",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e21}},
      {.key = "float32_flops",
       .kind = Kind::kNumber,
       .help = "peak, flop/s",
       .range = {.low = 1, .high = 1e21}},
      {.key = "float16_flops",
       .kind = Kind::kNumber,
       .help = "peak, flop/s",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e21}},
      {.key = "memory_bandwidth", .kind = Kind::kBandwidth, .help = "peak", .range = kPositive},
      {.key = "gemm_efficiency",
       .kind = Kind::kNumber,
       .help = "share of the peak flop rate that matrix products reach",
       .range = {.low = 0, .high = 1, .low_is_allowed = false}},
      {.key = "memory_efficiency",
       .kind = Kind::kNumber,
       .help = "share of the peak bandwidth that kernels reach",
       .range = {.low = 0, .high = 1, .low_is_allowed = false}},
      {.key = "filter_gain",
       .kind = Kind::kNumber,
       .help = "how many times fewer products fast convolution needs; 4 in the limit of F(4x4,3x3)",
       .range = {.low = 1, .high = 4}},
      {.key = "kernel_overhead", .kind = Kind::kTime, .help = "per kernel", .range = kNotNegative},
      {.key = "calibrated_batch", .kind = Kind::kObject, .help = "from, to"},
      {.key = "calibration", .kind = Kind::kText, .help = "which parameters are fitted, on what"},
      {.key = "validation",
       .kind = Kind::kObject,
       .help = "errors of published rows that are not fitted",
       .need = Need::kOptional,
       .table = validation_params},
      {.key = "sources", .kind = Kind::kObject, .help = "of the data-sheet figures"}};
  return params;
}

const Params& batch_params() {
  static const Params params{
      {.key = "from", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e9}},
      {.key = "to", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e9}}};
  return params;
}

const Params& source_params() {
  static const Params params{{.key = "flops", .kind = Kind::kText},
                             {.key = "memory_bandwidth", .kind = Kind::kText}};
  return params;
}

/// One launch on the device.
struct Kernel {
  double flops = 0;    ///< per sample
  double values = 0;   ///< read and written, per sample
  double weights = 0;  ///< read and written, per launch
};

/// What the forward or backward pass of a layer launches.
using Kernels = std::vector<Kernel>;

/// Output channels of a layer with macs: a weight is used once per output position of its channel.
double channels(const TableLayer& layer) {
  const double count = static_cast<double>(layer.weights()) * static_cast<double>(layer.output) /
                       static_cast<double>(layer.macs);
  return std::max(1.0, std::round(count));
}

/// Floating-point operations per sample that the device executes in one pass over the weights.
double executed_flops(const TableLayer& layer, std::int64_t network_input, double filter_gain) {
  const double flops = 2 * static_cast<double>(layer.macs);
  if (layer.kind == LayerKind::kDepthwiseConvolution || layer.kind == LayerKind::kMatrixProduct)
    return flops;
  const double count = channels(layer);
  const double tiled = flops * (std::ceil(count / kChannelTile) * kChannelTile / count);
  const double uses = static_cast<double>(layer.macs) / (count * static_cast<double>(layer.input));
  const bool is_fast = layer.kind == LayerKind::kConvolution && uses >= kFastFilterUses &&
                       layer.input != network_input;
  return is_fast ? tiled / filter_gain : tiled;
}

double params_of(const TableLayer& layer) {
  double sum = 0;
  for (const Tensor& tensor : layer.tensors)
    sum += static_cast<double>(tensor.params);
  return sum;
}

Kernels forward_kernels(const TableLayer& layer, double flops) {
  const auto x = static_cast<double>(layer.input);
  const auto y = static_cast<double>(layer.output);
  double values = x + y;
  if (layer.kind == LayerKind::kBatchNorm) values = 2 * x + y;
  if (layer.kind == LayerKind::kDropout) values = x + 2 * y;
  if (layer.kind == LayerKind::kEmbedding) values = 2 * y;
  Kernels kernels{{flops, values, layer.kind == LayerKind::kEmbedding ? 0 : params_of(layer)}};
  for (const Tensor& tensor : layer.tensors)
    kernels.push_back({.weights = 5 * static_cast<double>(tensor.params)});
  return kernels;
}

/// `is_first`: no layer before this one has tensors, so nobody needs the gradient of its input.
Kernels backward_kernels(const TableLayer& layer, double flops, bool is_first) {
  const auto x = static_cast<double>(layer.input);
  const auto y = static_cast<double>(layer.output);
  const double weights = params_of(layer);
  if (is_first && layer.tensors.empty()) return {};
  switch (layer.kind) {
    case LayerKind::kConvolution:
    case LayerKind::kDepthwiseConvolution:
    case LayerKind::kFullyConnected:
      return Kernels(is_first ? 1 : 2, Kernel{flops, x + y, weights});
    case LayerKind::kMatrixProduct:
      return Kernels(2, Kernel{flops, x + y, weights});
    case LayerKind::kEmbedding:
      return {{0, 2 * y, weights}};
    case LayerKind::kLayerNorm:
      return {{0, 2 * x + y, weights}};
    case LayerKind::kBatchNorm:
      return {{0, is_first ? x + y : 2 * (x + y) + x, weights}};
    case LayerKind::kActivation:
    case LayerKind::kDropout:
      return {{0, 2 * y + x, 0}};
    case LayerKind::kPooling:
    case LayerKind::kLrn:
      return {{0, 2 * (x + y), 0}};
    case LayerKind::kAdd:
    case LayerKind::kConcat:
    case LayerKind::kSoftmax:
      return {{0, x + y, 0}};
  }
  return {};
}

/// The device at one size of value.
struct Rates {
  double flops_per_second;
  double values_per_second;
  double overhead;  ///< s
};

double seconds(const Kernels& kernels, const Rates& rates, double batch) {
  double sum = 0;
  for (const Kernel& k : kernels) {
    sum += std::max(k.flops * batch / rates.flops_per_second,
                    (k.values * batch + k.weights) / rates.values_per_second) +
           rates.overhead;
  }
  return sum;
}

std::string domain(const LayerTable& table, const Device& device, std::int64_t batch,
                   std::int64_t bytes_per_value) {
  std::vector<std::string> outside;
  if (batch < device.batch_from || batch > device.batch_to) {
    outside.push_back(fmt::format("batch {} is outside the calibrated {} to {}", batch,
                                  device.batch_from, device.batch_to));
  }
  if (bytes_per_value != 4) {
    outside.push_back(fmt::format("{}-byte values are not calibrated", bytes_per_value));
  }
  if (std::any_of(table.layers.begin(), table.layers.end(), [](const TableLayer& layer) {
        return layer.kind == LayerKind::kDepthwiseConvolution;
      })) {
    outside.emplace_back("depthwise convolutions are not calibrated");
  }
  if (std::any_of(table.layers.begin(), table.layers.end(), [](const TableLayer& layer) {
        return layer.kind == LayerKind::kMatrixProduct;
      })) {
    outside.emplace_back("networks on sequences are not calibrated");
  }
  return outside.empty() ? "inside" : fmt::format("{}", fmt::join(outside, "; "));
}

Json provenance(const LayerTable& table, const Device& device) {
  const Json& definition = table.provenance;
  return {{"source", fmt::format("computed: layer table {} ({}) on device {}", table.name,
                                 definition.at("source").get<std::string>(), device.name)},
          {"date", definition.at("date")},
          {"licence", definition.at("licence")},
          {"note", "Roofline, not a measurement. " + device.calibration}};
}

fs::path devices_dir() {
  return data_dir() / "models" / "devices";
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const fs::path& file : json_files(devices_dir()))
    names.push_back(file.stem().string());
  return names;
}

class Roofline final : public DeviceModel {
 public:
  Trace trace(const Config& request, const std::string& model, const std::string& device,
              std::int64_t batch, std::int64_t bytes_per_value) const override {
    const std::string table = find_layer_table(model);
    if (table.empty()) request.fail("model", unknown_word(model, layer_table_names()));
    const std::vector<std::string> devices = device_names();
    if (!std::binary_search(devices.begin(), devices.end(), device))
      request.fail("device", unknown_word(device, devices));
    const Device found = read_device((devices_dir() / (device + ".json")).string());
    if (!found.flops.contains(bytes_per_value)) {
      std::vector<std::int64_t> sizes;
      for (const auto& [bytes, unused] : found.flops)
        sizes.push_back(bytes);
      request.fail("dtype", fmt::format("device \"{}\" has no flop rate for values of {} bytes; "
                                        "known: {}",
                                        device, bytes_per_value, fmt::join(sizes, ", ")));
    }
    std::optional<std::int64_t> sequence;
    if (request.has("sequence")) sequence = request.get<std::int64_t>("sequence");
    try {
      return roofline(read_layer_table(table, sequence), found, batch, bytes_per_value);
    } catch (const std::out_of_range& e) {
      request.fail("sequence", e.what());
    } catch (const std::overflow_error& e) {
      request.fail("batch", e.what());
    }
  }
};

const bool kRegistered = Registry<DeviceModel>::instance().add(
    "roofline", "layer table and device: flop rate, memory bandwidth, overhead per kernel", {},
    [](const Config&) { return std::make_unique<Roofline>(); });

}  // namespace

Device parse_device(const std::string& text, const std::string& file) {
  const Config config(std::make_shared<Document>(Document{file, parse_json(text, file)}),
                      device_params());
  config.get<std::string>("format");
  config.get<std::int64_t>("version");
  config.get<std::string>("help");
  const Config batch = config.object("calibrated_batch", batch_params());
  const Config sources = config.object("sources", source_params());
  for (const Param& p : source_params())
    sources.get<std::string>(p.key);
  Device device{.name = config.get<std::string>("name"),
                .memory_bandwidth = config.get<Bandwidth>("memory_bandwidth"),
                .gemm_efficiency = config.get<double>("gemm_efficiency"),
                .memory_efficiency = config.get<double>("memory_efficiency"),
                .filter_gain = config.get<double>("filter_gain"),
                .kernel_overhead = config.get<Duration>("kernel_overhead"),
                .batch_from = batch.get<std::int64_t>("from"),
                .batch_to = batch.get<std::int64_t>("to"),
                .calibration = config.get<std::string>("calibration")};
  device.flops[4] = config.get<double>("float32_flops");
  if (config.has("float16_flops")) device.flops[2] = config.get<double>("float16_flops");
  if (config.has("float64_flops")) device.flops[8] = config.get<double>("float64_flops");
  if (config.has("validation")) {
    const Config found = config.object("validation", validation_params());
    device.validation = {.rows = found.get<std::int64_t>("rows"),
                         .typical_pct = found.get<double>("typical_pct"),
                         .worst_pct = found.get<double>("worst_pct")};
  }
  if (device.batch_to < device.batch_from) {
    batch.fail("to", fmt::format("must be at least /calibrated_batch/from, got {} after {}",
                                 device.batch_to, device.batch_from));
  }
  return device;
}

Device read_device(const std::string& path) {
  Device device = parse_device(read_file(path), path);
  if (const std::string stem = fs::path(path).stem().string(); device.name != stem) {
    throw InputError(
        fmt::format("{}: /name: expected \"{}\", got {}", path, stem, brief(device.name)));
  }
  return device;
}

Trace roofline(const LayerTable& table, const Device& device, std::int64_t batch,
               std::int64_t bytes_per_value) {
  const Rates rates{.flops_per_second = device.flops.at(bytes_per_value) * device.gemm_efficiency,
                    .values_per_second = device.memory_bandwidth.bytes_per_second *
                                         device.memory_efficiency /
                                         static_cast<double>(bytes_per_value),
                    .overhead = to_seconds(device.kernel_overhead)};
  Trace trace{.model = table.name,
              .device = device.name,
              .batch = batch,
              .provenance = provenance(table, device),
              .domain = domain(table, device, batch, bytes_per_value),
              .modelled = device.validation};
  double total = 0;
  bool is_first = true;
  for (const TableLayer& layer : table.layers) {
    const double flops =
        layer.macs == 0 ? 0 : executed_flops(layer, table.input, device.filter_gain);
    const auto samples = static_cast<double>(batch);
    const double forward = seconds(forward_kernels(layer, flops), rates, samples);
    const double backward = seconds(backward_kernels(layer, flops, is_first), rates, samples);
    total += forward + backward;
    if (!(total <= kMostSeconds)) {
      throw std::overflow_error(fmt::format("{} samples take more than {} s of compute in one step",
                                            batch, kMostSeconds));
    }
    trace.layers.push_back({.name = layer.name,
                            .forward = from_seconds(forward),
                            .backward = from_seconds(backward),
                            .tensors = layer.tensors});
    is_first = is_first && layer.tensors.empty();
  }
  return trace;
}

}  // namespace steptime
