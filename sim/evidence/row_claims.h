// Published rows beside their simulation, on all threads, and how far off they are by group.
#pragma once
#include "sim/core/limits.h"
#include "sim/evidence/claim_row.h"
#include "sim/evidence/published_rows.h"

#include <string>
#include <vector>

namespace steptime {

/// Those that are experiments, in order; `of_claims` has what all of them share. A row whose
/// experiment is refused is left out. Throws InputError.
std::vector<ClaimRow> simulate_rows(const RowMapping& mapping, const ClaimRow& of_claims,
                                    const std::vector<Json>& rows, const OnProgress& on_progress);
/// The others, and why, in order.
std::vector<RowLeftOut> rows_left_out(const RowMapping& mapping, const std::vector<Json>& rows);

/// A table by family and group: rows in the mean, how many are fitted, errors of the predicted
/// ones; then what is left out and why. "" for no rows.
std::string row_groups_text(const std::vector<ClaimRow>& rows,
                            const std::vector<RowLeftOut>& left_out);

}  // namespace steptime
