// What copies, sums, launches and queries take on the GPUs of this machine, and how compute is
// slowed down beside copies and sums.
#pragma once
#include "calibration/cuda/device.h"
#include "calibration/rounds.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace steptime {

/// Seconds on the wall from before `begin`, which starts work, until `end` has seen it done.
double wall_seconds(const std::function<void()>& begin, const std::function<void()>& end);

/// Kernels that take about five milliseconds alone, timed beside something else.
class Compute {
 public:
  Compute();
  /// Multiply-adds in registers on all multiprocessors.
  void start_in_registers();
  /// Sums of memory on all multiprocessors.
  void start_in_memory();
  /// Seconds of what was started; waits for it.
  double seconds();
  /// About what both take alone, in s.
  static constexpr double kAlone = 5e-3;

 private:
  static constexpr std::int64_t kMemory = 64 << 20;  ///< B, beyond any cache
  void start(const std::function<void()>& launch);
  int blocks_;
  std::int64_t turns_ = 1'000'000;
  int sums_ = 1;
  Stream stream_ = make_stream();
  Event begin_ = make_event();
  Event end_ = make_event();
  GpuMemory from_ = gpu_memory(kMemory);
  GpuMemory into_ = gpu_memory(kMemory);
};

/// The operations of `steptime calibrate cuda`, on GPU 0 and from it to the others.
class GpuOperations {
 public:
  /// Sizes are at most `largest` B.
  explicit GpuOperations(std::int64_t largest);
  std::vector<TimedOperation> all();

 private:
  double copy(void* to, const void* from, std::int64_t bytes);
  double copy_to_peer(std::size_t peer, std::int64_t bytes);
  double sum(std::int64_t bytes, int blocks);
  double launch();
  double launch_to_end();
  double query(const void* pointer);
  /// Compute beside copies that take at least as long; null `to`: beside nothing.
  double slowed(bool in_memory, void* to, const void* from);

  std::int64_t largest_;
  int gpus_ = gpus();
  int multiprocessors_ = multiprocessors(0);
  Stream stream_ = make_stream();
  Event begin_ = make_event();
  Event end_ = make_event();
  GpuMemory one_, other_;
  PinnedMemory pinned_;
  std::vector<float> pageable_;
  std::vector<GpuMemory> peers_;
  Compute compute_;
};

}  // namespace steptime
