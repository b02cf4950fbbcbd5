// Launches of our kernels. Each returns at once; what went wrong is cudaGetLastError()'s.
#pragma once
#include <cstdint>
#include <cuda_runtime_api.h>

namespace steptime {

constexpr int kThreadsPerBlock = 512;

/// into[i] += from[i] by so many blocks.
void launch_add(const float* from, float* into, std::int64_t values, int blocks,
                cudaStream_t stream);
/// Multiply-adds in registers; `out` has blocks x kThreadsPerBlock values.
void launch_churn(float* out, std::int64_t turns, int blocks, cudaStream_t stream);
/// A kernel that does nothing.
void launch_nothing(cudaStream_t stream);

}  // namespace steptime
