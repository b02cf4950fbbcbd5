#include "models/optimizers.h"

#include "sim/config/registry.h"

#include <algorithm>
#include <stdexcept>

namespace steptime {
namespace {

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> all{
      {"sgd", "gradient and weight are read, the weight is written", 3, 0},
      {"sgd-momentum", "and its momentum is read and written", 5, 1},
      {"adam", "two moments, each value read and written once", 7, 2},
      {"adamw", "the same, with decoupled weight decay", 7, 2},
      {"distributed-fused-adam",
       "adam as Apex shards it, which keeps 2 B of a weight in float32 beside the 2 B of products",
       7, 2, 0, true},
      // Norms of gradients, weights and updates (3 reads), the update from gradient, weight and
      // moments (4 reads, 3 writes), and the weights by it (2 reads, a write).
      {"lamb", "as Apex does it, in a few kernels over all tensors", 13, 2, 0},
      {"sgd-momentum-foreach", "in a few kernels over all tensors, as PyTorch does", 8, 1, 0},
      {"adam-foreach", "in a few kernels over all tensors, as PyTorch does", 18, 2, 0},
      {"adamw-foreach", "in a few kernels over all tensors, as PyTorch does", 20, 2, 0},
      // m * mu 2, + g 3; w - m 3.
      {"sgd-momentum-loop", "kernels for each tensor, as PyTorch did before 1.9", 8, 1, 3},
      // m * b1 2, + g 3; v * b2 2, + g^2 3; sqrt v 2, + e 2; w - m / it 4.
      {"adam-loop", "kernels for each tensor, as PyTorch did before 1.9", 18, 2, 7},
      // and decay * w 2
      {"adamw-loop", "kernels for each tensor, as PyTorch did before 1.9", 20, 2, 8},
      // Two norms 1 + 1, m * b1 2, + g 3, v * b2 2, + g^2 3, sqrt v 2, + e 2, m / it 3, decay * w
      // 2, sum 3, * rate 2, negative 2, w + it 3; and the norms' clipping, by a factor on the host.
      {"bert-adam", "of BERT's reference code, kernels for each tensor", 31, 2, 14}};
  return all;
}

/// So that `list` shows them.
class Names final : public Catalogue {
 public:
  Names() : Catalogue("optimizer") {
    for (const Optimizer& optimizer : optimizers())
      add_item(optimizer.name, optimizer.help, {});
  }
};
const Names kNames;

}  // namespace

const Optimizer& optimizer_named(const std::string& name) {
  const auto found = std::find_if(optimizers().begin(), optimizers().end(),
                                  [&](const Optimizer& o) { return o.name == name; });
  if (found == optimizers().end()) throw std::out_of_range(name);
  return *found;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : optimizers())
    names.push_back(optimizer.name);
  return names;
}

}  // namespace steptime
