// Which rank holds which part of a model: ranks as coordinates of tensor, context, data and
// pipeline parallelism, and the groups of ranks that differ in some of these only.
//
// Source: Megatron-LM parallel_state.py (order "tp-cp-ep-dp-pp"); Llama 3 (2407.21783) section 3.3,
// "tensor-context-pipeline-data". The first dimension of the order is that of neighbouring ranks.
#pragma once
#include "sim/config/config.h"
#include "sim/core/units.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace steptime {

enum class Dimension : std::uint8_t { kTensor, kContext, kData, kPipeline };
inline constexpr std::size_t kDimensions = 4;

/// The place of a rank in each dimension.
using Coordinates = std::array<std::int32_t, kDimensions>;

class Layout {
 public:
  /// `degrees`: ranks in each dimension. `order`: the innermost dimension first, each once.
  Layout(Coordinates degrees, std::array<Dimension, kDimensions> order);

  std::int32_t degree(Dimension d) const { return degrees_[static_cast<std::size_t>(d)]; }
  std::int32_t tensor() const { return degree(Dimension::kTensor); }
  std::int32_t context() const { return degree(Dimension::kContext); }
  /// Replicas: groups of ranks that hold one whole model and work on samples of their own.
  std::int32_t data() const { return degree(Dimension::kData); }
  std::int32_t pipeline() const { return degree(Dimension::kPipeline); }
  std::int32_t ranks() const { return ranks_; }
  /// Those ranks that come first in this dimension, by the numbers that they have here.
  Layout without(Dimension d) const;

  std::int32_t rank(const Coordinates& at) const;
  Coordinates coordinates(std::int32_t rank) const;
  /// One of these.
  std::int32_t coordinate(std::int32_t rank, Dimension d) const {
    const auto i = static_cast<std::size_t>(d);
    return rank / strides_[i] % degrees_[i];
  }
  /// The ranks that differ from `of` in these dimensions only, in ascending order.
  std::vector<std::int32_t> group(std::int32_t of, std::span<const Dimension> in) const;

 private:
  Coordinates degrees_;
  std::array<Dimension, kDimensions> order_;
  Coordinates strides_{};
  std::int32_t ranks_ = 1;
};

/// What "strategy.layout" says.
struct LayoutSettings {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t context = 1;
  std::array<Dimension, kDimensions> order{};
  bool sequence_parallel = false;
};
const Params& layout_params();
/// Throws InputError.
LayoutSettings read_layout(const Config& section);
/// Of so many GPUs, as replicas of what the settings say. Throws InputError through the section for
/// a number that does not divide.
Layout layout_of(const Config& section, const LayoutSettings& settings, std::int64_t gpus);

/// How many of `layers` each of the pipeline's stages has, by layout.stages: "even", "short-ends"
/// (one fewer on the first and on the last stage, as Llama 3 and NeMo count embedding and loss as
/// layers), or the numbers. Throws InputError through the section.
std::vector<std::int64_t> layers_of_stages(const Config& section, std::int64_t layers,
                                           std::int64_t stages);

}  // namespace steptime
