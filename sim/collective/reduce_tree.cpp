#include "sim/collective/reduce_tree.h"

#include "sim/core/error.h"

#include <bit>
#include <utility>

namespace steptime {

std::int32_t tree_depth(Gpu gpus) {
  std::int32_t depth = 1;
  while (gpus > 1 << depth)
    ++depth;
  return depth;
}

ReduceTree::ReduceTree(std::vector<Gpu> array)
    : depth_(static_cast<std::int32_t>(std::bit_width(array.size())) - 1),
      array_(std::move(array)) {
  STEPTIME_CHECK(depth_ >= 1 && std::has_single_bit(array_.size() + 1), "a complete binary tree");
}

ReduceTree ReduceTree::above(std::span<const Gpu> leaves) {
  std::vector<Gpu> array;
  for (std::size_t stride = leaves.size(); stride > 0; stride /= 2) {
    for (std::size_t i = 0; i < leaves.size(); i += stride)
      array.push_back(leaves[i]);
  }
  return ReduceTree(std::move(array));
}

std::span<const Gpu> ReduceTree::level(std::int32_t level) const {
  const std::size_t width = std::size_t{1} << level;
  return std::span(array_).subspan(width - 1, width);
}

std::vector<std::int32_t> ReduceTree::level_starts() const {
  std::vector<std::int32_t> starts;
  for (std::int32_t level = 0; level <= depth_ + 1; ++level)
    starts.push_back((1 << level) - 1);
  return starts;
}

std::vector<std::vector<GpuCopy>> ReduceTree::copies() const {
  std::vector<std::vector<GpuCopy>> levels;
  for (std::int32_t l = depth_; l > 0; --l) {
    std::vector<GpuCopy>& copies = levels.emplace_back();
    const auto gpus = level(l);
    for (std::size_t i = 0; i < gpus.size(); i += 2) {
      if (gpus[i] != gpus[i + 1]) copies.push_back({gpus[i + 1], gpus[i]});
    }
  }
  return levels;
}

float ReduceTree::weight(const LinkMatrix& weights) const {
  float sum = 0;
  for (const auto& level : copies()) {
    for (const GpuCopy& copy : level)
      sum += weights.at(copy.to, copy.from);
  }
  return sum;
}

std::vector<std::int64_t> tree_slices(std::int64_t rows, std::int64_t row, std::int64_t bound,
                                      Gpu gpus) {
  // As a quotient, because the product may exceed every integer.
  if (row == 0 || rows <= bound / row || rows < std::int64_t{2} * gpus) return {};
  std::vector<std::int64_t> slices(static_cast<std::size_t>(gpus), rows / gpus * row);
  slices.back() += rows % gpus * row;
  return slices;
}

}  // namespace steptime
