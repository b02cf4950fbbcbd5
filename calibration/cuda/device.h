// CUDA's objects, each freed with its owner, and what goes wrong with them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <memory>
#include <string>

namespace steptime {

/// Throws MissingError without a driver, a GPU or code for it, InputError when the GPU's memory is
/// full.
void check(cudaError_t status, const char* call);

/// Of the GPUs here; throws MissingError when there is none.
int gpus();
std::string gpu_name(int gpu);
int multiprocessors(int gpu);
/// "13.0"
std::string cuda_version();

template <auto kFree>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    (void)kFree(object);  // fails only where an earlier call failed
  }
};
using Stream = std::unique_ptr<CUstream_st, FreedBy<cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, FreedBy<cudaEventDestroy>>;
using GpuMemory = std::unique_ptr<void, FreedBy<cudaFree>>;
using PinnedMemory = std::unique_ptr<void, FreedBy<cudaFreeHost>>;

/// On the current GPU; memory is zero.
Stream make_stream();
Event make_event();
GpuMemory gpu_memory(std::int64_t bytes);
PinnedMemory pinned_memory(std::int64_t bytes);

/// Seconds between two events of one GPU; waits for the second.
double seconds_between(const Event& first, const Event& second);

}  // namespace steptime
