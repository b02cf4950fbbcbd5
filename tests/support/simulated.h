// Experiments ready to simulate.
#pragma once
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/tiny_experiment.h"

#include <string>
#include <vector>

namespace steptime {

inline Experiment tiny_experiment(const TinyFolder& folder, const std::string& patch = "{}") {
  return read_experiment(load_document(folder.experiment(patch), {}));
}

inline std::vector<SentBucket> sent_buckets(const Experiment& experiment) {
  std::vector<SentBucket> buckets;
  simulate(experiment, &buckets);
  return buckets;
}

}  // namespace steptime
