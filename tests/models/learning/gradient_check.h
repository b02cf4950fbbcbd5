// Checks that hold for every model that classifies digits.
#pragma once
#include "sim/learning/learning.h"
#include "tests/support/config_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {

/// 20 epochs of plain SGD with batches of 8 reach the accuracy on the test images.
inline void expect_learns(const std::string& problem, double accuracy) {
  const Convergence c{.problem = make<Problem>(problem), .epochs = 20, .batch = 8};
  Batches batches(c, 1, 1);
  std::vector<double> w = c.problem->initial(1);
  std::vector<double> g(w.size());
  const double before = c.problem->test(w).accuracy;
  for (std::int64_t step = 0; step < c.steps(1); ++step) {
    c.problem->gradient(w, batches.batch(0, step), g);
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] -= 0.2 * g[i];
  }
  EXPECT_LT(before, 0.3);
  EXPECT_GE(c.problem->test(w).accuracy, accuracy);
}

}  // namespace steptime
