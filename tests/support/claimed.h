// The tiny experiment with a claim.
#pragma once
#include "sim/evidence/claims.h"
#include "tests/support/tiny_experiment.h"

#include <string>

namespace steptime {

/// The tiny experiment with one claim: a figure with its step time, 44 ms, and a patch.
inline std::string claim_file(const TinyFolder& folder, const std::string& figure_patch,
                              const std::string& claims_patch = "{}") {
  Json figure = Json::parse(R"({"id": "T-1", "quantity": "step time", "unit": "s",
      "published": 0.044, "where": "table 1", "measure": {"value": "step_time_s"}})");
  figure.merge_patch(Json::parse(figure_patch));
  Json claims{{"paper", "tiny"}, {"source", "A book"}, {"inputs", "the trace"}};
  claims.merge_patch(Json::parse(claims_patch));
  claims["figures"].push_back(figure);
  return folder.experiment(Json{{"claims", claims}}.dump());
}

inline ClaimRow claim(const std::string& figure_patch, const std::string& claims_patch = "{}") {
  const TinyFolder folder;
  return simulate_claims(claim_file(folder, figure_patch, claims_patch)).at(0);
}

}  // namespace steptime
