// Tensor: all-reduce between sockets. The vectors of a socket's GPUs are one tensor; it is added up
// into the socket's memory at S, the sums go round between the memories, and each is broadcast to
// the GPUs at V. With p sockets, L rings, m = M / p / L and t = alpha + m beta:
//
//   ring-IBMGpu       L (p - 1) (max(t, m / S) + max(t, m / V)) + 2 m / S + L m / V
//                     rings that take turns (Figure 9): one sends while another's part is added up,
//                     and broadcast while it is sent on; for m / S <= t
//   ring-NCCL         the same with L = 1, where (p - 1) (t + m / S) + m / S is for the sums: they
//                     block
//   omp_ring-IBMGpu   M / S + (p - 1) (2 t + m / H) + M / V, the sums of the ring by the host at H
//   reg-IBMGpu        K segments of s: (K - 1) max(s / S, A(s), s / V) + s / S + A(s) + s / V, A(s)
//                     that of the collective "mpi"; K such that it is least
//   baidu             p GPUs: 2 (p - 1) (t + 2 m / C) + (p - 1) m / G, each part copied at C from
//                     the GPU to the host and back, because the network does not reach the GPU
//
// Scope: a worker of the cluster is a socket (preset minsky-sockets), of baidu a GPU. Its device
// does one thing at a time. Where links differ, the messages decide, which all but reg-IBMGpu are
// made of. Left out: launches of kernels, and the ceiling of the memory unless the cluster has it.
// Validation: tests/netmodels/tensor_test.cpp. Source: paper 001, sections 6.3 and 7.3, which has S
// (30 GB/s; 12 with NCCL, 15 with two sets of communicators) and V; H is a third of the 38.4 GB/s
// that a socket writes, for two reads and a write; C as V; G a third of the P100's 732 GB/s. Each
// is a parameter, as are the rings (2).
#include "netmodels/programs.h"
#include "netmodels/rounds.h"
#include "sim/collective/collective_player.h"
#include "sim/config/key_use.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steptime {
namespace {

Param bandwidth(std::string key, std::string help, std::string fallback) {
  return {.key = std::move(key),
          .kind = Kind::kBandwidth,
          .help = std::move(help),
          .need = Need::kDefault,
          .fallback = std::move(fallback),
          .range = kPositive};
}

const Params kParams{
    {.key = "design",
     .kind = Kind::kText,
     .help = "of paper 001, section 7.3; or Baidu's ring over every GPU",
     .need = Need::kDefault,
     .fallback = "ring-IBMGpu",
     .words = {"ring-IBMGpu", "ring-NCCL", "omp_ring-IBMGpu", "reg-IBMGpu", "baidu"}},
    {.key = "rings",
     .kind = Kind::kInteger,
     .help = "of ring-IBMGpu",
     .need = Need::kDefault,
     .fallback = 2,
     .range = {.low = 1, .high = 64}},
    bandwidth("ibmgpu_sum", "S of the kernels that add up on all links", "30 GB/s"),
    bandwidth("nccl_sum", "S of NCCL; 15 GB/s with two sets of communicators", "12 GB/s"),
    bandwidth("broadcast", "V, from the host to the GPUs of a socket", "28 GB/s"),
    bandwidth("host_sum", "H of omp_ring-IBMGpu's threads", "12.8 GB/s"),
    bandwidth("hop", "C of baidu, between a GPU and its host", "28 GB/s"),
    bandwidth("gpu_sum", "G of baidu", "244 GB/s"),
    {.key = "mpi",
     .kind = Kind::kText,
     .help = "MPI_Allreduce of reg-IBMGpu; it adds up as the cluster does",
     .need = Need::kDefault,
     .fallback = "ring",
     .words = {"ring", "recursive-doubling", "halving-doubling"}}};

/// Rings whose steps follow one another, with what the device does meanwhile and in between.
class TensorRings final : public Program {
 public:
  TensorRings(Rank ranks, std::int64_t bytes, std::int64_t rings, TimePerByte sum)
      : ranks_(ranks), sum_(sum) {
    for (std::int64_t i = 0; i < rings; ++i)
      rings_.push_back(ring_all_reduce(ranks, part_of({0, bytes}, i, rings)));
  }
  /// A step of a ring; the device works beside it, and may go on with as many works as are `behind`
  /// when it is over.
  void add(std::size_t ring, std::int32_t step, Duration work = {}, std::int32_t behind = 0) {
    steps_.push_back({rings_[ring].get(), step, work, behind});
  }
  void add(Duration work) { steps_.push_back({nullptr, 0, work, 0}); }

  Rank ranks() const override { return ranks_; }
  std::int32_t steps(Rank) const override { return static_cast<std::int32_t>(steps_.size()); }
  Op op(Rank rank, std::int32_t step) const override {
    const Step& at = steps_[static_cast<std::size_t>(step)];
    Op op;
    if (at.ring != nullptr) op = at.ring->op(rank, at.step);
    op.send.step = op.recv.step = step;
    op.behind = at.behind;
    op.work = at.work;
    return op;
  }
  std::optional<TimePerByte> reduction() const override { return sum_; }
  double messages() const override {
    double messages = 0;
    for (const auto& ring : rings_)
      messages += ring->messages();
    return messages;
  }

 private:
  struct Step {
    const Program* ring;
    std::int32_t step;
    Duration work;
    std::int32_t behind;
  };
  Rank ranks_;
  TimePerByte sum_;
  Programs rings_;
  std::vector<Step> steps_;  ///< the steps of every rank, one after another
};

class Tensor final : public MessageCollective {
 public:
  Tensor(const Config& c, const Cluster& cluster)
      : MessageCollective(cluster),
        design_(c.get<std::string>("design")),
        ranks_(static_cast<Rank>(cluster.workers())),
        rings_(design_ == "ring-IBMGpu" ? c.get<std::int64_t>("rings") : 1),
        tensor_sum_(speed(c, design_ == "ring-NCCL" ? "nccl_sum" : "ibmgpu_sum")),
        broadcast_(speed(c, "broadcast")),
        host_sum_(speed(c, "host_sum")),
        hop_(speed(c, "hop")),
        gpu_sum_(speed(c, "gpu_sum")) {}

  Programs programs(Bytes m) const override {
    return one(design_ == "baidu"             ? over_gpus(m.count)
               : design_ == "omp_ring-IBMGpu" ? in_host(m.count)
                                              : in_turns(m.count));
  }

 private:
  static TimePerByte speed(const Config& c, const char* key) {
    return inverse(c.get<Bandwidth>(key));
  }

  std::unique_ptr<Program> in_turns(std::int64_t bytes) const {
    auto all = std::make_unique<TensorRings>(ranks_, bytes, rings_, tensor_sum_);
    const std::int64_t part = ceil_div(ceil_div(bytes, rings_), ranks_);
    const Duration sum = reduction_time(part, tensor_sum_);
    const Duration broadcast = reduction_time(part, broadcast_);
    const auto rings = static_cast<std::int32_t>(rings_);
    const std::int32_t sends = rings * (ranks_ - 1);
    all->add(sum);
    for (std::int32_t i = 0; i < sends; ++i) {
      // What the next ring sends is whole by then: its own part, which is added up beside this
      // step, or what it received a round ago. What came later goes on behind.
      const bool is_first = i < rings - 1;
      const std::int32_t behind = i == sends - 1 ? 0 : is_first ? 1 : rings - 1;
      all->add(static_cast<std::size_t>(i % rings), i / rings, is_first ? sum : Duration{}, behind);
    }
    for (std::int32_t ring = 0; ring < rings; ++ring) {
      for (std::int32_t step = ranks_ - 1; step < 2 * (ranks_ - 1); ++step)
        all->add(static_cast<std::size_t>(ring), step, broadcast);
      all->add(broadcast);
    }
    return all;
  }

  std::unique_ptr<Program> in_host(std::int64_t bytes) const {
    auto all = std::make_unique<TensorRings>(ranks_, bytes, 1, host_sum_);
    all->add(reduction_time(bytes, tensor_sum_));
    for (std::int32_t step = 0; step < 2 * (ranks_ - 1); ++step)
      all->add(0, step);
    all->add(reduction_time(bytes, broadcast_));
    return all;
  }

  std::unique_ptr<Program> over_gpus(std::int64_t bytes) const {
    auto all = std::make_unique<TensorRings>(ranks_, bytes, 1, gpu_sum_);
    for (std::int32_t step = 0; step < 2 * (ranks_ - 1); ++step) {
      all->add(reduction_time(2 * ceil_div(bytes, ranks_), hop_));
      all->add(0, step);
    }
    return all;
  }

  std::string design_;
  Rank ranks_;
  std::int64_t rings_;
  TimePerByte tensor_sum_;
  TimePerByte broadcast_;
  TimePerByte host_sum_;
  TimePerByte hop_;
  TimePerByte gpu_sum_;
};

/// Known by its time only: the three stages follow one another, segment by segment.
class RegIbmGpu final : public Collective {
 public:
  RegIbmGpu(const Config& c, const Cluster& cluster)
      : mpi_(Collectives::instance().make_default(c.get<std::string>("mpi"), cluster)),
        sum_(inverse(c.get<Bandwidth>("ibmgpu_sum"))),
        broadcast_(inverse(c.get<Bandwidth>("broadcast"))) {}
  Duration time(Bytes m) const override {
    constexpr std::int64_t kMostSegments = 1024;
    const auto seconds = [&](std::int64_t segments) {
      const std::int64_t part = ceil_div(m.count, segments);
      const double stages[] = {to_seconds(reduction_time(part, sum_)),
                               to_seconds(mpi_->time({part})),
                               to_seconds(reduction_time(part, broadcast_))};
      return stages[0] + stages[1] + stages[2] +
             static_cast<double>(segments - 1) * *std::max_element(stages, stages + 3);
    };
    const auto at_least = [&](std::int64_t segments) {
      return static_cast<double>(segments) * to_seconds(mpi_->startup());
    };
    return from_seconds(seconds(fastest_parts(1, kMostSegments, seconds, at_least)));
  }
  Duration startup() const override { return time(Bytes{0}); }

 private:
  std::unique_ptr<Collective> mpi_;
  TimePerByte sum_;
  TimePerByte broadcast_;
};

const bool kUses =
    acts_beside("rings", "design", {"ring-IBMGpu"}) &&
    acts_beside("ibmgpu_sum", "design", {"ring-IBMGpu", "omp_ring-IBMGpu", "reg-IBMGpu"}) &&
    acts_beside("nccl_sum", "design", {"ring-NCCL"}) &&
    idle_beside("broadcast", "design", {"baidu"}) &&
    acts_beside("host_sum", "design", {"omp_ring-IBMGpu"}) &&
    acts_beside("hop", "design", {"baidu"}) && acts_beside("gpu_sum", "design", {"baidu"}) &&
    acts_beside("mpi", "design", {"reg-IBMGpu"});

const bool kRegistered = Collectives::instance().add(
    "tensor", "rings over the memories of sockets, whose GPUs add up and get the sums together",
    kParams, [](const Config& c, const Cluster& cluster) -> std::unique_ptr<Collective> {
      if (c.get<std::string>("design") == "reg-IBMGpu")
        return std::make_unique<RegIbmGpu>(c, cluster);
      return std::make_unique<Tensor>(c, cluster);
    });

}  // namespace
}  // namespace steptime
