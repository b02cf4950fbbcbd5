// The kernels inside one node, for n GPUs, c of M bytes being one thread block's chunk. Trees take
// NCCL's own estimate; from 2.19 on over NVLink netmodels/libraries/nccl_nvlink.cpp; between nodes
// see netmodels/libraries/nccl_between.cpp.
//
//   Ring, LL and LL128   base + (s + 1)(step + c / block)
//       A block sends s times, 2n - 2 for an all-reduce and n - 1 for its halves, and copies the
//       last chunk out. Chunks are whole multiples of what its threads move at a time, and as large
//       as the buffer's step at most. block: its share of the rings' speed; LL over PCIe sends as
//       many flags as data.
//   Ring, Simple, NVLink base + s step + s/n M / bus (1 + ramp)
//       Of Ampere M moves in rounds of 128 KiB for each block and GPU: base + s step + (s + .57)
//       round (1 + ramp) for each whole one, and for the last, of a share r, .22 + .78 r of that.
//   Ring, Simple, PCIe   base + s max(c / block, c / (2 block) + step)
//       A chunk is two slices: one travels while the other waits for its flag.
//   NVLS                 base + D(M) + D(min(M, 6 MiB)), D(M) = (1 + 1/n) M / links (1 + ramp)
//       A GPU sends its data to the switch, and its share of the sum to all. 6 MiB, the pipeline's
//       filling: fitted to 2 to 16 MiB of 8 H100 (traces/nccl/h100_8.csv).
//
// ramp: bandwidth grows until 4 GiB each time that M doubles, of Hopper by 2.7 % (least squares
// over nine rows of 8 A100, before the rounds were seen), of Ampere by 1.35 %; no explanation is
// published. The rounds are seen where a table has a row for each MiB: on 8 A100 time jumps every
// 24 MiB, on 4 every 12. Fitted to such tables of 2, 4 and 8 A100, 16 MiB to 1 GiB, 2.5 % off
// (root mean square): .57, .22, 1.35 %, and bus 250 GB/s.
//
// base, step: NVIDIA's own table of the release; LL and LL128 over NVLink as revised in 2.18.3.
//
// Scope: an idle machine. Not modelled: caches, which carry messages of a few MiB over PCIe up to
// 20 % faster than large ones.
// Validation: configs/papers/collectives, tests/validation/collectives_test.cpp.
// Source: NVIDIA/nccl v2.12.12-1 src/collectives/device/all_reduce.h runRing(), prims_ll.h,
// prims_ll128.h, src/init.cc (buffer sizes), v2.18.3-1 src/graph/tuning.cc. Ramp of Hopper:
// traces/nccl/a100_8.csv. Rounds: VIA-Research/vTrain@f8dda84 trace/a100. NVLS: NVIDIA/nccl-tests
// issue 212.
#include "netmodels/libraries/nccl_kernel.h"

#include "netmodels/libraries/nccl_nvlink.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace steptime {
namespace {

constexpr auto kRing = NcclAlgorithm::kRing;
constexpr NcclTuning kRevised(NcclTuning::Release::k2_18_3);
constexpr double kGiga = 1000;  ///< bytes per us in one GB/s

constexpr double kRampPerDoubling = .027;
constexpr double kRampEnd = 4.0 * (1 << 30);

/// Of rings over Ampere's NVLink.
constexpr double kMostAmpere = 250;        ///< GB/s
constexpr double kRoundBytes = 128 << 10;  ///< a round's bytes, by block and GPU
constexpr double kRoundCopies = .57;       ///< in steps: the part of a round that sends nothing
constexpr double kLeastOfRound = .22;      ///< what the last, smaller round takes at least
constexpr double kRampPerDoublingAmpere = .0135;
/// Of the links: 8 H100 reach 274 GB/s (busbw 480), 9/8 of it over 18 links of 20 GB/s.
constexpr double kNvlsShare = .856;
constexpr double kNvlsRound = 6 << 20;
/// GB/s that one thread block moves with LL over PCIe (4 V100, NCCL 2.4.2: 32 and 64 KiB), and over
/// NVLink from Ampere on (8 H100: 32 KiB).
constexpr double kMostLlPerBlockPcie = 3.5;
constexpr double kMostLlPerBlock = 19;

/// What a thread block moves at a time, and at most with one step of its buffer.
struct Grain {
  std::int64_t least;
  std::int64_t most;
};

/// LL: 8 B per thread. LL128: 60 B, halved "for smoothness". A block of few bytes has few threads.
Grain grain(const NcclGraph& g, const NcclChoice& choice, std::int64_t bytes) {
  const bool ll = choice.protocol == NcclProtocol::kLl;
  const std::int64_t each = ll ? 8 : 30;
  std::int64_t threads = choice.threads;
  while (threads > (ll ? 64 : 160) && bytes <= g.ranks * each * threads / 2)
    threads /= 2;
  return {threads * each, ll ? 32768 : 576000};
}

/// Bytes that the busiest block sends in one of its steps, all loops together. A block more takes
/// part for each grain, until all do.
double chunks(const NcclGraph& g, const NcclChoice& choice, std::int64_t bytes) {
  const auto [least, most] = grain(g, choice, bytes);
  const std::int64_t parts = g.ranks * choice.most_channels;
  const std::int64_t loops = bytes / (parts * most);
  const std::int64_t rest = bytes - loops * parts * most;
  const std::int64_t share = (rest + parts - 1) / parts;
  const std::int64_t rounded = std::min((share + least - 1) / least * least, most);
  return static_cast<double>(loops * most + std::min(rounded, rest));
}

/// GB/s of one block.
double block_gbps(const NcclGraph& g, const NcclChoice& choice, std::int64_t bytes) {
  const auto most = static_cast<double>(choice.most_channels);
  const double bus = kRevised.bus_gbps(g, kRing, choice.protocol);
  const bool shared = !g.nvlink || g.compute_capability >= 80;
  if (choice.protocol != NcclProtocol::kLl || !shared) return bus / most;
  // As many blocks as there are grains share what all of them may have.
  const auto grains =
      static_cast<double>(bytes) / static_cast<double>(g.ranks * grain(g, choice, bytes).least);
  const double all = g.nvlink ? bus : static_cast<double>(g.channels) * g.channel_gbps / 2;
  return std::min(all / std::clamp(grains, 1.0, most),
                  g.nvlink ? kMostLlPerBlock : kMostLlPerBlockPcie);
}

double ring_lines_us(const NcclTuning& tuning, const NcclGraph& g, const NcclChoice& choice,
                     std::int64_t bytes) {
  const NcclHop hop = (g.nvlink ? kRevised : tuning).hop(g, kRing, choice.protocol);
  const double copy_us = chunks(g, choice, bytes) / (kGiga * block_gbps(g, choice, bytes));
  return hop.base_us +
         static_cast<double>(nccl_ring_steps(g.operation, g.ranks) + 1) * (hop.step_us + copy_us);
}

/// The bytes of a ring over Ampere's NVLink.
double rounds_us(const NcclGraph& g, double blocks, double steps, double bus, double bytes) {
  const double round = kRoundBytes * blocks;  // of a GPU
  const double rounds = bytes / (static_cast<double>(g.ranks) * round);
  const double last = rounds - std::floor(rounds);
  const double whole =
      std::floor(rounds) + (last > 0 ? kLeastOfRound + (1 - kLeastOfRound) * last : 0);
  return (steps + kRoundCopies) * whole * round / (kGiga * std::min(bus, kMostAmpere)) *
         nccl_ramp(g, bytes);
}

double ring_simple_us(const NcclGraph& g, const NcclChoice& choice, NcclHop hop, double bytes) {
  const auto n = static_cast<double>(g.ranks);
  const auto steps = static_cast<double>(nccl_ring_steps(g.operation, g.ranks));
  const double bus = static_cast<double>(g.channels) * g.channel_gbps;
  if (g.nvlink && g.compute_capability >= 80 && g.compute_capability < 90) {
    return hop.base_us + steps * hop.step_us +
           rounds_us(g, static_cast<double>(choice.most_channels), steps, bus, bytes);
  }
  const double wire = steps / n * bytes / (kGiga * bus);
  if (g.nvlink) return hop.base_us + steps * hop.step_us + wire * nccl_ramp(g, bytes);
  return hop.base_us + std::max(wire, wire / 2 + steps * hop.step_us);
}

double nvls_us(const NcclGraph& g, double bytes) {
  const double base = kRevised.estimate(g, NcclAlgorithm::kNvls, NcclProtocol::kSimple).latency_us;
  const auto data_us = [&](double m) {
    const double traffic = (1 + 1 / static_cast<double>(g.ranks)) * m;
    return traffic / (kGiga * kNvlsShare * g.switch_gbps) * nccl_ramp(g, m);
  };
  return base + data_us(bytes) + data_us(std::min(bytes, kNvlsRound));
}

}  // namespace

double nccl_ramp(const NcclGraph& g, double bytes) {
  if (g.compute_capability < 80) return 1;
  const double doubling = g.compute_capability < 90 ? kRampPerDoublingAmpere : kRampPerDoubling;
  return 1 + doubling * std::max(0.0, std::log2(kRampEnd / std::max(bytes, 1.0)));
}

double nccl_kernel_us(const NcclTuning& tuning, const NcclGraph& graph, const NcclChoice& choice,
                      std::int64_t bytes) {
  if (choice.algorithm == NcclAlgorithm::kTree) return choice.time_us;
  if (nccl_on_nvlink(tuning, graph)) {
    // What NVLS takes for the halves of an all-reduce was not measured.
    const bool own =
        choice.algorithm == NcclAlgorithm::kNvls && graph.operation != Operation::kAllReduce;
    return own ? choice.time_us : nccl_nvlink_us(graph, choice, static_cast<double>(bytes));
  }
  if (choice.algorithm == NcclAlgorithm::kNvls) return nvls_us(graph, static_cast<double>(bytes));
  if (choice.protocol != NcclProtocol::kSimple) return ring_lines_us(tuning, graph, choice, bytes);
  return ring_simple_us(graph, choice, tuning.hop(graph, kRing, choice.protocol),
                        static_cast<double>(bytes));
}

}  // namespace steptime
