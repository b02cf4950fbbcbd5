// How good predictions of a kind have been: published step times beside simulated ones, as
// `steptime reproduce --record` writes them to traces/record.jsonl. A result gets its domain and an
// interval from them.
//
// Predictions are of one kind where the same system works over the same transport and a network of
// the same class. Errors grow with the share that communication has in a step, so they are compared
// per share; every testbed counts alike, however many rows it has. With
//
//   error e = published / simulated step - 1 where the simulation is faster, 1 - simulated /
//             published step where it is slower
//   share c = 1/10 + min(1, max(busy communication / compute, exposed communication / step))
//   q-, q+    the 2.5 and 97.5 % quantiles of e / c, at most and at least 0
//   f         1.03 (1 + worst error of the device's modelled times, 62 % where fewer than five rows
//             tell it); 1.03: by how much steps differ that no share explains
//
// the interval of a step reaches from step / (f (1 - w q- c)) to step f (1 + w q+ c), but not below
// compute / f. w = 1 with quantiles of its own kind, 3/2 with those of its system over any network,
// 2 with those of all rows.
//
// Where of a network only a range of rates is known, the interval spans it, too: its upper end is
// what communication would take longer at the slowest rate later, its lower end what exposed
// communication would take less at the fastest earlier.
//
// Scope: the form and its numbers were chosen with all rows in view. A row's own testbed is left
// out where `reproduce --record` tells how many rows lie within their interval.
#pragma once
#include "sim/config/json.h"
#include "sim/workload/workload.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// c above of a step that communicates nothing.
inline constexpr double kLeastShare = 0.1;

struct PredictionKind {
  std::string system;     ///< who adds gradients up, such as "all-reduce"
  std::string transport;  ///< channel and coordinator, such as "wire, horovod"
  std::string network;    ///< "one node", or a class of line rate such as "up to 10 Gbit/s"
  auto operator<=>(const PredictionKind&) const = default;
  std::string text() const;
};

/// The class of a network between `nodes` with this line rate.
std::string network_class(std::int64_t nodes, double bytes_per_second);

/// What a domain and an interval depend on.
struct Prediction {
  std::shared_ptr<const PredictionKind> kind;
  std::int64_t workers = 1;
  double step_s = 0;
  double compute_s = 0;
  double comm_busy_s = 0;
  std::optional<ModelErrors> modelled{};  ///< of the compute times; none: measured ones
  std::vector<std::string> beyond{};      ///< what a part of the simulation extrapolates
  /// Ends of what is known of the network's rate, over the simulated one.
  double slowest_rate = 1;
  double fastest_rate = 1;
  /// c above.
  double share() const;
};

/// A published step beside its simulation.
struct RecordRow {
  std::string id;
  std::string testbed;
  PredictionKind kind;
  std::int64_t workers = 1;
  double share = 0;      ///< c above
  double error_pct = 0;  ///< published over simulated step, - 100 %
};

/// How much a result is worth.
struct Validity {
  enum class Status : std::uint8_t {
    kValidated,     ///< three measurements at least of its kind, on two testbeds at least
    kExtrapolated,  ///< beyond what these cover
    kUnvalidated    ///< no measurement of its kind
  };
  Status status = Status::kUnvalidated;
  std::int64_t n = 0;      ///< measurements of its kind
  double typical_pct = 0;  ///< their median absolute error
  double worst_pct = 0;
  std::vector<std::string> beyond{};  ///< reasons

  bool is_validated() const { return status == Status::kValidated; }
  std::string_view word() const;
  /// "validated", or "extrapolated: reason; reason".
  std::string text() const;
  /// {"status", "n", "typical_pct", "worst_pct", "beyond"}
  std::string json() const;
  void append_json(std::string& text) const;
  /// What text() says, from what json() wrote.
  static std::string text(const Json& json);
};

/// Ends of an interval that holds what would be measured with 95 %.
struct Interval {
  double low = 0;
  double high = 0;
};

struct Assessment {
  Validity domain;
  Interval step_s;
};

class TrackRecord {
 public:
  explicit TrackRecord(std::vector<RecordRow> rows);
  /// traces/record.jsonl. Throws InputError when it cannot be read.
  static const TrackRecord& shipped();

  Assessment assess(Prediction prediction) const;
  /// The measurements of a kind, in the order of the file.
  std::vector<RecordRow> rows_of(const PredictionKind& kind) const;
  /// By rows of other testbeds only.
  Assessment assess_without(const std::string& testbed, const Prediction& prediction) const;

 private:
  struct Errors;  ///< of some rows together

  std::vector<RecordRow> rows_;
  std::map<PredictionKind, std::shared_ptr<const Errors>> by_kind_;
  /// Of a system and its transport, over any network; and with both empty, of all rows.
  std::map<PredictionKind, std::shared_ptr<const Errors>> wider_;
};

/// The file's text: a JSON object for each row, on a line of its own.
std::string record_text(std::span<const RecordRow> rows);
/// Throws InputError.
std::vector<RecordRow> parse_record(const std::string& text, const std::string& file);

}  // namespace steptime
