// Message fidelity against a flow-level simulator on the platform on which both must agree.
#include "netmodels/programs.h"
#include "sim/config/json.h"
#include "tests/support/play.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::unique_ptr<Program> program_of(const std::string& name, Rank n, std::int64_t bytes) {
  if (name == "ring") return ring_all_reduce(n, {0, bytes});
  if (name == "recursive-doubling") return recursive_doubling(n, {0, bytes});
  return halving_doubling(n, {0, bytes});
}

/// In ms, with alpha 50 us and beta 0.8 ns.
double closed_form(const std::string& name, Rank n, double bytes) {
  const double alpha = 0.05;
  const double transfer = bytes * 0.8e-6;
  const double rounds = std::log2(n);
  if (name == "ring") return 2 * (n - 1) * (alpha + transfer / n);
  if (name == "recursive-doubling") return rounds * (alpha + transfer);
  return 2 * rounds * alpha + 2 * (n - 1.0) / n * transfer;
}

TEST(FlowSimulator, AgreesOnAStar) {
  const std::string file = std::string(STEPTIME_TESTS_DIR) + "/validation/flow_simulator.json";
  const Json table = parse_json(read_file(file), file);
  int checked = 0;
  for (const Json& row : table.at("rows")) {
    const auto name = row.at("collective").get<std::string>();
    const auto bytes = row.at("bytes").get<std::int64_t>();
    for (const auto& [ranks, published] : row.at("ms").items()) {
      const auto n = static_cast<Rank>(std::stoi(ranks));
      const double ms =
          static_cast<double>(play(program_of(name, n, bytes), star_cluster(n))) / 1e9;
      EXPECT_NEAR(ms / published.get<double>(), 1, table.at("tolerance").get<double>())
          << name << ", " << n << " ranks, " << bytes << " B";
      ++checked;
      // The closed form counts parts of a byte; messages do not.
      if (bytes % n == 0) {
        EXPECT_NEAR(ms / closed_form(name, n, static_cast<double>(bytes)), 1, 1e-6)
            << name << ", " << n << " ranks, " << bytes << " B";
      }
    }
  }
  EXPECT_EQ(checked, 32);
}

}  // namespace
}  // namespace steptime
