// Traces of PyTorch's profiler as text, event by event.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {

/// Times in microseconds. The forward pass runs on thread 1, the backward pass on thread 2, the
/// device has stream 7.
class KinetoText {
 public:
  KinetoText& event(std::string text) {
    events_.push_back(std::move(text));
    return *this;
  }
  KinetoText& op(const std::string& name, int start, int duration, int thread = 1,
                 const std::string& args = "", const std::string& category = "cpu_op") {
    return event(fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        category, name, thread, start, duration, args));
  }
  KinetoText& step(int number, int start, int duration) {
    return op(fmt::format("ProfilerStep#{}", number), start, duration, 1, "", "user_annotation");
  }
  KinetoText& forward(const std::string& name, int start, int duration, int sequence) {
    return op(name, start, duration, 1,
              fmt::format(R"("Fwd thread id":0,"Sequence number":{})", sequence));
  }
  KinetoText& backward(const std::string& name, int start, int duration, int sequence) {
    return op(name, start, duration, 2,
              fmt::format(R"("Fwd thread id":1,"Sequence number":{})", sequence));
  }
  KinetoText& accumulate(int start, int duration, const std::string& shape) {
    return op("torch::autograd::AccumulateGrad", start, duration, 2,
              fmt::format(R"("Input Dims":[[{}]])", shape));
  }
  /// A launch, and what the device does for it.
  KinetoText& kernel(int launch, int thread, int start, int duration,
                     const std::string& name = "gemm", const std::string& category = "kernel",
                     const std::string& args = "") {
    ++correlation_;
    op("cudaLaunchKernel", launch, 1, thread, fmt::format(R"("correlation":{})", correlation_),
       "cuda_runtime");
    return op(name, start, duration, 7, fmt::format(R"("correlation":{}{})", correlation_, args),
              category);
  }
  std::string text(const std::string& head = "") const {
    return fmt::format("{{{}\"traceEvents\":[{}]}}", head, fmt::join(events_, ",\n"));
  }

 private:
  std::vector<std::string> events_;
  int correlation_ = 0;
};

/// Two layers, of which the second has two gradients; optimizer and a copy.
///
///   host 1: |-- step ------------------------------------------------------|
///            copy  linear(5)  relu(6)                           Optimizer
///   host 2:                           ReluBackward(6) LinearBackward(5) grad grad
inline KinetoText two_layers(int at = 0, int number = 1) {
  KinetoText t;
  t.step(number, at, 1000);
  t.forward("aten::to", at + 5, 10, 5).kernel(at + 6, 1, at + 10, 7, "Memcpy HtoD", "gpu_memcpy");
  t.forward("aten::linear", at + 20, 20, 5).kernel(at + 25, 1, at + 40, 100);
  t.forward("aten::relu", at + 50, 20, 6).kernel(at + 55, 1, at + 140, 30);
  t.backward("ReluBackward0", at + 100, 20, 6).kernel(at + 105, 2, at + 170, 40);
  t.backward("LinearBackward0", at + 130, 20, 5).kernel(at + 135, 2, at + 210, 200);
  t.accumulate(at + 160, 10, "8").kernel(at + 165, 2, at + 410, 1);
  t.accumulate(at + 180, 10, "8,4").kernel(at + 185, 2, at + 411, 2);
  t.op("Optimizer.step#SGD.step", at + 300, 50, 1, "", "user_annotation");
  t.forward("aten::add_", at + 305, 20, 7).kernel(at + 310, 1, at + 420, 11);
  return t;
}

}  // namespace steptime
