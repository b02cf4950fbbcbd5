#include "models/device.h"

#include "sim/config/config.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr const char* kUnprintable = "expected printable characters";
constexpr Range kShare{.low = 0, .high = 1, .low_is_allowed = false};

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

const Params& arithmetic_params() {
  static const Params params{
      {.key = "flops", .kind = Kind::kNumber, .help = "peak", .range = {.low = 1, .high = 1e21}},
      {.key = "gemm_efficiency",
       .kind = Kind::kNumber,
       .help = "share of the peak that matrix products reach",
       .range = kShare},
      {.key = "gemm_half_size",
       .kind = Kind::kNumber,
       .help =
           "inputs, and outputs, of a layer at which products with its weights reach half of that",
       .need = Need::kDefault,
       .fallback = 0,
       .range = {.low = 0, .high = 1e6}},
      {.key = "convolution_efficiency",
       .kind = Kind::kNumber,
       .help = "share that convolutions reach; default: gemm_efficiency, which then is fitted to "
               "convolutional networks",
       .need = Need::kOptional,
       .range = kShare},
      {.key = "depthwise_efficiency",
       .kind = Kind::kNumber,
       .help = "share that depthwise convolutions reach; default: convolution_efficiency",
       .need = Need::kOptional,
       .range = kShare},
      {.key = "filter_gain",
       .kind = Kind::kNumber,
       .help = "how many times fewer products fast convolution needs; 4 in the limit of F(4x4,3x3)",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 4}},
      {.key = "convolution_traffic",
       .kind = Kind::kNumber,
       .help = "how often a convolution's values are moved; beyond 1 where they are transposed",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 10}},
      {.key = "kernel_overhead",
       .kind = Kind::kTime,
       .help = "per kernel, where it was fitted with these efficiencies; default: the device's",
       .need = Need::kOptional,
       .range = kNotNegative},
      {.key = "tensor_cores",
       .kind = Kind::kBoolean,
       .help = "products are made in tiles of 128 channels, 16 deep",
       .need = Need::kDefault,
       .fallback = false},
      {.key = "validation",
       .kind = Kind::kObject,
       .help = "errors of rows that are not fitted; without it the precision is not calibrated",
       .need = Need::kOptional,
       .table = validation_params}};
  return params;
}

const Params& precisions_params() {
  static const Params params = [] {
    Params all;
    for (const char* name : {"float64", "float32", "tf32", "float16", "bfloat16"}) {
      all.push_back({.key = name,
                     .kind = Kind::kObject,
                     .need = Need::kOptional,
                     .table = arithmetic_params});
    }
    return all;
  }();
  return params;
}

const Params& transformer_rates_params() {
  static const Params params{
      {.key = "flops",
       .kind = Kind::kNumber,
       .help = "peak; default: of the precision of that name",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e21}},
      {.key = "gemm_efficiency",
       .kind = Kind::kNumber,
       .help = "share of the peak that large products reach",
       .range = kShare},
      {.key = "gemm_half_size",
       .kind = Kind::kNumber,
       .help = "summed values of a product at which it reaches half of that",
       .need = Need::kDefault,
       .fallback = 0,
       .range = {.low = 0, .high = 1e6}},
      {.key = "attention_efficiency",
       .kind = Kind::kNumber,
       .help = "share of the peak that fused attention reaches; of 16-bit types",
       .need = Need::kOptional,
       .range = kShare},
      {.key = "unfused_traffic",
       .kind = Kind::kNumber,
       .help = "how often kernels that nobody fuses move their values; of 16-bit types",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 10}},
      {.key = "fitted_on",
       .kind = Kind::kList,
       .help = "the published rows that these are fitted to, by their ids",
       .need = Need::kDefault,
       .fallback = Json::array()},
      {.key = "calibration", .kind = Kind::kText, .help = "what is fitted, and how"}};
  return params;
}

/// By type: those of precisions, and narrower ones that only products have.
const Params& transformers_params() {
  static const Params params = [] {
    Params all;
    for (const char* name : {"float16", "bfloat16", "float8", "float8-rowwise", "mxfp8", "nvfp4"}) {
      all.push_back({.key = name,
                     .kind = Kind::kObject,
                     .need = Need::kOptional,
                     .table = transformer_rates_params});
    }
    return all;
  }();
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
                             {.key = "memory_bandwidth", .kind = Kind::kText},
                             {.key = "memory", .kind = Kind::kText, .need = Need::kOptional}};
  return params;
}

const Params& device_params() {
  static const Params params{
      {.key = "format",
       .kind = Kind::kText,
       .help = "steptime-device",
       .words = {"steptime-device"}},
      {.key = "version", .kind = Kind::kInteger, .help = "2", .range = {.low = 2, .high = 2}},
      {.key = "name", .kind = Kind::kText, .help = "as the file is called"},
      {.key = "help", .kind = Kind::kText, .help = "one line"},
      {.key = "precisions",
       .kind = Kind::kObject,
       .help = "rates of float64, float32, tf32, float16, bfloat16",
       .table = precisions_params},
      {.key = "transformers",
       .kind = Kind::kObject,
       .help = "rates of the shapes of transformers, by the type of their products; default: those "
               "of the precision",
       .need = Need::kOptional,
       .table = transformers_params},
      {.key = "memory_bandwidth", .kind = Kind::kBandwidth, .help = "peak", .range = kPositive},
      {.key = "memory_efficiency",
       .kind = Kind::kNumber,
       .help = "share of the peak bandwidth that kernels reach",
       .range = kShare},
      {.key = "kernel_overhead", .kind = Kind::kTime, .help = "per kernel", .range = kNotNegative},
      {.key = "copy_overhead",
       .kind = Kind::kTime,
       .help = "per kernel that only copies an array; default: kernel_overhead, at most 7 us",
       .need = Need::kOptional,
       .range = kNotNegative},
      {.key = "multiprocessors",
       .kind = Kind::kInteger,
       .help = "that work at once",
       .need = Need::kOptional,
       .range = {.low = 1, .high = static_cast<double>(kMostMultiprocessors)}},
      {.key = "memory",
       .kind = Kind::kBytes,
       .help = "that a process may have",
       .need = Need::kOptional,
       .range = kPositive},
      {.key = "fused_attention",
       .kind = Kind::kBoolean,
       .help = "attention is one kernel that keeps its weights on the chip",
       .need = Need::kDefault,
       .fallback = false},
      {.key = "calibrated_batch", .kind = Kind::kObject, .help = "from, to", .table = batch_params},
      {.key = "calibration", .kind = Kind::kText, .help = "which parameters are fitted, on what"},
      {.key = "sources",
       .kind = Kind::kObject,
       .help = "of the data-sheet figures",
       .table = source_params}};
  return params;
}

ModelErrors read_errors(const Config& config) {
  return {.rows = config.get<std::int64_t>("rows"),
          .typical_pct = config.get<double>("typical_pct"),
          .worst_pct = config.get<double>("worst_pct")};
}

Arithmetic read_arithmetic(const Config& config) {
  const auto share = [&](const char* key, double otherwise) {
    return config.has(key) ? config.get<double>(key) : otherwise;
  };
  Arithmetic rates{.flops = config.get<double>("flops"),
                   .gemm_efficiency = config.get<double>("gemm_efficiency"),
                   .gemm_half_size = config.get<double>("gemm_half_size"),
                   .filter_gain = config.get<double>("filter_gain"),
                   .convolution_traffic = config.get<double>("convolution_traffic"),
                   .has_tensor_cores = config.get<bool>("tensor_cores"),
                   .knows_depthwise = config.has("depthwise_efficiency"),
                   .knows_sequences = config.has("convolution_efficiency")};
  rates.convolution_efficiency = share("convolution_efficiency", rates.gemm_efficiency);
  rates.depthwise_efficiency = share("depthwise_efficiency", rates.convolution_efficiency);
  if (config.has("kernel_overhead"))
    rates.kernel_overhead = config.get<Duration>("kernel_overhead");
  if (config.has("validation"))
    rates.validation = read_errors(config.object("validation", validation_params()));
  return rates;
}

void read_transformers(const Config& config, Device& device) {
  for (const Param& p : transformers_params()) {
    if (!config.has(p.key)) continue;
    const Config section = config.object(p.key, transformer_rates_params());
    section.get<std::string>("calibration");
    const Json& rows = section.raw("fitted_on");
    if (!rows.is_array())
      section.fail("fitted_on", fmt::format("expected a list of ids of rows, got {}", brief(rows)));
    for (const Json& row : rows) {
      if (!row.is_string())
        section.fail("fitted_on", fmt::format("expected ids of rows, got {}", brief(row)));
    }
    TransformerRates rates{.gemm_efficiency = section.get<double>("gemm_efficiency"),
                           .gemm_half_size = section.get<double>("gemm_half_size"),
                           .unfused_traffic = section.get<double>("unfused_traffic")};
    const auto known = device.precisions.find(p.key);
    if (section.has("flops") == (known != device.precisions.end())) {
      section.fail("flops", known != device.precisions.end()
                                ? "unexpected, as the precision says it"
                                : "required, as no precision of this name says it");
    }
    rates.flops = section.has("flops") ? section.get<double>("flops") : known->second.flops;
    const bool is_wide = known != device.precisions.end();
    if (section.has("attention_efficiency") != is_wide) {
      section.fail("attention_efficiency", is_wide ? "required of a 16-bit type"
                                                   : "unexpected: attention stays in 16 bits");
    }
    if (is_wide) rates.attention_efficiency = section.get<double>("attention_efficiency");
    device.transformers[p.key] = rates;
  }
}

}  // namespace

std::int64_t bytes_of(const std::string& precision) {
  if (precision == "float64") return 8;
  return precision == "float32" || precision == "tf32" ? 4 : 2;
}

Device parse_device(const std::string& text, const std::string& file) {
  const Config config(std::make_shared<Document>(Document{file, parse_json(text, file)}),
                      device_params());
  config.get<std::string>("format");
  config.get<std::int64_t>("version");
  config.get<std::string>("help");
  const Config batch = config.object("calibrated_batch", batch_params());
  const Config sources = config.object("sources", source_params());
  for (const Param& p : source_params()) {
    if (p.need != Need::kOptional || sources.has(p.key)) sources.get<std::string>(p.key);
  }
  Device device{.name = config.get<std::string>("name"),
                .memory_bandwidth = config.get<Bandwidth>("memory_bandwidth"),
                .memory_efficiency = config.get<double>("memory_efficiency"),
                .kernel_overhead = config.get<Duration>("kernel_overhead"),
                .fuses_attention = config.get<bool>("fused_attention"),
                .batch_from = batch.get<std::int64_t>("from"),
                .batch_to = batch.get<std::int64_t>("to"),
                .calibration = config.get<std::string>("calibration")};
  if (config.has("multiprocessors"))
    device.multiprocessors = config.get<std::int64_t>("multiprocessors");
  if (config.has("copy_overhead")) device.copy_overhead = config.get<Duration>("copy_overhead");
  if (config.has("memory")) device.memory = config.get<Bytes>("memory");
  const Config precisions = config.object("precisions", precisions_params());
  for (const Param& p : precisions_params()) {
    if (precisions.has(p.key))
      device.precisions[p.key] = read_arithmetic(precisions.object(p.key, arithmetic_params()));
  }
  if (config.has("transformers"))
    read_transformers(config.object("transformers", transformers_params()), device);
  if (!is_printable(device.name)) config.fail("name", kUnprintable);
  if (device.precisions.empty()) config.fail("precisions", "expected at least one, got none");
  if (device.batch_to < device.batch_from) {
    batch.fail("to", fmt::format("must be at least /calibrated_batch/from, got {} after {}",
                                 device.batch_to, device.batch_from));
  }
  return device;
}

Device read_device(const std::string& path) {
  Device device = parse_device(read_file(path), path);
  if (const std::string stem = std::filesystem::path(path).stem().string(); device.name != stem) {
    throw InputError(
        fmt::format("{}: /name: expected \"{}\", got {}", path, stem, brief(device.name)));
  }
  return device;
}

}  // namespace steptime
