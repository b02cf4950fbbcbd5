// Published figures as runnable data: the "claims" of the experiments in configs/papers/. A claim
// says where the figure stands, how to simulate it, from which inputs, and whether any of them was
// fitted to the same source.
#pragma once
#include "sim/config/json.h"
#include "sim/core/limits.h"
#include "sim/evidence/claim_row.h"
#include "sim/evidence/collective_record.h"
#include "sim/evidence/recorded_step.h"
#include "sim/evidence/row_rankings.h"
#include "sim/evidence/size_map.h"

#include <string>
#include <vector>

namespace steptime {

/// The claims of one experiment file whose paper or id contains `filter`, simulated; progress is
/// that of single runs. Throws InputError.
std::vector<ClaimRow> simulate_claims(const std::string& path, const std::string& filter = "",
                                      const OnProgress& on_progress = {});

/// Those whose paper, group or id contains `filter`, without a run.
std::vector<RowLeftOut> rows_left_out(const std::string& filter, const std::string& folder = "");

/// The maps of its claims whose paper or own id contains `filter`. Throws InputError.
std::vector<SizeMap> simulate_maps(const std::string& path, const std::string& filter = "",
                                   const OnProgress& on_progress = {});

/// Throws InputError where these would, without the runs that learn.
void check_claims(const std::string& path, const OnProgress& on_progress);

/// All files below `folder`, by file name; "": the shipped configs/papers.
std::vector<ClaimRow> reproduce(const std::string& filter, const std::string& folder = "",
                                const OnProgress& on_progress = {});

/// What traces/record.jsonl is made of.
std::vector<RecordedStep> recorded_steps(const std::string& filter, const std::string& folder = "",
                                         const OnProgress& on_progress = {});

/// What traces/layouts.jsonl is made of.
std::vector<RecordedStep> recorded_rows(const std::string& filter, const std::string& folder = "",
                                        const OnProgress& on_progress = {});

/// What traces/memory.jsonl is made of.
std::vector<RecordedMemory> recorded_memory(const std::string& filter,
                                            const std::string& folder = "",
                                            const OnProgress& on_progress = {});

/// What changes between rows of files of rows do, of those among `rows`.
std::vector<RowEffect> row_effects(const std::vector<ClaimRow>& rows,
                                   const std::string& folder = "");

/// How ways to do one thing are ranked, of those among `rows`.
std::vector<RowRanking> row_rankings(const std::vector<ClaimRow>& rows,
                                     const std::string& folder = "");

/// What traces/collectives.jsonl is made of.
std::vector<CollectiveTable> recorded_tables(const std::string& filter,
                                             const std::string& folder = "",
                                             const OnProgress& on_progress = {});

std::vector<SizeMap> reproduce_maps(const std::string& filter, const std::string& folder = "",
                                    const OnProgress& on_progress = {});

}  // namespace steptime
