// Networks whose adapters move data past the CPU: what a message gets of the line rate, as
// measured.
//
// Scope: as a switch; one path between two endpoints, no congestion. Latency is that of an empty
// message, from NIC to NIC where a node is a graph with NICs, else from GPU to GPU.
// Parameters: bandwidth [B/s, the line rate of one adapter], efficiency, latency [time].
// Source: efficiency of InfiniBand and RoCE: 46 to 48 GB/s of 50 (NVIDIA/nccl-tests issue 290), the
// upper end taken. Latencies: EDR 1.29 us, HDR 2.13 us, from host to host
// (aistabci/abci2.0benchmark pt2pt/README.md); NDR assumed as HDR. EFA: 8.9 of 12.5 GB/s and 23.5
// us between GPUs of p3dn.24xlarge, fitted to traces/nccl/p3dn_2x8.csv, largest and smallest
// message; newer machines than these are faster (traces/nccl/p5_2x8.csv). Its plug-in tells NCCL
// 75 us on p4d, p4de and p5, whatever the adapter takes (aws/aws-ofi-nccl src/platform-aws.c).
#include "netmodels/rdma.h"

#include "sim/network/cluster.h"

#include <cstdint>
#include <memory>
#include <string>

namespace steptime {
namespace {

struct Preset {
  const char* name;
  const char* help;
  const char* bandwidth;  ///< null: required
  const char* latency;    ///< null: required
  double efficiency;
  double told_us = 0;  ///< to NCCL
};

constexpr Preset kPresets[] = {
    {"rdma", "InfiniBand or RoCE: a share of the line rate, as measured", nullptr, nullptr, .96},
    {"edr-infiniband", "EDR InfiniBand, 100 Gbit/s", "100 Gbps", "1.29 us", .96},
    {"hdr-infiniband", "HDR InfiniBand, 200 Gbit/s", "200 Gbps", "2.13 us", .96},
    {"ndr-infiniband", "NDR InfiniBand, 400 Gbit/s", "400 Gbps", "2.13 us", .96},
    {"efa", "Elastic Fabric Adapter of Amazon, first generation", "100 Gbps", "23.5 us", .71, 75}};

class Rdma final : public NetworkKind, public TellsLatency {
 public:
  Rdma(const Config& c, const Preset& preset)
      : told_us_(preset.told_us),
        link_{c.get<Duration>("latency"),
              {c.get<Bandwidth>("bandwidth").bytes_per_second * c.get<double>("efficiency")}} {}
  Link link(std::int64_t) const override { return link_; }
  double told_us() const override { return told_us_; }

 private:
  double told_us_;
  Link link_;
};

Params params_of(const Preset& preset) {
  Params params{
      {.key = "latency", .kind = Kind::kTime, .help = "of an empty message", .range = kNotNegative},
      {.key = "bandwidth",
       .kind = Kind::kBandwidth,
       .help = "line rate of one adapter in one direction",
       .range = kPositive},
      {.key = "efficiency",
       .kind = Kind::kNumber,
       .help = "of the line rate that messages get",
       .need = Need::kDefault,
       .fallback = preset.efficiency,
       .range = {.low = .01, .high = 1}}};
  const auto has_default = [&](std::size_t i, const char* value) {
    if (value == nullptr) return;
    params[i].need = Need::kDefault;
    params[i].fallback = value;
  };
  has_default(0, preset.latency);
  has_default(1, preset.bandwidth);
  return params;
}

const bool kRegistered = [] {
  for (const Preset& preset : kPresets) {
    NetworkKinds::instance().add(
        preset.name, preset.help, params_of(preset),
        [&preset](const Config& c) { return std::make_unique<Rdma>(c, preset); });
  }
  return true;
}();

}  // namespace
}  // namespace steptime
