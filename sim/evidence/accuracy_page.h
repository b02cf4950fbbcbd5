// docs/accuracy.md: published figures beside their simulation, and what the record covers.
#pragma once
#include "sim/evidence/claims.h"

#include <span>
#include <string>
#include <vector>

namespace steptime {

/// What the page is made of. Only `rows` need be there.
struct AccuracyParts {
  std::vector<ClaimRow> rows;
  std::vector<RowLeftOut> left_out;
  std::vector<RowEffect> effects;
  std::vector<RowRanking> rankings;
  std::vector<RecordedStep> layouts;
  std::vector<RecordedMemory> memory;
  std::vector<SizeMap> maps;
  std::vector<RecordedStep> steps;
  std::vector<CollectiveTable> collectives;
};

/// Markdown: totals, each paper's figures with the reason of each miss and what was fitted, the
/// rows of language models, the record with what it covers and what it does not, measured
/// collectives.
std::string accuracy_page(const AccuracyParts& parts);

}  // namespace steptime
