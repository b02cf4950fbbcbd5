// Open MPI's all-reduce between hosts: the algorithm that its "tuned" module takes for each size,
// over point-to-point messages that change protocol with size.
//
//   M < 10,000 B                  recursive doubling     R rounds of M
//   M <= N MiB                    ring                   2 (N-1) steps of M / N
//   else                          segmented ring         (N-1) (M / N in segments of 1 MiB, then
//   whole) ten kilobytes or more in fewer than N elements       reduce and broadcast, 2 R rounds of
//   M
//
//   R = floor(log2 N), and 2 more when N is no power of two
//   a message of m bytes:  alpha + w + m beta + (m > packet) packet_overhead
//                          + (m >= eager_limit) 2 (alpha + w)
//   a call:                call_overhead + its messages + gamma for each byte added
//
// From the eager limit on (which counts a message's header too) a message asks first and is told to
// come: two more messages. w: a step of a ring waits for the slowest of its N ranks, the longer the
// more there are: ring_wait for each doubling past two; in recursive doubling pairs wait only for
// each other. packet_overhead: what a message of several packets waits for the host to take it in.
//
// Scope: one rank per node, host memory, equal nodes. With `concurrent` = k all-reduces at once on
// the same links each gets 1 / k of the bandwidth (max-min fair: all use the same ports).
// Parameters: above; alpha, beta and gamma are those of the cluster.
// Validation: configs/papers/collectives: 10GbE logs of 2, 4 and 8 nodes, concurrent jobs.
// Source: open-mpi/ompi v3.1.0 ompi/mca/coll/tuned/coll_tuned_decision_fixed.c
// ompi_coll_tuned_allreduce_intra_dec_fixed(), opal/mca/btl/tcp/btl_tcp_component.c (64 KiB).
#include "sim/collective/collective.h"
#include "sim/config/key_use.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "call_overhead",
                      .kind = Kind::kTime,
                      .help = "of one all-reduce, whatever it sends",
                      .need = Need::kDefault,
                      .fallback = "0 s",
                      .range = kNotNegative},
                     {.key = "ring_wait",
                      .kind = Kind::kTime,
                      .help = "per message of a ring and doubling of the ranks past two",
                      .need = Need::kDefault,
                      .fallback = "0 s",
                      .range = kNotNegative},
                     {.key = "packet_overhead",
                      .kind = Kind::kTime,
                      .help = "of a message of more than one packet",
                      .need = Need::kDefault,
                      .fallback = "0 s",
                      .range = kNotNegative},
                     {.key = "packet",
                      .kind = Kind::kBytes,
                      .help = "data of one packet",
                      .need = Need::kDefault,
                      .fallback = "1448 B",
                      .range = kPositive},
                     {.key = "eager_limit",
                      .kind = Kind::kBytes,
                      .help = "from this size on a message asks first",
                      .need = Need::kDefault,
                      .fallback = "64 KiB",
                      .range = kPositive},
                     {.key = "concurrent",
                      .kind = Kind::kInteger,
                      .help = "all-reduces that share the links, this one included",
                      .need = Need::kDefault,
                      .fallback = 1,
                      .range = {.low = 1, .high = 1e6}}};

constexpr std::int64_t kSmall = 10000;
constexpr std::int64_t kSegment = std::int64_t{1} << 20;
constexpr std::int64_t kElement = 4;  ///< bytes of a float

class OpenMpi final : public Collective {
 public:
  OpenMpi(const Config& c, const Cluster& cluster)
      : ranks_(cluster.workers()),
        one_per_node_(cluster.gpus_per_node == 1),
        alpha_(to_seconds(cluster.bottleneck().latency)),
        beta_(inverse(cluster.bottleneck().bandwidth).seconds_per_byte *
              static_cast<double>(c.get<std::int64_t>("concurrent"))),
        gamma_(cluster.reduction.seconds_per_byte),
        call_(to_seconds(c.get<Duration>("call_overhead"))),
        wait_(to_seconds(c.get<Duration>("ring_wait")) *
              std::max(0.0, std::log2(static_cast<double>(ranks_)) - 1)),
        packet_overhead_(to_seconds(c.get<Duration>("packet_overhead"))),
        packet_(static_cast<double>(c.get<Bytes>("packet").count)),
        eager_(static_cast<double>(c.get<Bytes>("eager_limit").count)) {
    before_ring_ = seconds(kSmall - 1);
    before_segments_ = seconds(ranks_ * kSegment);
  }

  Duration time(Bytes m) const override {
    if (ranks_ == 1) return Duration{};
    double s = seconds(m.count);
    if (m.count >= kSmall) s = std::max(s, before_ring_);
    if (m.count > ranks_ * kSegment) s = std::max(s, before_segments_);
    return from_seconds(s);
  }
  Duration startup() const override { return time(Bytes{0}); }

  std::string outside_domain(Bytes) const override {
    if (one_per_node_) return "";
    return "\"openmpi\" is made for one rank per node: here several share a NIC";
  }

  std::string choice(Bytes m) const override {
    switch (algorithm(m.count)) {
      case Algorithm::kRecursiveDoubling:
        return "recursive-doubling";
      case Algorithm::kReduceBroadcast:
        return "reduce-broadcast";
      case Algorithm::kRing:
        return "ring";
      case Algorithm::kSegmentedRing:
        return "segmented-ring";
    }
    return "";
  }

 private:
  enum class Algorithm { kRecursiveDoubling, kReduceBroadcast, kRing, kSegmentedRing };

  Algorithm algorithm(std::int64_t bytes) const {
    if (bytes < kSmall) return Algorithm::kRecursiveDoubling;
    if (bytes / kElement <= ranks_) return Algorithm::kReduceBroadcast;
    return bytes <= ranks_ * kSegment ? Algorithm::kRing : Algorithm::kSegmentedRing;
  }

  double rounds() const {
    const auto n = static_cast<std::uint64_t>(ranks_);
    return static_cast<double>(std::bit_width(n)) - (std::has_single_bit(n) ? 1 : -1);
  }

  double message(double bytes, double wait) const {
    return (alpha_ + wait) * (bytes >= eager_ ? 3 : 1) + beta_ * bytes +
           (bytes > packet_ ? packet_overhead_ : 0);
  }

  double seconds(std::int64_t count) const {
    const auto bytes = static_cast<double>(count);
    const auto n = static_cast<double>(ranks_);
    const double block = bytes / n;
    switch (algorithm(count)) {
      case Algorithm::kRecursiveDoubling:
        return call_ + rounds() * (message(bytes, 0) + gamma_ * bytes);
      case Algorithm::kReduceBroadcast:
        return call_ + rounds() * (2 * message(bytes, 0) + gamma_ * bytes);
      case Algorithm::kRing:
        return call_ + (n - 1) * (2 * message(block, wait_) + gamma_ * block);
      case Algorithm::kSegmentedRing: {
        const double segments = std::ceil(block / static_cast<double>(kSegment));
        return call_ + (n - 1) * (segments * message(block / segments, wait_) +
                                  message(block, wait_) + gamma_ * block);
      }
    }
    return 0;
  }

  std::int64_t ranks_;
  bool one_per_node_;
  double alpha_;
  double beta_;
  double gamma_;
  double call_;
  double wait_;
  double packet_overhead_;
  double packet_;
  double eager_;
  /// A time does not decrease where the algorithm changes: schedules rely on it.
  double before_ring_ = 0;
  double before_segments_ = 0;
};

const bool kUses = idle_beside("packet", "packet_overhead", {"0 s"});

const bool kRegistered = Collectives::instance().add(
    "openmpi", "Open MPI's choice of algorithm by size, with eager and rendezvous messages",
    kParams,
    [](const Config& c, const Cluster& cluster) { return std::make_unique<OpenMpi>(c, cluster); });

}  // namespace
}  // namespace steptime
