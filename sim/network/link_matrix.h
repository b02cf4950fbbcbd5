// What joins each pair of a node's GPUs, as one number: how MXNet's kvstore sees a machine, and
// what it builds its trees from. Source: apache/mxnet 1.3.1 src/kvstore/gpu_topology.h.
#pragma once
#include "sim/network/cluster.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// A GPU of one node, by its place in the node.
using Gpu = std::int32_t;

/// A square of numbers, a row and a column for each GPU. Floats, as in MXNet: which of two trees is
/// better may depend on how a product of penalties is rounded.
class LinkMatrix {
 public:
  explicit LinkMatrix(Gpu gpus)
      : gpus_(gpus), cells_(static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus)) {}
  LinkMatrix(std::initializer_list<std::vector<float>> rows);

  Gpu gpus() const { return gpus_; }
  float at(Gpu row, Gpu column) const { return cells_[index(row, column)]; }
  float& at(Gpu row, Gpu column) { return cells_[index(row, column)]; }
  /// Both directions of a pair.
  void set(Gpu first, Gpu second, float value) {
    at(first, second) = value;
    at(second, first) = value;
  }
  std::span<float> cells() { return cells_; }
  /// The rows and columns of these GPUs, which are numbered anew in this order.
  LinkMatrix of(std::span<const Gpu> gpus) const;
  bool operator==(const LinkMatrix&) const = default;

 private:
  std::size_t index(Gpu row, Gpu column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(gpus_) +
           static_cast<std::size_t>(column);
  }
  Gpu gpus_;
  std::vector<float> cells_;
};

/// What CUDA says of a pair: its cudaDevP2PAttrPerformanceRank and 1.
inline constexpr float kOverPcie = 1;
inline constexpr float kOneNvlink = 2;
inline constexpr float kTwoNvlinks = 3;  ///< or more, or an NVSwitch

enum class LinkDetection : std::uint8_t {
  kExact,
  kCuda92,    ///< two NVLinks look like PCIe, as with CUDA 9.2 on p3.16xlarge
  kRepaired,  ///< the same, as MXNet 1.5 mends it: every pair with peer access counts as one NVLink
};

/// "exact", "cuda-9.2" and "cuda-9.2-repaired".
const std::vector<std::string>& detection_words();
/// Which of the words it is.
LinkDetection detection_named(const std::string& word);

/// The codes of the cluster's GPUs in a node, 0 for a GPU itself: NVLinks are links between two
/// GPUs of the node's graph, or between GPUs and an NVSwitch; without a graph, those of its "gpus".
LinkMatrix link_codes(const Cluster& cluster);

/// What MXNet sees where a pair is joined as these codes say. Peer access is taken to be there
/// where NVLinks are.
LinkMatrix detected(LinkMatrix codes, LinkDetection detection);

/// Whether NVLinks, without PCIe, lead from every GPU to every other.
bool joined_by_nvlink(const LinkMatrix& codes);

/// The weights that trees are built from. Where NVLinks join all GPUs, PCIe is of no use: 0. Where
/// they do not, it is the slower the more use it, and weighs 1 / n.
LinkMatrix link_weights(LinkMatrix codes);

}  // namespace steptime
