// What a collective takes, size by size, in nccl-tests' terms, beside what was measured.
#pragma once
#include "sim/collective.h"
#include "sim/config.h"
#include "sim/measurements.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

struct CollectiveRow {
  std::int64_t bytes = 0;
  double time_us = 0;
  double algbw_gbps = 0;  ///< GB/s (1e9): bytes / time
  double busbw_gbps =
      0;               ///< algbw x 2 (n - 1) / n for an all-reduce: what a link of a ring carries
  std::string choice;  ///< how it travels; "" when that does not depend on size
  std::string outside_domain;
  std::optional<double> measured_us;

  /// (simulated - measured) / measured, when measured.
  double error_pct() const { return (time_us - *measured_us) / *measured_us * 100; }
};

/// The cluster and the collective of an experiment; its other sections are not read.
class CollectiveModel {
 public:
  /// Throws InputError.
  explicit CollectiveModel(const std::shared_ptr<const Document>& document);
  CollectiveRow row(std::int64_t bytes) const;
  const Cluster& cluster() const { return *cluster_; }

 private:
  std::shared_ptr<const Cluster> cluster_;
  std::shared_ptr<const Collective> collective_;
};

struct CollectiveErrors {
  std::size_t sizes = 0;
  double geomean_pct = 0;  ///< exp(mean |ln(simulated / measured)|) - 1
  double worst_pct = 0;    ///< signed, the largest by ratio
  std::int64_t worst_bytes = 0;
};

/// Of the rows that have a measured time; `powers_of_two`: only of sizes that are one.
CollectiveErrors errors(std::span<const CollectiveRow> rows, bool powers_of_two);

/// nccl-tests' columns, and a summary of the errors when there are measured times.
std::string collective_text(std::span<const CollectiveRow> rows);
std::string collective_csv(std::span<const CollectiveRow> rows);
Json collective_json(std::span<const CollectiveRow> rows);
/// One line for all sizes and one for the powers of two.
std::string error_summary(std::span<const CollectiveRow> rows);

}  // namespace steptime
