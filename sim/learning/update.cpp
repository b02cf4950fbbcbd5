#include "sim/learning/update.h"

#include <algorithm>

namespace steptime {

void descend(Weights weights, Pushed gradients, const Descent& descent) {
  for (std::size_t i = 0; i < weights.w.size(); ++i) {
    weights.velocity[i] = descent.momentum * weights.velocity[i] -
                          descent.rate * (gradients.sum[i] / gradients.count);
    weights.w[i] += weights.velocity[i];
  }
}

std::int64_t Update::exchanges_in(std::int64_t steps) const {
  std::int64_t sum = 0;
  for (std::int64_t step = 0; step < steps; ++step)
    sum += exchanges(step) ? 1 : 0;
  return sum;
}

void Update::on_client(std::span<double> w, std::span<const double> pulled) const {
  std::copy(pulled.begin(), pulled.end(), w.begin());
}

}  // namespace steptime
