#include "models/optimizers.h"

#include <algorithm>
#include <stdexcept>

namespace steptime {
namespace {

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> all{
      {"sgd", 3, 0},           // reads gradient and weight, writes weight
      {"sgd-momentum", 5, 1},  // and the momentum
      {"adam", 7, 2},          // two moments
      {"adamw", 7, 2},
      // Norms of gradients, weights and updates (3 reads), the update from gradient, weight and
      // moments (4 reads, 3 writes), and the weights by it (2 reads, a write).
      {"lamb", 13, 2, false},
      {"sgd-momentum-foreach", 8, 1, false},
      {"adam-foreach", 18, 2, false},
      {"adamw-foreach", 20, 2, false}};
  return all;
}

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
