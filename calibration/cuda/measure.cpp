#include "calibration/cuda/measure.h"

#include "calibration/cuda/launches.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr int kCalls = 100;  // of what takes less than a clock can tell, in a row

}  // namespace

double wall_seconds(const std::function<void()>& begin, const std::function<void()>& end) {
  const auto start = std::chrono::steady_clock::now();
  begin();
  end();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Compute::Compute() : blocks_(2 * multiprocessors(0)) {
  start_in_registers();
  seconds();  // the first launch of each kernel loads its code
  start_in_registers();
  turns_ =
      std::max<std::int64_t>(1000, std::llround(static_cast<double>(turns_) * kAlone / seconds()));
  start_in_memory();
  seconds();
  start_in_memory();
  sums_ = std::max(1, static_cast<int>(std::lround(kAlone / seconds())));
}

void Compute::start(const std::function<void()>& launch) {
  check(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord");
  launch();
  check(cudaGetLastError(), "a kernel");
  check(cudaEventRecord(end_.get(), stream_.get()), "cudaEventRecord");
}

void Compute::start_in_registers() {
  start([&] { launch_churn(static_cast<float*>(into_.get()), turns_, blocks_, stream_.get()); });
}

void Compute::start_in_memory() {
  start([&] {
    for (int i = 0; i < sums_; ++i) {
      launch_add(static_cast<const float*>(from_.get()), static_cast<float*>(into_.get()),
                 kMemory / 4, blocks_, stream_.get());
    }
  });
}

double Compute::seconds() {
  return seconds_between(begin_, end_);
}

GpuOperations::GpuOperations(std::int64_t largest)
    : largest_(largest),
      one_(gpu_memory(largest)),
      other_(gpu_memory(largest)),
      pinned_(pinned_memory(largest)),
      pageable_(static_cast<std::size_t>(largest / 4)) {
  for (int gpu = 1; gpu < gpus_; ++gpu) {
    int direct = 0;
    check(cudaDeviceCanAccessPeer(&direct, 0, gpu), "cudaDeviceCanAccessPeer");
    if (direct != 0) check(cudaDeviceEnablePeerAccess(gpu, 0), "cudaDeviceEnablePeerAccess");
    check(cudaSetDevice(gpu), "cudaSetDevice");
    peers_.push_back(gpu_memory(largest));
    check(cudaSetDevice(0), "cudaSetDevice");
  }
}

/// From the call until the data is there, as a framework that waits for it sees it.
double GpuOperations::copy(void* to, const void* from, std::int64_t bytes) {
  return wall_seconds(
      [&] {
        check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                              stream_.get()),
              "cudaMemcpyAsync");
      },
      [&] { check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"); });
}

double GpuOperations::copy_to_peer(std::size_t peer, std::int64_t bytes) {
  return wall_seconds(
      [&] {
        check(cudaMemcpyPeerAsync(peers_[peer].get(), static_cast<int>(peer) + 1, one_.get(), 0,
                                  static_cast<std::size_t>(bytes), stream_.get()),
              "cudaMemcpyPeerAsync");
      },
      [&] { check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"); });
}

double GpuOperations::sum(std::int64_t bytes, int blocks) {
  check(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord");
  launch_add(static_cast<const float*>(one_.get()), static_cast<float*>(other_.get()), bytes / 4,
             blocks, stream_.get());
  check(cudaGetLastError(), "a kernel");
  check(cudaEventRecord(end_.get(), stream_.get()), "cudaEventRecord");
  return seconds_between(begin_, end_);
}

double GpuOperations::launch() {
  const double seconds = wall_seconds(
      [&] {
        for (int i = 0; i < kCalls; ++i)
          launch_nothing(stream_.get());
      },
      [] {});
  check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  return seconds / kCalls;
}

double GpuOperations::launch_to_end() {
  return wall_seconds(
      [&] { launch_nothing(stream_.get()); },
      [&] { check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"); });
}

double GpuOperations::query(const void* pointer) {
  cudaPointerAttributes attributes{};
  return wall_seconds(
             [&] {
               for (int i = 0; i < kCalls; ++i)
                 check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
             },
             [] {}) /
         kCalls;
}

double GpuOperations::slowed(bool in_memory, void* to, const void* from) {
  if (to != nullptr) {
    // Twice as long as the compute alone takes, and on the way when it begins.
    const double one = copy(to, from, largest_);
    const auto copies = static_cast<int>(std::ceil(2 * Compute::kAlone / one)) + 1;
    for (int i = 0; i < copies; ++i) {
      check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(largest_), cudaMemcpyDefault,
                            stream_.get()),
            "cudaMemcpyAsync");
    }
  }
  if (in_memory)
    compute_.start_in_memory();
  else
    compute_.start_in_registers();
  const double seconds = compute_.seconds();
  check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  return seconds;
}

std::vector<TimedOperation> GpuOperations::all() {
  std::vector<TimedOperation> all;
  const auto add_copy = [&](const char* name, void* to, const void* from) {
    all.push_back({name, 1, [=, this](std::int64_t m) { return copy(to, from, m); }});
  };
  add_copy(kPinnedCopy, one_.get(), pinned_.get());
  add_copy("copy to GPU, pageable", one_.get(), pageable_.data());
  add_copy("copy from GPU, pinned", pinned_.get(), one_.get());
  add_copy("copy from GPU, pageable", pageable_.data(), one_.get());
  add_copy("copy inside GPU", other_.get(), one_.get());
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    all.push_back({fmt::format("copy GPU 0 to {}", peer + 1), 2,
                   [=, this](std::int64_t m) { return copy_to_peer(peer, m); }});
  }
  std::vector<int> blocks;
  for (int b = 1; b < multiprocessors_; b *= 2)
    blocks.push_back(b);
  blocks.push_back(multiprocessors_);
  for (const int b : blocks) {
    all.push_back(
        {b == multiprocessors_ ? std::string(kGpuSum) : fmt::format("{}, {} blocks", kGpuSum, b), 1,
         [=, this](std::int64_t m) { return sum(m, b); }});
  }
  const auto add_fixed = [&](std::string name, std::function<double()> run) {
    all.push_back(
        {std::move(name), 1, [run = std::move(run)](std::int64_t) { return run(); }, false});
  };
  add_fixed("kernel launch", [this] { return launch(); });
  add_fixed("kernel launch to its end", [this] { return launch_to_end(); });
  add_fixed("pointer query, GPU memory", [this] { return query(one_.get()); });
  add_fixed("pointer query, host memory", [this] { return query(pageable_.data()); });
  for (const bool in_memory : {false, true}) {
    const char* what = in_memory ? "compute in memory" : "compute in registers";
    add_fixed(what, [=, this] { return slowed(in_memory, nullptr, nullptr); });
    add_fixed(fmt::format("{} beside copies to GPU", what),
              [=, this] { return slowed(in_memory, one_.get(), pinned_.get()); });
    add_fixed(fmt::format("{} beside copies from GPU", what),
              [=, this] { return slowed(in_memory, pinned_.get(), one_.get()); });
  }
  return all;
}

}  // namespace steptime
