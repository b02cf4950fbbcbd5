// NCCL's own estimate of a collective: which algorithm and protocol it takes, and why.
#pragma once
#include "netmodels/libraries/nccl_terms.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace steptime {

std::string_view name(NcclAlgorithm algorithm);
std::string_view name(NcclProtocol protocol);
/// What a config names so; "auto" is none.
std::optional<NcclAlgorithm> nccl_algorithm(std::string_view word);
std::optional<NcclProtocol> nccl_protocol(std::string_view word);

/// Constants and formulas of one release, from 2.5 on.
class NcclTuning {
 public:
  using Release = NcclEstimates;
  constexpr explicit NcclTuning(Release release) : release_(release) {}
  constexpr Release release() const { return release_; }

  NcclEstimate estimate(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  /// Negative when NCCL does not use this algorithm with this protocol here.
  double time_us(const NcclGraph& graph, NcclAlgorithm, NcclProtocol, std::int64_t bytes) const;
  /// All of a choice but the estimate.
  NcclChoice launch(const NcclGraph& graph, NcclAlgorithm, NcclProtocol, std::int64_t bytes) const;
  /// Bandwidth of all channels together, in nccl-tests' sense.
  double bus_gbps(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  /// Inside a node; trees and rings only.
  NcclHop hop(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  /// The sizes from which on another correction of trees holds.
  static std::vector<std::int64_t> sizes_of_steps();

 private:
  double bandwidth(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  double latency(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  bool enabled(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;

  Release release_;
};

/// The releases before NCCL estimated times: fixed thresholds. 2.3 has rings only, 2.4 adds trees.
class NcclThresholds {
 public:
  enum class Release { k2_3_7, k2_4_8 };
  explicit NcclThresholds(Release release) : release_(release) {}

  /// Largest size that 2.4.8 sends along trees; `nvlink`: the GPUs have NVLink. 0: none.
  static std::int64_t tree_threshold(std::int64_t nodes, std::int64_t ranks, std::int64_t channels,
                                     bool nvlink);
  /// Without a time.
  NcclChoice choose(const NcclGraph& graph, std::int64_t bytes) const;
  /// The sizes from which on another choice may hold.
  std::vector<std::int64_t> sizes_of_steps(const NcclGraph& graph) const;

 private:
  NcclChoice choose_2_3_7(const NcclGraph& graph, std::int64_t bytes) const;
  NcclChoice choose_2_4_8(const NcclGraph& graph, std::int64_t bytes) const;

  Release release_;
};

}  // namespace steptime
