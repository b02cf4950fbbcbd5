#include "sim/workload/variation.h"

#include "sim/core/random.h"

#include <algorithm>

namespace steptime {

double Variation::factor(std::int64_t seed, std::int64_t worker, std::int64_t step) const {
  const auto w = static_cast<std::uint32_t>(worker);
  const auto s = static_cast<std::uint32_t>(step);
  double factor = 1;
  if (spread > 0) {
    factor *= std::max(0.1, 1 + spread * RandomStream(seed, Purpose::kWorkerSpeed).normal(w, 0));
  }
  if (jitter > 0) {
    factor *= std::max(0.1, 1 + jitter * RandomStream(seed, Purpose::kStepTime).normal(w, s));
  }
  if (straggle_chance > 0 &&
      RandomStream(seed, Purpose::kStraggler).uniform(w, s) < straggle_chance) {
    factor *= straggle_factor;
  }
  return factor;
}

const Bindings<Variation>& variation_keys() {
  using V = Variation;
  static const Bindings<V> keys{
      {&V::spread, "spread", "standard deviation of speed between workers", 0, between(0, 1)},
      {&V::jitter, "jitter", "standard deviation of a worker's speed between steps", 0,
       between(0, 1)},
      {&V::straggle_chance, "straggle_chance", "of a worker in a step", 0, between(0, 1)},
      {&V::straggle_factor, "straggle_factor", "how much longer a straggler computes", 1,
       between(1, 1e6)},
      {&V::seeds, "seeds", "how often the run is repeated, with seed, seed + 1, ...", 1,
       between(1, 1e6)}};
  return keys;
}

}  // namespace steptime
