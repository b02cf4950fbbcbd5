// A published figure beside its simulation, and one that is not simulated.
#pragma once
#include "sim/config/json.h"

#include <map>
#include <string>

namespace steptime {

/// One published figure beside its simulation.
struct ClaimRow {
  std::string id;
  std::string paper;
  std::string quantity;
  std::string unit;
  std::string relation;  ///< "=", ">=" or "<="
  Json published;        ///< a number, or an ordering such as "A < B"
  Json simulated;
  double error_pct = 0;  ///< signed error of a simulated number, in per cent of the published one
  double tolerance_pct = 0;
  std::string kind;  ///< "predicted" or "fitted"
  bool ok = false;
  std::string config;  ///< the experiment's file, relative to the data folder
  std::string where;   ///< in the source
  std::string inputs;
  std::string fitted;  ///< which input was fitted, and to what; "" for none
  std::string note;
  std::string reason;  ///< why it is missed, or ""
  Json alternatives;   ///< the same figure under other conventions: {label: simulated}
  /// Of a file of rows, those with the same family are averaged together; else "".
  std::string family;
  std::string group;  ///< the same: of one source
  /// The step needs no more memory than there is; only a file of rows says otherwise.
  bool fits = true;
  /// The same: what the step's time was spent on, s.
  std::map<std::string, double> spent{};

  Json json() const;
};

/// A change between two rows of a file of rows: what it does to their steps, beside the same of
/// their simulation.
struct RowEffect {
  std::string what;
  std::string of;
  std::string over;
  double published = 0;  ///< the ratio of the steps of `of` and `over`
  double simulated = 0;
  double within = 0;
  bool ok = false;
  bool is_fitted = false;  ///< rates are fitted to one of both
  std::string moves;       ///< which seconds it moves, and how many
  std::string reason;      ///< why it is missed, or ""
};

/// A row of its claims' file of rows that is no experiment.
struct RowLeftOut {
  std::string id;
  std::string group;
  std::string reason;
  bool counts = false;  ///< it could be one, and counts as 50 % off
};

}  // namespace steptime
