// How good times of collectives have been: measured tables beside simulated ones, as `steptime
// reproduce --collectives` writes them to traces/collectives.jsonl. A collective by itself gets its
// domain and an interval from them, as a step does from published steps.
//
// A table is of a collective's kind where library with the releases that estimate alike, operation,
// generation of the GPUs, fabric (one node or several) and class of sizes, below or from 1 MiB, are
// the same. The interval is time x exp(+-w): w = t rms, the root mean square over tables of the rms
// of their ln(measured / simulated), and Student's t (97.5 %) for as many tables. Where fewer than
// three are of the kind, those of any fabric, then of any GPUs, then of any operation count, too.
// A kind is validated where it has a table, none of whose sizes is more than a third off, and links
// less than twice as fast or slow as a table's: Hopper's NVLink between GPUs that are said to be
// Blackwell's is none of its own.
//
// Scope: a table's times may have been fitted to some of its rows; the claims under
// configs/papers/collectives say which.
#pragma once
#include "sim/collective/collective.h"
#include "sim/experiment/track_record.h"

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace steptime {

struct CollectiveKind {
 private:
  auto compared() const {
    return std::tie(library, operation, compute_capability, fabric, nodes, is_large);
  }

 public:
  std::string library;    ///< as KindOfStep says
  std::string operation;  ///< "all-reduce", ...
  std::int64_t compute_capability = 0;
  std::string fabric;  ///< as KindOfStep says
  std::string nodes;
  bool is_large = false;  ///< from 1 MiB on
  /// Of a GPU's links in a node that says them, else the fabric's as KindOfStep has it; 0: not
  /// known. Kinds do not differ by it.
  double rate_gbps = 0;
  auto operator<=>(const CollectiveKind& other) const { return compared() <=> other.compared(); }
  bool operator==(const CollectiveKind& other) const { return compared() == other.compared(); }
  std::string text() const;
};

std::string operation_name(Operation operation);

/// The kind of one of `bytes` on the cluster of an experiment. Throws InputError.
CollectiveKind collective_kind(const std::shared_ptr<const Document>& document,
                               const Cluster& cluster, Operation operation, std::int64_t bytes);

/// The sizes of one class of a measured table.
struct CollectiveTable {
  std::string id;  ///< the claim that the table belongs to
  CollectiveKind kind;
  std::int64_t ranks = 1;
  std::int64_t sizes = 0;
  double rms = 0;    ///< root of the mean square of ln(measured / simulated)
  double worst = 0;  ///< the largest of their absolute values
};

struct CollectiveAssessment {
  std::int64_t tables = 0;            ///< measured tables of the same kind
  std::vector<std::string> beyond{};  ///< why it is not validated
  double factor = 1;                  ///< exp(w)

  std::string word() const {
    return beyond.empty() ? "validated" : tables > 0 ? "extrapolated" : "unvalidated";
  }
};

class CollectiveRecord {
 public:
  explicit CollectiveRecord(std::vector<CollectiveTable> tables) : tables_(std::move(tables)) {}
  /// traces/collectives.jsonl. Throws InputError when it cannot be read.
  static const CollectiveRecord& shipped();

  CollectiveAssessment assess(const CollectiveKind& kind, std::int64_t ranks) const;

 private:
  std::vector<CollectiveTable> tables_;
};

/// The file's text: a JSON object for each table, on a line of its own.
std::string collective_record_text(std::span<const CollectiveTable> tables);
/// For people: a line for each kind.
std::string collective_record_table(std::span<const CollectiveTable> tables);
/// Throws InputError.
std::vector<CollectiveTable> parse_collective_record(const std::string& text,
                                                     const std::string& file);

}  // namespace steptime
