// What a thread of our CUDA kernels does, callable on the host, too, where tests run it: C++17, as
// CUDA 11 knows no later language.
#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define STEPTIME_ON_BOTH __host__ __device__
#else
#define STEPTIME_ON_BOTH
#endif

namespace steptime {

/// Four values that are read and written in one access; an address of it is a multiple of 16 B.
struct alignas(16) Four {
  float a, b, c, d;
};

/// One of the threads of a launch: it takes the elements first, first + threads, ... The same
/// result for any number of threads, as no element is taken twice.
struct GpuThread {
  std::int64_t first = 0;
  std::int64_t threads = 1;
};

/// into[i] += from[i], i < values: what a GPU does in an all-reduce with what has arrived. Both
/// start at multiples of 16 B; the last values are taken one by one.
STEPTIME_ON_BOTH inline void add(const float* from, float* into, std::int64_t values,
                                 GpuThread worker) {
  const std::int64_t fours = values / 4;
  const auto* from_four = reinterpret_cast<const Four*>(from);
  auto* into_four = reinterpret_cast<Four*>(into);
  for (std::int64_t i = worker.first; i < fours; i += worker.threads) {
    const Four x = from_four[i];
    Four y = into_four[i];
    y.a += x.a;
    y.b += x.b;
    y.c += x.c;
    y.d += x.d;
    into_four[i] = y;
  }
  for (std::int64_t i = 4 * fours + worker.first; i < values; i += worker.threads)
    into[i] += from[i];
}

/// `turns` dependent multiply-adds in registers, x -> x / 2 + 1, which bring 2 - x down by a half
/// each: compute that touches no memory.
STEPTIME_ON_BOTH inline float churned(float x, std::int64_t turns) {
  for (std::int64_t i = 0; i < turns; ++i)
    x = x * 0.5F + 1.0F;
  return x;
}

/// Each thread churns from its number on, and leaves the result in `out`, one value per thread.
STEPTIME_ON_BOTH inline void churn(float* out, std::int64_t turns, GpuThread worker) {
  out[worker.first] = churned(static_cast<float>(worker.first % 2), turns);
}

}  // namespace steptime
