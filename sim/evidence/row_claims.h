// Published rows beside their simulation, on all threads, and how far off they are by group.
#pragma once
#include "sim/core/limits.h"
#include "sim/evidence/claim_row.h"
#include "sim/evidence/published_rows.h"
#include "sim/evidence/recorded_step.h"

#include <string>
#include <vector>

namespace steptime {

/// Those that are experiments, in order; `of_claims` has what all of them share. A row whose
/// experiment is refused is left out. Throws InputError.
std::vector<ClaimRow> simulate_rows(const RowMapping& mapping, const ClaimRow& of_claims,
                                    const std::vector<Json>& rows, const OnProgress& on_progress);
/// The others, and why, in order.
std::vector<RowLeftOut> rows_left_out(const RowMapping& mapping, const std::vector<Json>& rows);

/// What traces/layouts.jsonl is made of: those that are predicted, each system a testbed.
std::vector<RecordedStep> record_rows(const RowMapping& mapping, const std::string& config,
                                      const std::vector<Json>& rows, const OnProgress& on_progress);

/// What traces/memory.jsonl is made of.
std::vector<RecordedMemory> memory_rows(const RowMapping& mapping, const std::string& config,
                                        const std::vector<Json>& rows,
                                        const OnProgress& on_progress);

/// The mapping's effects both of whose rows are there.
std::vector<RowEffect> effects_of(const RowMapping& mapping, const std::vector<ClaimRow>& rows);

/// A table by family and group: rows in the mean, how many are fitted, errors of the predicted
/// ones; the effects; then what is left out and why. "" for no rows.
std::string row_groups_text(const std::vector<ClaimRow>& rows,
                            const std::vector<RowLeftOut>& left_out,
                            const std::vector<RowEffect>& effects = {});

}  // namespace steptime
