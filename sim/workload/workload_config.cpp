// Reading of the "workload" section of an experiment.
#include "sim/config/key_use.h"
#include "sim/config/registry.h"
#include "sim/workload/model_work.h"
#include "sim/workload/workload.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {
const bool kUses = idle_beside("gathers", "products", {nullptr}) &&
                   idle_beside("keeps", "products", {nullptr}) &&
                   acts_beside("scales", "products", {"float8"});
}  // namespace

const Params& workload_params() {
  static const Params params{
      {.key = "trace",
       .kind = Kind::kPath,
       .help = "file of measured per-layer times (traces/README.md says how they are written), or "
               "the name of a shipped one that `steptime list trace` shows, such as "
               "`k80/googlenet`; this, or `model`, `device` and `batch`",
       .need = Need::kOptional},
      {.key = "model",
       .kind = Kind::kPath,
       .help =
           "a layer table by name or file, when there is no trace; with a layout the shape of a "
           "transformer",
       .need = Need::kOptional},
      {.key = "device",
       .kind = Kind::kPath,
       .help = "what runs the layer table: a device by name or file",
       .need = Need::kOptional},
      {.key = "device_model",
       .kind = Kind::kObject,
       .help = "what turns layers into time",
       .need = Need::kDefault,
       .fallback = Json{{"type", "roofline"}},
       .unless = {"trace"},
       .choice = DeviceModel::kNoun},
      {.key = "batch",
       .kind = Kind::kInteger,
       .help = "samples per worker and step, with `accumulate` or a layout per replica and "
               "micro-batch; default: the trace's, whose times another one scales, as the `domain` "
               "of the result says",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e9}},
      {.key = "sequence",
       .kind = Kind::kInteger,
       .help = "tokens of a sample, up to what the file of the model allows, of a layer table that "
               "counts per token; default: its usual one",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e6}},
      {.key = "dtype",
       .kind = Kind::kText,
       .help = "of gradients (and of a layer table's values)",
       .need = Need::kDefault,
       .fallback = "float32",
       .words = {"float32", "float16", "bfloat16", "float64"}},
      {.key = "precision",
       .kind = Kind::kText,
       .help = "of a layer table's products and activations, as far as the device has it; float16 "
               "and bfloat16 beside gradients of float32 are mixed precision; default: `dtype`",
       .need = Need::kOptional,
       .words = {"float32", "tf32", "float16", "bfloat16", "float64"}},
      {.key = "optimizer",
       .kind = Kind::kText,
       .help =
           "what updates a layer table's weights, in time of the forward pass: `sgd`, "
           "`sgd-momentum`, `adam`, `adamw` (each value read and written once), `lamb` (Apex's: 13 "
           "values in a few kernels over all tensors), `sgd-momentum-foreach`, `adam-foreach`, "
           "`adamw-foreach` (as PyTorch does by default), `sgd-momentum-loop`, `adam-loop`, "
           "`adamw-loop` (its loops over tensors, all that it had before 1.9; on K80, P100 and "
           "V100, whose time per kernel was fitted with that of whole layers, they come out too "
           "slow), `bert-adam` (the one of NVIDIA's BERT); default: `sgd-momentum`",
       .need = Need::kOptional},
      {.key = "framework",
       .kind = Kind::kText,
       .help = "whose steps are those of the same kind; default: the one whose layer table it is, "
               "as it is today",
       .need = Need::kOptional,
       .words = {"pytorch-1", "pytorch-2", "tensorflow-1", "tensorflow-2", "mxnet", "caffe"}},
      {.key = "kernels",
       .kind = Kind::kText,
       .help = "whose times they are: a graph's, \"tuned\" to shapes and layouts, also with batch "
               "norms \"fused\" with the addition and the activation after them, as cuDNN can for "
               "channels-last tensors, PyTorch's own, \"eager\", or under \"autocast\", where "
               "convolutions convert their layouts; default: of PyTorch the last for float16 and "
               "bfloat16, else eager; of others tuned",
       .need = Need::kOptional,
       .words = {"tuned", "fused", "eager", "autocast"}},
      {.key = "shape",
       .kind = Kind::kObject,
       .help = "sizes of a transformer other than its file's, such as `{\"layers\": 12, "
               "\"positions\": 4096}`",
       .need = Need::kOptional},
      {.key = "products",
       .kind = Kind::kText,
       .help = "of a transformer: the recipe of its layers' products in a narrower type than the "
               "precision, as far as the device has rates; inputs are cast, attention and logits "
               "stay; default: none",
       .need = Need::kOptional,
       .words = {"float8", "float8-rowwise", "mxfp8", "nvfp4"}},
      {.key = "gathers",
       .kind = Kind::kText,
       .help = "of a transformer with sequence parallelism: whether tensor ranks gather values in "
               "the precision or in the type of `products`, where there are any; default: "
               "precision",
       .need = Need::kOptional,
       .words = {"precision", "products"}},
      {.key = "keeps",
       .kind = Kind::kText,
       .help = "of a transformer: whether inputs of products are kept for the backward pass in the "
               "precision or in the type of `products`, where there are any; default: precision",
       .need = Need::kOptional,
       .words = {"precision", "products"}},
      {.key = "scales",
       .kind = Kind::kText,
       .help = "of products in `float8`: from the values themselves, or delayed, from the largest "
               "ones of steps before, which all tensor, context and data ranks agree on in each "
               "pass; default: current",
       .need = Need::kOptional,
       .words = {"current", "delayed"}},
      {.key = "attention",
       .kind = Kind::kText,
       .help = "of a transformer: unfused, with scores in memory, or a fused kernel of the first "
               "or a later generation, such as cuDNN's; default: as the device's file says",
       .need = Need::kOptional,
       .words = {"unfused", "flash-attention-1", "flash-attention-2"}},
      {.key = "operators",
       .kind = Kind::kText,
       .help = "of a transformer: whether norms, activations and residuals are fused, or a kernel "
               "for each step; default: fused",
       .need = Need::kOptional,
       .words = {"fused", "eager"}},
      {.key = "loss",
       .kind = Kind::kText,
       .help = "of a transformer: in copies of the logits in float32, or fused; default: float32",
       .need = Need::kOptional,
       .words = {"float32", "fused"}},
      {.key = "host_per_kernel",
       .kind = Kind::kTime,
       .help = "what the framework's host thread takes to launch a kernel: where all of them take "
               "longer than the GPU, it waits; default: 0, as in a CUDA graph",
       .need = Need::kOptional,
       .range = kNotNegative},
      {.key = "compute_time",
       .kind = Kind::kTime,
       .help = "forward plus backward pass, of one micro-batch, when it is known better than the "
               "trace has it: scales the trace to it",
       .need = Need::kOptional,
       .range = kPositive},
      {.key = "rescale",
       .kind = Kind::kText,
       .help = "what compute_time scales: \"both\" passes, or \"forward\": the backward times stay "
               "and the rest of compute_time, which nothing overlaps, becomes the forward pass",
       .need = Need::kDefault,
       .fallback = "both",
       .words = {"both", "forward"}},
      {.key = "forward_share",
       .kind = Kind::kNumber,
       .help = "of the forward pass in `compute_time`, when it is known: the passes are scaled "
               "apart; default: as in the trace",
       .need = Need::kOptional,
       .range = {.low = 0, .high = 1}},
      {.key = "overlap",
       .kind = Kind::kObject,
       .help = "what kernels and the collectives beside them cost each other; default: "
               "multiprocessors, but for the shape of a transformer, whose rates are of steps "
               "beside collectives: none",
       .need = Need::kOptional,
       .choice = Overlap::kNoun},
      {.key = "accumulate",
       .kind = Kind::kInteger,
       .help = "micro-batches of a step, each of `batch` samples, whose gradients are added up "
               "before they are sent, in the backward pass of the last one; the optimizer runs "
               "once, and `forward_time_s` counts all but that pass",
       .need = Need::kDefault,
       .fallback = 1,
       .unless = {"global_batch"},
       .range = {.low = 1, .high = 1e6}},
      {.key = "global_batch",
       .kind = Kind::kInteger,
       .help = "samples of a step of all replicas of a layout, which says how many micro-batches "
               "each of them accumulates",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e12}},
      {.key = "input",
       .kind = Kind::kNumber,
       .help = "samples a second that a node's input pipeline makes ready, as far ahead as it can: "
               "a step that has none waits; default: as many as it takes",
       .need = Need::kOptional,
       .range = kPositive},
      {.key = "dataset_samples",
       .kind = Kind::kInteger,
       .help = "samples of one epoch; adds `epoch_time_s` to the result",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e15}}};
  return params;
}

namespace {

constexpr double kMostSeconds = 1e6;  // of compute in one step, as in a trace file

std::int64_t bytes_per_value(const std::string& dtype) {
  if (dtype == "float64") return 8;
  return dtype == "float32" ? 4 : 2;
}

/// Whether a model is to be turned into time, which has all that this takes.
bool names_model(const Config& section) {
  if (section.has("trace") == section.has("model")) {
    section.fail("", "expected either \"trace\" or \"model\" with \"device\"");
  }
  if (!section.has("model")) return false;
  for (const char* key : {"device", "batch"}) {
    if (!section.has(key)) section.fail(key, "required but missing, as there is no \"trace\"");
  }
  return true;
}

Trace measured_trace(const Config& section) {
  for (const char* key :
       {"device", "device_model", "sequence", "precision", "optimizer", "host_per_kernel", "shape",
        "products", "gathers", "keeps", "scales", "attention", "operators", "loss", "kernels"}) {
    if (section.has(key)) section.fail(key, "unexpected, as \"trace\" gives the times");
  }
  Trace trace = read_trace(section, "trace");
  if (section.has("batch") && section.get<std::int64_t>("batch") != trace.batch) {
    const auto batch = section.get<std::int64_t>("batch");
    const double factor = static_cast<double>(batch) / static_cast<double>(trace.batch);
    const double seconds = to_seconds(trace.forward() + trace.backward()) * factor;
    if (seconds > kMostSeconds) {
      section.fail("batch", fmt::format("{} scales one step to {} s, expected at most {} s", batch,
                                        seconds, kMostSeconds));
    }
    const Duration update = trace.update;
    scale_compute(trace, from_seconds(seconds));
    // The optimizer takes as long for any batch.
    (trace.forward_total ? *trace.forward_total : trace.layers.front().forward) +=
        update - trace.update;
    trace.update = update;
    const std::string before = trace.domain == "inside" ? "" : trace.domain + "; ";
    trace.domain =
        fmt::format("{}compute times scaled from batch {} to {}", before, trace.batch, batch);
    trace.batch = batch;
  }
  return trace;
}

/// Scales each pass alike, so that they take `forward` and `backward`.
void scale_passes(Trace& trace, Duration forward, Duration backward) {
  Trace other = trace;
  other.forward_total.reset();
  for (std::size_t i = 0; i < trace.layers.size(); ++i) {
    other.layers[i].forward = {};
    trace.layers[i].backward = {};
  }
  scale_compute(trace, forward);
  scale_compute(other, backward);
  for (std::size_t i = 0; i < trace.layers.size(); ++i)
    trace.layers[i].backward = other.layers[i].backward;
}

void fit_passes(const Config& section, Trace& trace, Duration total) {
  if (section.get<std::string>("rescale") != "both") {
    section.fail("forward_share", "unexpected, as \"rescale\" keeps the backward pass");
  }
  const double share = section.get<double>("forward_share");
  if (trace.forward() == Duration{} || trace.backward() == Duration{}) {
    section.fail("forward_share", "the trace does not have times of both passes to scale");
  }
  const Duration forward = from_seconds(to_seconds(total) * share);
  scale_passes(trace, forward, total - forward);
}

void fit_compute(const Config& section, Trace& trace) {
  const auto total = section.get<Duration>("compute_time");
  if (section.has("forward_share")) return fit_passes(section, trace, total);
  if (section.get<std::string>("rescale") == "both") {
    if (trace.forward() + trace.backward() == Duration{}) {
      section.fail("compute_time", "the trace has no compute time to scale");
    }
    scale_compute(trace, total);
    return;
  }
  if (total < trace.backward()) {
    section.fail("compute_time", fmt::format("{} is less than the backward pass, {}",
                                             brief(section.raw("compute_time")),
                                             format_quantity(trace.backward())));
  }
  trace.forward_total = total - trace.backward();
  trace.update = std::min(trace.update, *trace.forward_total);
  trace.forward_wait = 0;
  for (Layer& layer : trace.layers)
    layer.forward = {};
}

/// All micro-batches of a step as one: those behind the first take their time between its forward
/// pass and the last one's backward pass, which makes the gradients that are sent.
void accumulate(const Config& section, Trace& trace) {
  const auto count = section.get<std::int64_t>("accumulate");
  if (count == 1) return;
  const double more = static_cast<double>(count - 1);
  const Duration one = trace.forward() - trace.update + trace.backward();
  if (to_seconds(one) * more > kMostSeconds) {
    section.fail("accumulate",
                 fmt::format("{} micro-batches take more than {} s", count, kMostSeconds));
  }
  trace.batch *= count;
  trace.host *= count;
  const double forward = to_seconds(trace.forward()) * static_cast<double>(count);
  const double backward = to_seconds(trace.backward()) * more;
  if (forward + backward > 0) {
    trace.forward_wait =
        (trace.forward_wait * forward + trace.backward_wait * backward) / (forward + backward);
  }
  if (trace.forward_total) {
    *trace.forward_total += scaled(one, more);
    return;
  }
  trace.layers.push_back({.name = fmt::format("micro-batches 2 to {}", count),
                          .forward = scaled(one, more),
                          .backward = {},
                          .tensors = {}});
}

}  // namespace

namespace {

/// With all that the section says but how many micro-batches a step has.
Workload with_passes(const Config& section, Trace trace) {
  Workload workload{.trace = std::move(trace),
                    .bytes_per_param = bytes_per_value(section.get<std::string>("dtype"))};
  if (section.has("dataset_samples")) {
    workload.dataset_samples = section.get<std::int64_t>("dataset_samples");
  }
  if (section.has("compute_time")) {
    fit_compute(section, workload.trace);
    if (workload.trace.modelled) {  // the model only says how a known time divides over layers
      workload.trace.modelled.reset();
      workload.trace.domain = "inside";
    }
  } else {
    if (section.has("forward_share"))
      section.fail("forward_share", "expected \"compute_time\" beside it");
    if (section.get<std::string>("rescale") != "both")
      section.fail("rescale", "expected \"compute_time\" beside it");
  }
  Overlaps& overlaps = Overlaps::instance();
  workload.overlap = section.has("overlap") ? overlaps.make(section, "overlap")
                                            : overlaps.make_default("multiprocessors");
  if (section.has("input")) workload.input_rate = section.get<double>("input");
  return workload;
}

}  // namespace

Workload read_workload(const Config& section) {
  if (section.has("global_batch"))
    section.fail("global_batch", "expected \"accumulate\", or a \"layout\" under \"strategy\"");
  const auto model = [&] {
    return Registry<DeviceModel>::instance()
        .make(section, "device_model")
        ->trace(section, bytes_per_value(section.get<std::string>("dtype")));
  };
  Workload workload =
      with_passes(section, names_model(section) ? model() : measured_trace(section));
  accumulate(section, workload.trace);
  return workload;
}

Workload read_micro_batch(const Config& section) {
  if (!names_model(section)) return with_passes(section, measured_trace(section));
  if (section.has("kernels"))
    section.fail("kernels", "unexpected with the shape of a transformer; expected \"operators\"");
  constexpr const char* kShapes = "roofline";
  if (Catalogue::type_of(section, "device_model") != kShapes) {
    section.fail("device_model",
                 fmt::format("found {}, expected {{\"type\": \"{}\"}} with a layout",
                             brief(section.raw("device_model")), kShapes));
  }
  return with_passes(section, trace_of(read_shape(section, {})));
}

ModelWork read_shape(const Config& section, const ModelCut& cut) {
  return ShapeModels::instance().make_default("roofline")->work(section, cut);
}

std::int64_t micro_batches_of(const Config& section, std::int64_t samples, std::int64_t replicas) {
  const auto accumulated = section.get<std::int64_t>("accumulate");
  if (!section.has("global_batch")) return accumulated;
  const auto batch = section.get<std::int64_t>("global_batch");
  const std::int64_t each = samples * replicas;
  if (batch % each != 0) {
    section.fail("global_batch",
                 fmt::format("found {}, expected a multiple of {}, which is {} replicas with {} "
                             "samples each",
                             batch, each, replicas, samples));
  }
  if (section.node().contains("accumulate") && accumulated != batch / each) {
    section.fail("accumulate", fmt::format("found {}, expected {}, which \"global_batch\" says",
                                           accumulated, batch / each));
  }
  return batch / each;
}

}  // namespace steptime
