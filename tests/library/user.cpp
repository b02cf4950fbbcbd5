// A program of another project: simulates the config that it is given.
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <iostream>

#include <fmt/format.h>

int main(int, char** argv) {
  const auto experiment = steptime::read_experiment(steptime::load_document(argv[1], {}));
  std::cout << fmt::format("{:016x}\n", steptime::simulate(experiment).fingerprint);
}
