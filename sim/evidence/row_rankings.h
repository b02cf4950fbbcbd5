// Ways to do one thing, ranked by their simulated steps and by their published ones.
#pragma once
#include "sim/evidence/claim_row.h"
#include "sim/evidence/published_rows.h"

#include <string>
#include <vector>

namespace steptime {

struct RowRanking {
  std::string what;
  std::size_t rows = 0;
  double chosen = 0;  ///< published step of the one simulated as the fastest, over the fastest one
  double tau = 0;     ///< Kendall's: pairs that agree less those that do not, over all pairs
  double most_chosen = 0;
  double least_tau = 0;

  bool ok() const { return chosen <= most_chosen && tau >= least_tau; }
};

/// Of each of the mapping's rankings, those among `rows`; none of fewer than two.
std::vector<RowRanking> rankings_of(const RowMapping& mapping, const std::vector<ClaimRow>& rows);

/// A table; "" for none.
std::string rankings_text(const std::vector<RowRanking>& rankings);

}  // namespace steptime
