#include "calibration/mpi/measure.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace steptime {
namespace {

constexpr int kAtOnce = 4;  // all-reduces, at most

/// The operations, over buffers of the largest size and communicators of their own.
class Operations {
 public:
  Operations(const MpiProcesses& world, std::int64_t largest) : world_(world) {
    const auto values = static_cast<std::size_t>((largest + 3) / 4 + world.ranks());
    from_.resize(values, 1.0F);
    for (auto& to : to_)
      to.resize(values);
    for (MPI_Comm& communicator : communicators_)
      MPI_Comm_dup(world.data(), &communicator);
  }
  ~Operations() {
    for (MPI_Comm& communicator : communicators_)
      MPI_Comm_free(&communicator);
  }
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  void all_reduces(std::int64_t bytes, int at_once) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(at_once), MPI_REQUEST_NULL);
    for (std::size_t k = 0; k < requests.size(); ++k)
      MPI_Iallreduce(from_.data(), to_[k].data(), values(bytes), MPI_FLOAT, MPI_SUM,
                     communicators_[k], &requests[k]);
    world_.wait(requests);
  }
  void reduce_scatter(std::int64_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ireduce_scatter_block(from_.data(), to_[0].data(), part(bytes), MPI_FLOAT, MPI_SUM,
                              world_.data(), &request);
    world_.wait(request);
  }
  void all_gather(std::int64_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(from_.data(), part(bytes), MPI_FLOAT, to_[0].data(), part(bytes), MPI_FLOAT,
                   world_.data(), &request);
    world_.wait(request);
  }
  void broadcast(std::int64_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(to_[0].data(), values(bytes), MPI_FLOAT, 0, world_.data(), &request);
    world_.wait(request);
  }
  /// Without naps: the latency of a link is shorter than one.
  void ping_pong(std::int64_t bytes) {
    const int n = values(bytes);
    if (world_.rank() == 0) {
      MPI_Send(from_.data(), n, MPI_FLOAT, 1, 0, world_.data());
      MPI_Recv(to_[0].data(), n, MPI_FLOAT, 1, 0, world_.data(), MPI_STATUS_IGNORE);
    } else if (world_.rank() == 1) {
      MPI_Recv(to_[0].data(), n, MPI_FLOAT, 0, 0, world_.data(), MPI_STATUS_IGNORE);
      MPI_Send(from_.data(), n, MPI_FLOAT, 0, 0, world_.data());
    }
  }
  void host_sum(std::int64_t bytes) {
    MPI_Reduce_local(from_.data(), to_[0].data(), values(bytes), MPI_FLOAT, MPI_SUM);
  }

 private:
  static int values(std::int64_t bytes) { return static_cast<int>((bytes + 3) / 4); }
  /// Of each rank, so that all of them together are `bytes`, rounded up.
  int part(std::int64_t bytes) const {
    return (values(bytes) + world_.ranks() - 1) / world_.ranks();
  }

  const MpiProcesses& world_;
  std::vector<float> from_;
  std::array<std::vector<float>, kAtOnce> to_;
  std::array<MPI_Comm, kAtOnce> communicators_{};
};

}  // namespace

double timed(const MpiProcesses& world, const std::function<void()>& operation) {
  world.barrier();
  const auto start = Clock::now();
  operation();
  return world.most(std::chrono::duration<double>(Clock::now() - start).count());
}

std::vector<SizeTimes> measure_all_reduce(const MpiProcesses& world, AllReduce& all_reduce,
                                          std::span<const std::int64_t> sizes, std::int64_t rounds,
                                          const OnProgress& on_progress) {
  std::vector<SizeTimes> times;
  for (const std::int64_t bytes : sizes)
    times.push_back({bytes, {}});
  for (std::int64_t round = -1; round < rounds; ++round) {
    for (SizeTimes& size : times) {
      const double seconds = timed(world, [&] { all_reduce.run(size.bytes); });
      if (round >= 0) size.seconds.push_back(seconds);
    }
    if (on_progress) on_progress(static_cast<double>(round + 1) / static_cast<double>(rounds));
  }
  return times;
}

MeasuredRounds measure_operations(const MpiProcesses& world, std::span<const std::int64_t> sizes,
                                  const MeasureOptions& options, const OnProgress& on_progress) {
  Operations operations(world, sizes.back());
  // `factor`: of the time until all are through.
  const auto entry = [&](const char* name, int ranks, double factor, auto run) {
    return TimedOperation{name, ranks, [&world, &operations, factor, run](std::int64_t bytes) {
                            return factor * timed(world, [&] { run(operations, bytes); });
                          }};
  };
  using O = Operations;
  const int all = world.ranks();
  const std::vector<TimedOperation> timed{
      entry(kPingPong, 2, 0.5, [](O& o, std::int64_t m) { o.ping_pong(m); }),
      entry("all-reduce", all, 1, [](O& o, std::int64_t m) { o.all_reduces(m, 1); }),
      entry("reduce-scatter", all, 1, [](O& o, std::int64_t m) { o.reduce_scatter(m); }),
      entry("all-gather", all, 1, [](O& o, std::int64_t m) { o.all_gather(m); }),
      entry("broadcast", all, 1, [](O& o, std::int64_t m) { o.broadcast(m); }),
      entry("2 all-reduces at once", all, 1, [](O& o, std::int64_t m) { o.all_reduces(m, 2); }),
      entry("4 all-reduces at once", all, 1, [](O& o, std::int64_t m) { o.all_reduces(m, 4); }),
      entry(kHostSum, 1, 1, [](O& o, std::int64_t m) { o.host_sum(m); })};
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  const auto is_over = [&] { return world.most(Clock::now() > end ? 1 : 0) > 0; };
  MeasuredRounds result = measure_rounds(timed, sizes, options, is_over, on_progress);
  result.nodes = world.nodes();
  return result;
}

}  // namespace steptime
