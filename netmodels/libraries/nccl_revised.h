// NCCL's own estimates from 2.19 on, by release: all-reduce, all-gather and reduce-scatter.
#pragma once
#include "netmodels/libraries/nccl_terms.h"

#include <cstdint>

namespace steptime {

/// One release from 2.19 on; nccl_tuning.h says what each function gives.
class NcclRevision {
 public:
  explicit constexpr NcclRevision(NcclEstimates release) : release_(release) {}

  double bus_gbps(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  /// Bytes of the operation a ns; 0: not used here.
  double algorithm_gbps(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  double latency_us(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  double time_us(const NcclGraph& graph, NcclAlgorithm, NcclProtocol, std::int64_t bytes) const;
  NcclHop hop(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;

 private:
  bool from(NcclEstimates release) const { return release_ >= release; }
  double nvls_bus_gbps(const NcclGraph& graph) const;
  bool enabled(const NcclGraph& graph, NcclAlgorithm, NcclProtocol) const;
  NcclEstimates release_;
};

}  // namespace steptime
