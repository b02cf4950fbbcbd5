#include "calibration/cuda/nccl.h"

#include "sim/core/error.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess)
    throw MissingError(fmt::format("{}: {}", call, ncclGetErrorString(status)));
}

}  // namespace

std::string nccl_version() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  const int major = version >= 10'000 ? 10'000 : 1'000;  // since 2.9 with two digits for the minor
  return fmt::format("{}.{}.{}", version / major, version % major / 100, version % 100);
}

NcclOperations::NcclOperations(std::int64_t largest) : largest_(largest) {
  const int count = gpus();
  if (count < 2) throw MissingError("NCCL needs at least two GPUs, here is one");
  std::vector<ncclComm_t> communicators(static_cast<std::size_t>(count));
  check_nccl(ncclCommInitAll(communicators.data(), count, nullptr), "ncclCommInitAll");
  for (int gpu = 0; gpu < count; ++gpu) {
    Communicator communicator(communicators[static_cast<std::size_t>(gpu)]);
    check(cudaSetDevice(gpu), "cudaSetDevice");
    ranks_.push_back(
        {std::move(communicator), make_stream(), gpu_memory(largest), gpu_memory(largest)});
  }
  check(cudaSetDevice(0), "cudaSetDevice");
}

void NcclOperations::start(Call call, std::int64_t bytes) {
  check_nccl(ncclGroupStart(), "ncclGroupStart");
  for (const Rank& rank : ranks_)
    check_nccl(call(rank, static_cast<std::size_t>(bytes / 4)), "an NCCL collective");
  check_nccl(ncclGroupEnd(), "ncclGroupEnd");
}

void NcclOperations::wait() {
  for (const Rank& rank : ranks_)
    check(cudaStreamSynchronize(rank.stream.get()), "cudaStreamSynchronize");
}

/// From the call until the slowest GPU is through.
double NcclOperations::seconds(Call call, std::int64_t bytes) {
  return wall_seconds([&] { start(call, bytes); }, [&] { wait(); });
}

std::vector<TimedOperation> NcclOperations::all() {
  const auto ranks = static_cast<std::int64_t>(ranks_.size());
  static constexpr Call kAllReduce = [](const Rank& rank, std::size_t values) {
    return ncclAllReduce(rank.from.get(), rank.into.get(), values, ncclFloat, ncclSum,
                         rank.communicator.get(), rank.stream.get());
  };
  static constexpr Call kReduce = [](const Rank& rank, std::size_t values) {
    return ncclReduce(rank.from.get(), rank.into.get(), values, ncclFloat, ncclSum, 0,
                      rank.communicator.get(), rank.stream.get());
  };
  static constexpr Call kBroadcast = [](const Rank& rank, std::size_t values) {
    return ncclBroadcast(rank.from.get(), rank.into.get(), values, ncclFloat, 0,
                         rank.communicator.get(), rank.stream.get());
  };
  std::vector<TimedOperation> all;
  for (const auto& [name, call] : {std::pair<const char*, Call>{"all-reduce", kAllReduce},
                                   {"reduce", kReduce},
                                   {"broadcast", kBroadcast}}) {
    all.push_back({name, ranks, [this, call = call](std::int64_t m) { return seconds(call, m); }});
  }
  for (const bool in_memory : {false, true}) {
    all.push_back(
        {fmt::format("compute in {} beside all-reduces", in_memory ? "memory" : "registers"), 1,
         [this, in_memory](std::int64_t) {
           const double one = seconds(kAllReduce, largest_);
           // Twice as long as the compute alone takes, and on the way when it begins.
           const auto times = static_cast<int>(std::ceil(2 * Compute::kAlone / one)) + 1;
           for (int i = 0; i < times; ++i)
             start(kAllReduce, largest_);
           if (in_memory)
             compute_.start_in_memory();
           else
             compute_.start_in_registers();
           const double slowed = compute_.seconds();
           wait();
           return slowed;
         },
         false});
  }
  return all;
}

}  // namespace steptime
