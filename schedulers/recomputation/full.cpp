// A layer keeps its input only, and the backward pass computes it again, its exchanges included.
//
// Parameters: every (the first of each so many layers is computed again), or layers, by number.
// Source: Chen et al., 1604.06174; Megatron-LM --recompute-granularity full,
// --recompute-num-layers.
#include "sim/config/json.h"
#include "sim/layouts/recomputation.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

class Every final : public Recomputation {
 public:
  explicit Every(std::int64_t every) : every_(every) {}
  Recomputed of(std::int64_t layer) const override {
    return layer % every_ == 0 ? Recomputed::kLayer : Recomputed::kNothing;
  }

 private:
  std::int64_t every_;
};

class Listed final : public Recomputation {
 public:
  /// Sorted.
  explicit Listed(std::vector<std::int64_t> layers) : layers_(std::move(layers)) {}
  Recomputed of(std::int64_t layer) const override {
    return std::binary_search(layers_.begin(), layers_.end(), layer) ? Recomputed::kLayer
                                                                     : Recomputed::kNothing;
  }
  std::int64_t highest() const override { return layers_.empty() ? -1 : layers_.back(); }

 private:
  std::vector<std::int64_t> layers_;
};

std::unique_ptr<Recomputation> read(const Config& c) {
  if (!c.has("layers")) return std::make_unique<Every>(c.get<std::int64_t>("every"));
  if (c.node().contains("every")) c.fail("every", "unexpected, as \"layers\" names them");
  std::vector<std::int64_t> layers;
  const Json& list = c.raw("layers");
  if (!list.is_array())
    c.fail("layers", fmt::format("found {}, expected a list of numbers of layers", brief(list)));
  for (const Json& layer : list) {
    if (!layer.is_number_integer() || layer < 0) {
      c.fail("layers",
             fmt::format("found {}, expected numbers of layers, from 0 on", brief(layer)));
    }
    layers.push_back(layer.get<std::int64_t>());
  }
  std::sort(layers.begin(), layers.end());
  if (const auto twice = std::adjacent_find(layers.begin(), layers.end()); twice != layers.end())
    c.fail("layers", fmt::format("found {} twice, expected each once", *twice));
  return std::make_unique<Listed>(std::move(layers));
}

const bool kRegistered = Recomputations::instance().add(
    "full", "whole layers are computed again from their inputs",
    {{.key = "every",
      .kind = Kind::kInteger,
      .help = "the first of each so many layers is computed again",
      .need = Need::kDefault,
      .fallback = 1,
      .unless = {"layers"},
      .range = {.low = 1, .high = 1e6}},
     {.key = "layers",
      .kind = Kind::kList,
      .help = "numbers of those that are, from 0 on; default: by \"every\"",
      .need = Need::kOptional}},
    read);

}  // namespace
}  // namespace steptime
