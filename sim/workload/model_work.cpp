#include "sim/workload/model_work.h"

#include <algorithm>
#include <numeric>

namespace steptime {

std::int64_t LayerWork::params() const {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t sum, const Tensor& t) { return sum + t.params; });
}

std::int64_t ModelWork::blocks() const {
  return std::count_if(layers.begin(), layers.end(),
                       [](const LayerWork& layer) { return layer.is_block; });
}

ModelWork work_of(const Workload& workload) {
  const Trace& trace = workload.trace;
  ModelWork work{
      .parameter = {.weight = workload.bytes_per_param, .gradient = workload.bytes_per_param},
      .multiprocessors = trace.multiprocessors,
      .samples = trace.batch,
      .model = trace.model,
      .device_name = trace.device,
      .domain = trace.domain};
  if (trace.forward_total) {
    work.layers.push_back(
        {.name = "forward pass", .forward = *trace.forward_total, .is_block = false});
  }
  for (const Layer& layer : trace.layers) {
    work.layers.push_back({.name = layer.name,
                           .forward = trace.forward_total ? Duration{} : layer.forward,
                           .input_gradient = layer.backward,
                           .tensors = layer.tensors});
  }
  return work;
}

Trace trace_of(const ModelWork& work) {
  Trace trace{.model = work.model,
              .device = work.device_name,
              .batch = work.samples,
              .domain = work.domain};
  for (const LayerWork& layer : work.layers) {
    trace.layers.push_back({.name = layer.name,
                            .forward = layer.forward,
                            .backward = layer.input_gradient + layer.weight_gradient,
                            .tensors = layer.tensors});
  }
  return trace;
}

}  // namespace steptime
