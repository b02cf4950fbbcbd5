// Sweeps of the tiny experiment.
#pragma once
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/sweeps/sweep.h"
#include "tests/support/tiny_experiment.h"

#include <string>

namespace steptime {

/// `sweep`: the section of that name.
inline Sweep sweep_of(const TinyFolder& folder, const std::string& sweep) {
  return Sweep(load_document(folder.experiment("{\"sweep\": " + sweep + "}"), {}));
}

}  // namespace steptime
