// What a collective takes, size by size, in nccl-tests' terms, beside what was measured.
#pragma once
#include "sim/collective/collective.h"
#include "sim/collective/link_use.h"
#include "sim/collective/message_time.h"
#include "sim/config/config.h"
#include "sim/evidence/collective_record.h"
#include "sim/evidence/measurements.h"

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
  double algbw_gbps = 0;   ///< GB/s (1e9): bytes / time
  double busbw_gbps = 0;   ///< algbw x bus_factor()
  std::int64_t parts = 1;  ///< the data consists of, as nccl-tests counts elements
  bool sums = true;
  std::string choice;  ///< how it travels; "" when that does not depend on size
  std::string outside_domain;
  std::optional<double> measured_us;
  /// What is known of its worth, from assess().
  std::optional<CollectiveAssessment> worth{};

  /// (simulated - measured) / measured, when measured.
  double error_pct() const { return (time_us - *measured_us) / *measured_us * 100; }
};

/// What nccl-tests multiplies algbw by to get busbw, what a link of a ring carries, for n ranks.
double bus_factor(Operation operation, std::int64_t n);

/// The cluster, the collective and the fidelity of an experiment; its other sections are not read.
/// Parameter servers count as a way to all-reduce: a push and a pull of the whole.
class CollectiveModel {
 public:
  /// Throws InputError.
  explicit CollectiveModel(std::shared_ptr<const Document> document, OnProgress on_progress = {});
  /// Throws InputError.
  CollectiveRow row(std::int64_t bytes) const;
  /// By the measured tables of its kind; none for what was measured on the cluster itself, and,
  /// unless `is_strict`, where neither GPUs nor a table say what the links stand for. Throws
  /// InputError.
  std::optional<CollectiveAssessment> worth(std::int64_t bytes, bool is_strict) const;
  /// Throws InputError.
  std::vector<LinkUse> links(std::int64_t bytes) const;
  const Cluster& cluster() const { return *cluster_; }
  Operation operation() const { return collective_->operation(); }
  /// What the rows are of, as comment lines of a table.
  std::string title() const;

  /// Of several jobs, the nodes and the strategy are the first one's: a line that says so, or "".
  const std::string& whose() const { return whose_; }

 private:
  /// Of the document, on the cluster.
  void read_collective();
  Duration time(Bytes bytes) const;
  /// `of(bytes)`, with the file in front of what it refuses.
  template <class Function>
  auto placed(Bytes bytes, Function of) const;

  std::shared_ptr<const Document> document_;  ///< where there are several jobs, the first one's
  std::string whose_;
  std::shared_ptr<const Cluster> cluster_;
  std::shared_ptr<const Collective> collective_;
  OnProgress on_progress_;                  ///< hears how far one size has come
  std::unique_ptr<MessageTimes> messages_;  ///< null at analytic fidelity
};

struct CollectiveErrors {
  std::size_t sizes = 0;
  double geomean_pct = 0;  ///< exp(mean |ln(simulated / measured)|) - 1
  double worst_pct = 0;    ///< signed, the largest by ratio
  std::int64_t worst_bytes = 0;
};

/// Of the rows that have a measured time; `powers_of_two`: only of sizes that are one.
CollectiveErrors errors(std::span<const CollectiveRow> rows, bool powers_of_two);

/// The domain and the interval of the rows that have a worth, as a comment line for each class of
/// sizes.
std::string worth_text(std::span<const CollectiveRow> rows);

/// nccl-tests' columns, and a summary of the errors when there are measured times.
std::string collective_text(std::span<const CollectiveRow> rows);
std::string collective_csv(std::span<const CollectiveRow> rows);
Json collective_json(std::span<const CollectiveRow> rows);
/// What a collective of `bytes` carries over each link, the one that limits it first.
std::string links_text(std::int64_t bytes, std::span<const LinkUse> links);
/// One line for all sizes and one for the powers of two.
std::string error_summary(std::span<const CollectiveRow> rows);

}  // namespace steptime
