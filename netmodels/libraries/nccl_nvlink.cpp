// Rings and NVLS inside a node, for S bytes, of which a rank sends x in st steps:
//
//   LL       c + st k (1 + .347 r) + 2.47 S / B       r from 0 at 8 KiB to 1 at 64 KiB
//   LL128    c + 1.5 k + 1.67 st k + (x + .374 S) / (.716 B)
//   Simple   c + 14.1 k + 3.64 st k + (x + .374 S) / B
//   NVLS     c + 47 k + S / (.494 B)                 all-reduce
//
// with B = e times the speed of all channels of the rings. Beside what goes over the links there is
// a part for the whole buffer: copies inside a GPU. c, k and e are of a generation of GPUs:
//
//              c [us]   k [us]   e
//   Ampere     8.49     1.085    1.151
//   Hopper     4.72      .761    1.277
//   Blackwell  8.06     1.076    1.159
//
// c holds the start of the kernel.
//
// Scope: an idle machine, GPUs on NVSwitch, from NCCL 2.19 on; what earlier releases take is in
// netmodels/libraries/nccl_kernel.cpp. GPUs of 8.6 and 8.9 stand with Ampere. Caches are not
// modelled: from 16 to 64 MiB NVLS on Blackwell is up to 22 % slower than this.
// Fitted: the three numbers of a generation and the ten that all share, to 1 KiB, 64 KiB, 1, 8, 64
// and 512 MiB of three operations on 2, 4 and 8 GPUs (traces/nccl/aiconfigurator/): least squares
// of the logarithm, with what NCCL's estimates choose there; the form was chosen with all rows in
// view. Validation: configs/papers/collectives/nccl-open-tables.json. Source of the tables:
// traces/README.md.
#include "netmodels/libraries/nccl_nvlink.h"

#include <algorithm>
#include <cmath>

namespace steptime {
namespace {

constexpr double kGiga = 1000;  ///< bytes per us in one GB/s

struct Generation {
  double start_us = 0;
  double hop_us = 0;
  double share = 1;  ///< share of the speed that NCCL counts on
};

Generation generation_of(const NcclGraph& g) {
  if (g.compute_capability >= 100) return {8.06, 1.076, 1.159};
  if (g.compute_capability >= 90) return {4.72, .761, 1.277};
  return {8.49, 1.085, 1.151};
}

}  // namespace

bool nccl_on_nvlink(const NcclTuning& tuning, const NcclGraph& g) {
  return tuning.release() >= NcclTuning::Release::k2_19_3 && g.nodes == 1 && g.nvlink &&
         g.compute_capability >= 80;
}

double nccl_nvlink_us(const NcclGraph& g, const NcclChoice& choice, double bytes) {
  const auto [start, hop, share] = generation_of(g);
  const double rate = share * static_cast<double>(g.channels) * g.channel_gbps * kGiga;
  if (choice.algorithm == NcclAlgorithm::kNvls) return start + 47 * hop + bytes / (.494 * rate);
  const auto steps = static_cast<double>(nccl_ring_steps(g.operation, g.ranks));
  const double moved = (steps / static_cast<double>(g.ranks) + .374) * bytes;
  switch (choice.protocol) {
    case NcclProtocol::kLl: {
      const double full = std::clamp(std::log2(std::max(bytes, 1.0) / 8192) / 3, 0.0, 1.0);
      return start + steps * hop * (1 + .347 * full) + 2.47 * bytes / rate;
    }
    case NcclProtocol::kLl128:
      return start + 1.5 * hop + 1.67 * steps * hop + moved / (.716 * rate);
    case NcclProtocol::kSimple:
      break;
  }
  return start + 14.1 * hop + 3.64 * steps * hop + moved / rate;
}

}  // namespace steptime
