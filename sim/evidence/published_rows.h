// Published rows of training runs: which model was trained how on what, and how fast. A file of
// rows keeps their sources' own fields; a mapping, in the "rows" of an experiment's claims, says
// what these fields stand for in a config.
//
// Units: a row's value is a step time, tokens a second and GPU, or operations a second and GPU by
// one of three conventions; compared are step times, in seconds. Or it is what the fullest rank
// allocates, in GiB, which is compared with the simulated memory.
// Source: each row's "source". The conventions: SEMANTICS section M2, and step_time_of().
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace steptime {

/// How operations are counted that a row's operations a second are made of.
enum class FlopsCount {
  kHardware,  ///< with full recomputation, attention without its mask: 2104.04473 section 3.2
  kWhole,     ///< three forward passes, attention without its mask: 2205.05198 appendix A
  kMasked     ///< three forward passes, half of attention: Megatron-Core
};

/// Floating-point operations of a step of so many samples, by the sizes in a row's "model".
double step_flops(const Json& model, double samples, double sequence, FlopsCount count);

/// What a row is as an experiment.
struct RowExperiment {
  Json config;
  double published = 0;  ///< the step in s, or the memory in GiB
  bool is_memory = false;
  bool is_bound = false;                  ///< the step takes at most that long
  std::optional<double> tolerance_pct{};  ///< its group's own
  std::string group;                      ///< the row's own
  std::string family;                     ///< devices and precisions that the table shows together
  std::string assumed;                    ///< what its source does not say
  std::string reason;                     ///< why rows like it are missed, where that is known
};

/// Why a row is no experiment.
struct LeftOut {
  std::string reason;
  bool counts = false;  ///< it could be one, and counts as 50 % off
};

/// The "rows" section of claims.
const Params& rows_params();

class RowMapping {
 public:
  /// `base`: the experiment that holds the claims. Throws InputError.
  RowMapping(const Json& base, const Config& section);
  /// The rows of the file. Throws InputError.
  const std::vector<Json>& rows() const { return rows_; }
  std::variant<RowExperiment, LeftOut> experiment(const Json& stated) const;
  /// Changes that are compared between two rows: "what", "of", "over", "within", and maybe
  /// "missed_because".
  const Json& effects() const { return effects_; }
  /// Ways to do one thing: "what", "rows" (how their ids begin), "most_chosen", "least_tau".
  const Json& rankings() const { return rankings_; }

 private:
  std::optional<LeftOut> left_out(const Json& row) const;
  double published_of(const Json& row, const Json& group) const;
  void set_model(Json& config, const Json& row) const;
  void set_layout(Json& config, const Json& row, const Json& group) const;

  Json base_;
  Json mapping_;
  Json effects_;
  Json rankings_;
  std::vector<Json> rows_;
};

/// The ids of rows that the shipped devices and stacks are fitted on, and by whom.
std::map<std::string, std::string> fitted_rows();

}  // namespace steptime
