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
      {"lamb", 13, 2, 0},
      {"sgd-momentum-foreach", 8, 1, 0},
      {"adam-foreach", 18, 2, 0},
      {"adamw-foreach", 20, 2, 0},
      // m * mu 2, + g 3; w - m 3.
      {"sgd-momentum-loop", 8, 1, 3},
      // m * b1 2, + g 3; v * b2 2, + g^2 3; sqrt v 2, + e 2; w - m / it 4.
      {"adam-loop", 18, 2, 7},
      {"adamw-loop", 20, 2, 8},  // and decay * w 2
      // Two norms 1 + 1, m * b1 2, + g 3, v * b2 2, + g^2 3, sqrt v 2, + e 2, m / it 3, decay * w
      // 2, sum 3, * rate 2, negative 2, w + it 3; and the norms' clipping, by a factor on the host.
      {"bert-adam", 31, 2, 14}};
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
