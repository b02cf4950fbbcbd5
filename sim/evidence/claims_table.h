// Claims beside their simulations, as a table for people and as CSV.
#pragma once
#include "sim/evidence/claims.h"

#include <string>
#include <vector>

namespace steptime {

/// With a paragraph for each that is missed or has alternatives, and totals.
std::string claims_table(const std::vector<ClaimRow>& rows);
/// The keys of ClaimRow::json() but the alternatives.
std::string claims_csv(const std::vector<ClaimRow>& rows);

}  // namespace steptime
