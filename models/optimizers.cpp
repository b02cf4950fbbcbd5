#include "models/optimizers.h"

#include <algorithm>
#include <stdexcept>

namespace steptime {
namespace {

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> all{{"sgd", 3},  // reads gradient and weight, writes weight
                                          {"sgd-momentum", 5},  // and the momentum
                                          {"adam", 7},          // two moments
                                          {"adamw", 7},
                                          {"sgd-momentum-foreach", 8, false},
                                          {"adam-foreach", 18, false},
                                          {"adamw-foreach", 20, false}};
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
