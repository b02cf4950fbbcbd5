#include "sim/collective/link_load.h"

#include <algorithm>

namespace steptime {

namespace {
/// Of an NVLink, for a pair that has none and cannot use PCIe: so that it is used last.
constexpr double kNoLink = 1e-3;
}  // namespace

void LinkLoad::add(const ReduceTree& tree, float uses) {
  for (const auto& level : tree.copies()) {
    for (const GpuCopy& copy : level)
      uses_.at(copy.from, copy.to) += uses;
  }
}

double LinkLoad::with(Gpu from, Gpu to, double more) const {
  const double weight = weights_.at(from, to);
  const double links = weight >= kOneNvlink ? weight - 1 : std::max(weight, kNoLink);
  return (uses_.at(from, to) + more) / links;
}

LinkLoad::Busiest LinkLoad::busiest() const {
  Busiest busiest;
  for (Gpu from = 0; from < weights_.gpus(); ++from) {
    for (Gpu to = 0; to < weights_.gpus(); ++to) {
      if (from == to) continue;
      double& most = weights_.at(from, to) >= kOneNvlink ? busiest.nvlink : busiest.other;
      most = std::max(most, of(from, to));
    }
  }
  return busiest;
}

}  // namespace steptime
