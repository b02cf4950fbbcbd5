// How workers differ in speed.
#pragma once
#include "sim/config/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

/// Factors on compute times, 1 + sd * z with z about normal, at least 0.1.
struct Variation {
  double spread = 0;           ///< sd between workers, for the whole run
  double jitter = 0;           ///< sd from step to step
  double straggle_chance = 0;  ///< per worker and step, of taking straggle_factor times as long
  double straggle_factor = 1;
  /// Runs, with the seeds s, s + 1, ...: what is told of a run are means over them.
  std::int64_t seeds = 1;

  bool any() const { return spread > 0 || jitter > 0 || straggle_chance > 0; }
  /// Of a worker in a step.
  double factor(std::int64_t seed, std::int64_t worker, std::int64_t step) const;
  /// Expected of the slowest of so many workers in a step, about: each waits for all others.
  double of_slowest(std::int64_t workers) const;
  /// No factor is larger.
  double most() const { return (1 + 6 * spread) * (1 + 6 * jitter) * straggle_factor; }
};

/// "variation" of the `run` section: an object, or the name of a preset.
Variation read_variation(const Config& run);
const Params& variation_params();
std::vector<std::string> variation_presets();

}  // namespace steptime
