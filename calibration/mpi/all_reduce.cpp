#include "calibration/mpi/all_reduce.h"

#include "sim/core/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {

AllReduce::AllReduce(const MpiProcesses& world, std::shared_ptr<const Collective> collective)
    : world_(world), collective_(std::move(collective)) {
  if (!collective_) return;
  if (collective_->programs(Bytes{4}).empty())
    throw InputError("the collective is known by its time only: it has no messages to play");
}

void AllReduce::run(std::int64_t bytes) {
  const auto count = static_cast<std::size_t>((bytes + 3) / 4);
  const auto own = static_cast<float>(world_.rank() + 1);
  if (data_.size() < count) {
    data_.resize(count, own);
    sums_.resize(count);
  }
  if (count == 0) return world_.barrier();
  if (!collective_) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(data_.data(), sums_.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                   world_.data(), &request);
    world_.wait(request);
  } else {
    std::copy_n(data_.begin(), count, sums_.begin());
    // A slice's "bytes" are values here, so that no value is cut.
    for (const auto& program : collective_->programs(Bytes{static_cast<std::int64_t>(count)}))
      play(*program);
  }
  const auto n = static_cast<float>(world_.ranks());
  const float expected = n * (n + 1) / 2;
  STEPTIME_CHECK(sums_[0] == expected && sums_[count - 1] == expected,
                 fmt::format("a sum of {} values over {} ranks is {}, {}", count, world_.ranks(),
                             sums_[0], sums_[count - 1]));
}

void AllReduce::play(const Program& program) {
  const int rank = world_.rank();
  std::vector<MPI_Request> requests;
  for (std::int32_t step = 0; step < program.steps(rank); ++step) {
    const Op op = program.op(rank, step);
    requests.clear();
    std::int64_t total = 0;
    for (Rank k = 0; k < op.recv.count; ++k)
      total += op.recv.slice_of(k).bytes;
    arrived_.resize(std::max(arrived_.size(), static_cast<std::size_t>(total)));
    float* to = arrived_.data();
    for (Rank k = 0; k < op.recv.count; ++k) {
      const Slice slice = op.recv.slice_of(k);
      MPI_Irecv(to, static_cast<int>(slice.bytes), MPI_FLOAT, op.recv.peer(k), step, world_.data(),
                &requests.emplace_back(MPI_REQUEST_NULL));
      to += slice.bytes;
    }
    for (Rank k = 0; k < op.send.count; ++k) {
      const Slice slice = op.send.slice_of(k);
      // A message is named by the step in which its receiver takes part in it.
      MPI_Isend(sums_.data() + slice.offset, static_cast<int>(slice.bytes), MPI_FLOAT,
                op.send.peer(k), op.send.step, world_.data(),
                &requests.emplace_back(MPI_REQUEST_NULL));
    }
    world_.wait(requests);
    const float* from = arrived_.data();
    for (Rank k = 0; k < op.recv.count; ++k) {
      const Slice slice = op.recv.slice_of(k);
      float* into = sums_.data() + slice.offset;
      if (op.reduce)
        MPI_Reduce_local(from, into, static_cast<int>(slice.bytes), MPI_FLOAT, MPI_SUM);
      else
        std::copy_n(from, slice.bytes, into);
      from += slice.bytes;
    }
  }
}

}  // namespace steptime
