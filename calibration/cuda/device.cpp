#include "calibration/cuda/device.h"

#include "sim/core/error.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace steptime {

void check(cudaError_t status, const char* call) {
  switch (status) {
    case cudaSuccess:
      return;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorSystemDriverMismatch:
      throw MissingError(
          fmt::format("no GPU with a driver for CUDA {} is here ({}): apt-get install "
                      "nvidia-driver, on a machine with an NVIDIA GPU",
                      cuda_version(), cudaGetErrorString(status)));
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      throw MissingError(
          fmt::format("this build has no code for the GPU ({}): build again with -D "
                      "CMAKE_CUDA_ARCHITECTURES=NN, 70 for a V100",
                      cudaGetErrorString(status)));
    case cudaErrorMemoryAllocation:
      throw InputError("the GPU has not enough memory: ask for smaller sizes or batches");
    default:
      throw MissingError(fmt::format("{}: {}", call, cudaGetErrorString(status)));
  }
}

int gpus() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (count == 0) check(cudaErrorNoDevice, "cudaGetDeviceCount");
  return count;
}

std::string gpu_name(int gpu) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
  return properties.name;
}

int multiprocessors(int gpu) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu),
        "cudaDeviceGetAttribute");
  return count;
}

std::string cuda_version() {
  int version = 0;
  (void)cudaRuntimeGetVersion(&version);  // cannot fail: it asks no driver
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return Stream(stream);
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

GpuMemory gpu_memory(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)), "cudaMalloc");
  GpuMemory owner(memory);
  check(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)), "cudaMemset");
  return owner;
}

PinnedMemory pinned_memory(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, static_cast<std::size_t>(bytes)), "cudaMallocHost");
  std::memset(memory, 0, static_cast<std::size_t>(bytes));
  return PinnedMemory(memory);
}

double seconds_between(const Event& first, const Event& second) {
  check(cudaEventSynchronize(second.get()), "cudaEventSynchronize");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, first.get(), second.get()), "cudaEventElapsedTime");
  constexpr double kLeast = 1e-9;  // the clock of events ticks more slowly than that
  return std::max(kLeast, static_cast<double>(milliseconds) * 1e-3);
}

}  // namespace steptime
