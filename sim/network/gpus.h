// The GPUs of a node as a communication library sees them: what they are and what joins them.
#pragma once
#include "sim/config/config.h"
#include "sim/core/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

struct GpuNode {
  enum class Links { kNvlink, kNvswitch, kPcie };
  enum class Cpu { kIntel, kAmd, kPower };

  Links links = Links::kPcie;
  Bandwidth link_bandwidth{};      ///< one link in one direction
  std::int64_t links_per_gpu = 0;  ///< to the NVSwitch
  /// Number of NVLinks between each pair of GPUs, symmetric; a machine's GPUs in device order.
  std::vector<std::vector<int>> matrix;
  Bandwidth pcie_bandwidth{};           ///< a ring over PCIe, where NVLink closes none
  std::int64_t compute_capability = 0;  ///< 70 for 7.0
  Cpu cpu = Cpu::kIntel;
  bool nic_near_gpu = false;  ///< every GPU reaches its NIC without crossing a CPU
  /// NICs of a node; 0: as many as its graph has, a single one without a graph.
  std::int64_t nics = 0;
  Duration launch{};  ///< time that starting a kernel keeps the calling thread
};

/// Reads the "gpus" section of a cluster whose nodes use their first `used` GPUs.
GpuNode read_gpus(const Config& section, std::int64_t used);
const Params& gpus_params();

}  // namespace steptime
