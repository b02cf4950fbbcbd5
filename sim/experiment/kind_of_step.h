// What makes two training steps "of the same kind": eight attributes, in words. A step tells how
// good the prediction of another one is as far as the two share them.
//
//   framework   with its generation                    "PyTorch 2"; of a layout its stack
//   compute     how a worker's time is known: it was measured, or a device model reckons it for
//               tuned kernels, for tuned ones with fused batch norms, for PyTorch's own or for
//               autocast, or rates of transformers do: the type of their products    "float8"
//   GPU         its generation                         "Volta"
//   library     what carries gradients, with its major release, and its coordinator
//   fabric      between the nodes, of a single one between its GPUs, with the rate that is really
//               used, which two steps share within a factor of two
//   schedule    who adds gradients up, and when they are sent; of a layout whether it has groups
//               of tensor ranks, pipelines, and states that ranks share
//   model       its family                             "ResNet"
//   nodes       one, or several
#pragma once
#include "sim/config/config.h"
#include "sim/experiment/kind_word.h"
#include "sim/network/cluster.h"
#include "sim/servers/transport.h"
#include "sim/workload/workload.h"

#include <array>
#include <cstdint>
#include <string>

namespace steptime {

enum class Attribute : std::uint8_t {
  kFramework,
  kCompute,
  kGpu,
  kLibrary,
  kFabric,
  kSchedule,
  kModel,
  kNodes
};
inline constexpr std::size_t kAttributes = 8;
/// By attribute: "framework", "compute", ...
const std::array<const char*, kAttributes>& attribute_names();

struct KindOfStep {
  std::array<KindWord, kAttributes> words{};
  double rate = 0;  ///< the fabric's rate, B/s

  KindWord& operator[](Attribute a) { return words[static_cast<std::size_t>(a)]; }
  KindWord operator[](Attribute a) const { return words[static_cast<std::size_t>(a)]; }
  auto operator<=>(const KindOfStep&) const = default;
  /// Bit a is set where attribute a is not shared.
  unsigned differs_from(const KindOfStep& other) const;
  /// An attribute as people read it, such as "tcp at 9.6 Gbit/s".
  std::string text(Attribute a) const;
  /// All of them, with commas between.
  std::string text() const;
  bool is_layout() const;
};

/// Framework, compute, GPU and model of a "workload" section and what was read from it.
KindOfStep workload_kind(const Config& workload, const Trace& trace);

/// Of a collective "nccl": "NCCL 2.21" for it and the releases after it that estimate alike.
std::string nccl_rules(const Json& collective, const Cluster& cluster);

/// The name of what connects the nodes of a "cluster" section, its preset's included.
std::string network_name(const Config& cluster);

/// Library, fabric, nodes and, of the schedule, who adds gradients up and what is done with the
/// sum. `network`: network_name().
KindOfStep exchange_kind(const Config& strategy, const Transport& transport, const Cluster& cluster,
                         const std::string& network);

/// The schedule's own words: when gradients are sent, and by which thread.
KindWord schedule_word(const Config& strategy);

/// The parts of a kind as one.
KindOfStep joined(const KindOfStep& workload, const KindOfStep& exchange, KindWord schedule);

}  // namespace steptime
