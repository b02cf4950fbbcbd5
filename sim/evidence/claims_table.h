// Claims beside their simulations, as a table for people and as CSV.
#pragma once
#include "sim/evidence/claims.h"

#include <string>
#include <vector>

namespace steptime {

/// A figure, published or simulated: a word, or a number to four digits.
std::string shown(const Json& value);
/// With a paragraph for each that is missed or has alternatives, and totals.
std::string claims_table(const std::vector<ClaimRow>& rows);
/// The keys of ClaimRow::json() but the alternatives.
std::string claims_csv(const std::vector<ClaimRow>& rows);

}  // namespace steptime
