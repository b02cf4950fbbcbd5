#include "sim/workload/workload.h"

#include "sim/config/data_dir.h"
#include "sim/config/registry.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::int64_t kMostParams = std::int64_t{1} << 50;  // 10^15: sums and bytes stay in int64
constexpr double kMostBatch = 1e9;

const Params& trace_params() {
  static const Params params{
      {.key = "format", .kind = Kind::kText, .help = "steptime-trace", .words = {"steptime-trace"}},
      {.key = "version", .kind = Kind::kInteger, .help = "1", .range = {.low = 1, .high = 1}},
      {.key = "model", .kind = Kind::kText, .help = "network architecture"},
      {.key = "device", .kind = Kind::kText, .help = "what the times were measured on"},
      {.key = "batch",
       .kind = Kind::kInteger,
       .help = "samples per worker and step",
       .range = {.low = 1, .high = kMostBatch}},
      {.key = "provenance", .kind = Kind::kObject, .help = "source, date, licence, notes"},
      {.key = "forward_total_s",
       .kind = Kind::kNumber,
       .need = Need::kOptional,
       .range = kNotNegative},
      {.key = "update_s",
       .kind = Kind::kNumber,
       .help = "the optimizer's part of the first layer's forward time",
       .need = Need::kOptional,
       .range = kNotNegative},
      {.key = "host_s",
       .kind = Kind::kNumber,
       .help = "what the host took a step, and a profiler with it",
       .need = Need::kOptional,
       .range = {.low = 0, .high = 1e6}},
      {.key = "multiprocessors",
       .kind = Kind::kInteger,
       .help = "of the GPU, which collectives take some of",
       .need = Need::kOptional,
       .range = {.low = 1, .high = static_cast<double>(kMostMultiprocessors)}},
      {.key = "domain",
       .kind = Kind::kText,
       .help = "what a run on this trace leaves out",
       .need = Need::kOptional},
      {.key = "layers", .kind = Kind::kList, .help = "in forward order"}};
  return params;
}

const Params& provenance_params() {
  static const Params params{
      {.key = "source", .kind = Kind::kText, .help = "where the numbers stand"},
      {.key = "date", .kind = Kind::kText, .help = "when they were measured or published"},
      {.key = "licence", .kind = Kind::kText, .help = "of the data"},
      {.key = "note",
       .kind = Kind::kText,
       .help = "what was derived, and how",
       .need = Need::kOptional},
      {.key = "measured",
       .kind = Kind::kObject,
       .help = "what else was measured, which a run leaves out",
       .need = Need::kOptional}};
  return params;
}

const Params& layer_params() {
  static const Params params{
      {.key = "name", .kind = Kind::kText},
      {.key = "forward_s", .kind = Kind::kNumber, .need = Need::kOptional, .range = kNotNegative},
      {.key = "backward_s", .kind = Kind::kNumber, .range = kNotNegative},
      {.key = "params",
       .kind = Kind::kInteger,
       .need = Need::kOptional,
       .range = {.low = 1, .high = static_cast<double>(kMostParams)}},
      {.key = "tensors", .kind = Kind::kList, .need = Need::kOptional}};
  return params;
}

const Params& tensor_params() {
  static const Params params{{.key = "name", .kind = Kind::kText},
                             {.key = "params",
                              .kind = Kind::kInteger,
                              .range = {.low = 1, .high = static_cast<double>(kMostParams)}}};
  return params;
}

Duration read_seconds(const Config& config, std::string_view key) {
  const auto seconds = config.get<double>(key);
  try {
    return from_seconds(seconds);
  } catch (const InputError& e) {
    config.fail(key, e.what());
  }
}

Layer read_layer(const Config& config, bool with_forward) {
  Layer layer{.name = config.get<std::string>("name")};
  if (with_forward == config.has("forward_s")) {
    if (with_forward) layer.forward = read_seconds(config, "forward_s");
  } else {
    config.fail("forward_s", with_forward
                                 ? "required but missing, as the trace has no /forward_total_s"
                                 : "unexpected, as the trace has /forward_total_s");
  }
  layer.backward = read_seconds(config, "backward_s");
  if (config.has("params") && config.has("tensors")) {
    config.fail("params", "unexpected, as the layer has \"tensors\"");
  }
  if (config.has("params")) {
    layer.tensors.push_back({layer.name, config.get<std::int64_t>("params")});
  } else if (config.has("tensors")) {
    for (const Config& tensor : config.objects("tensors", tensor_params())) {
      layer.tensors.push_back(
          {tensor.get<std::string>("name"), tensor.get<std::int64_t>("params")});
    }
  }
  return layer;
}

/// The totals fit their types, so that nothing later has to ask.
void check_totals(const Trace& trace, const Config& config) {
  double seconds = to_seconds(trace.forward_total.value_or(Duration{}));
  double params = 0;
  for (const Layer& layer : trace.layers) {
    seconds += to_seconds(layer.forward) + to_seconds(layer.backward);
    for (const Tensor& tensor : layer.tensors)
      params += static_cast<double>(tensor.params);
  }
  if (params > static_cast<double>(kMostParams)) {
    config.fail("layers",
                fmt::format("{} parameters in all, expected at most {}", params, kMostParams));
  }
  if (seconds > 1e6) {
    config.fail("layers",
                fmt::format("{} s of compute in one step, expected at most 1e6", seconds));
  }
  const Duration first = trace.forward_total.value_or(trace.layers.front().forward);
  if (trace.update > first) {
    config.fail("update_s",
                fmt::format("expected at most the {} s of the {}, got {}", to_seconds(first),
                            trace.forward_total ? "forward pass" : "first layer's forward pass",
                            to_seconds(trace.update)));
  }
}

}  // namespace

std::int64_t Layer::params() const {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t sum, const Tensor& t) { return sum + t.params; });
}

Duration Trace::forward() const {
  return std::accumulate(layers.begin(), layers.end(), forward_total.value_or(Duration{}),
                         [](Duration sum, const Layer& l) { return sum + l.forward; });
}

Duration Trace::backward() const {
  return std::accumulate(layers.begin(), layers.end(), Duration{},
                         [](Duration sum, const Layer& l) { return sum + l.backward; });
}

std::int64_t Trace::params() const {
  return std::accumulate(layers.begin(), layers.end(), std::int64_t{0},
                         [](std::int64_t sum, const Layer& l) { return sum + l.params(); });
}

Trace parse_trace(const std::string& text, const std::string& file) {
  const Config config(std::make_shared<Document>(Document{file, parse_json(text, file)}),
                      trace_params());
  config.get<std::string>("format");
  config.get<std::int64_t>("version");
  Trace trace{.model = config.get<std::string>("model"),
              .device = config.get<std::string>("device"),
              .batch = config.get<std::int64_t>("batch")};
  const Config provenance = config.object("provenance", provenance_params());
  for (const Param& p : provenance_params()) {
    if (p.kind == Kind::kText && (p.need == Need::kRequired || provenance.has(p.key))) {
      provenance.get<std::string>(p.key);
    }
  }
  if (provenance.has("measured")) provenance.object("measured", any_keys());
  trace.provenance = provenance.node();
  if (config.has("forward_total_s")) trace.forward_total = read_seconds(config, "forward_total_s");
  if (config.has("update_s")) trace.update = read_seconds(config, "update_s");
  if (config.has("host_s")) trace.host = read_seconds(config, "host_s");
  if (config.has("multiprocessors"))
    trace.multiprocessors = config.get<std::int64_t>("multiprocessors");
  if (config.has("domain")) trace.domain = config.get<std::string>("domain");
  std::set<std::string> names;
  for (const Config& layer : config.objects("layers", layer_params())) {
    trace.layers.push_back(read_layer(layer, !trace.forward_total));
    if (!names.insert(trace.layers.back().name).second)
      layer.fail("name", "another layer before has this name");
  }
  if (trace.layers.empty()) config.fail("layers", "expected at least one layer, got an empty list");
  check_totals(trace, config);
  return trace;
}

Trace read_trace(const std::string& path) {
  return parse_trace(read_file(path), path);
}

Trace read_trace(const Config& section, std::string_view key) {
  const auto path = section.get<std::string>(key);
  const auto name = section.raw(key).get<std::string>();
  std::error_code error;
  const auto shipped = data_dir() / "traces" / (name + ".json");
  if (std::filesystem::exists(path, error) || name.ends_with(".json"))
    return parse_trace(section.text_of(key), path);
  if (name.find("..") != std::string::npos || !std::filesystem::exists(shipped, error)) {
    section.fail(key, fmt::format("{} is neither a file nor a shipped trace; steptime list trace "
                                  "shows those",
                                  brief(name)));
  }
  return read_trace(shipped.string());
}

std::string write_trace(const Trace& trace) {
  Json head{{"format", "steptime-trace"}, {"version", 1},         {"model", trace.model},
            {"device", trace.device},     {"batch", trace.batch}, {"provenance", trace.provenance}};
  if (trace.forward_total) head["forward_total_s"] = to_seconds(*trace.forward_total);
  if (trace.update > Duration{}) head["update_s"] = to_seconds(trace.update);
  if (trace.host > Duration{}) head["host_s"] = to_seconds(trace.host);
  if (trace.multiprocessors) head["multiprocessors"] = *trace.multiprocessors;
  if (trace.domain != "inside") head["domain"] = trace.domain;
  std::string text = head.dump(1);
  text.resize(text.size() - 2);  // "\n}"
  text += ",\n \"layers\": [";
  const char* separator = "\n  ";
  for (const Layer& layer : trace.layers) {
    Json line{{"name", layer.name}};
    if (!trace.forward_total) line["forward_s"] = to_seconds(layer.forward);
    line["backward_s"] = to_seconds(layer.backward);
    for (const Tensor& t : layer.tensors) {
      line["tensors"].push_back(Json{{"name", t.name}, {"params", t.params}});
    }
    text += separator + line.dump();
    separator = ",\n  ";
  }
  return text + "\n ]\n}\n";
}

void scale_compute(Trace& trace, Duration total) {
  const double now = to_seconds(trace.forward() + trace.backward());
  if (now == 0) return;
  const double factor = to_seconds(total) / now;
  if (trace.forward_total) trace.forward_total = scaled(*trace.forward_total, factor);
  trace.update = scaled(trace.update, factor);
  for (Layer& layer : trace.layers) {
    layer.forward = scaled(layer.forward, factor);
    layer.backward = scaled(layer.backward, factor);
  }
}

std::vector<GradientUnit> Workload::units(Granularity granularity) const {
  std::vector<GradientUnit> units;
  Duration ready{};
  for (std::size_t i = trace.layers.size(); i-- > 0;) {
    const Layer& layer = trace.layers[i];
    const auto index = static_cast<std::int32_t>(i);
    ready += layer.backward;
    if (layer.tensors.empty()) continue;
    if (granularity == Granularity::kLayer) {
      units.push_back({layer.name, index, Bytes{layer.params() * bytes_per_param}, ready});
      continue;
    }
    for (auto tensor = layer.tensors.rbegin(); tensor != layer.tensors.rend(); ++tensor) {
      units.push_back({tensor->name, index, Bytes{tensor->params * bytes_per_param}, ready});
    }
  }
  return units;
}

}  // namespace steptime
