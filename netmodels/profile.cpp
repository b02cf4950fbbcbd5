// An all-reduce as it was measured on the machine at hand: piecewise alpha-beta, with intervals
// that reach the prediction.
//
// Scope: the number of ranks that was measured; no contention. Outside of the measured sizes the
// nearest line is prolonged, and the result says so ("domain").
// Parameters: file (a profile, as `steptime calibrate fit` writes it; default: the cluster's
// preset), operation. Validation: tests/sim/evidence/curve_fit_test.cpp, and `steptime replay`.
#include "sim/collective/profile.h"

#include "sim/collective/collective.h"
#include "sim/config/word_list.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{{.key = "file",
                      .kind = Kind::kPath,
                      .help = "a profile; default: the cluster's preset",
                      .need = Need::kOptional},
                     {.key = "operation",
                      .kind = Kind::kText,
                      .help = "which of its operations",
                      .need = Need::kDefault,
                      .fallback = "all-reduce"}};

std::unique_ptr<Collective> make_profile(const Config& c, const Cluster& cluster) {
  if (!c.has("file") && cluster.profile.empty())
    c.fail("file", "required but missing: the cluster's preset has no measured operations");
  const std::string file = c.has("file") ? c.get<std::string>("file") : cluster.profile;
  const MeasuredOperations operations = read_operations(file);
  const auto found = operations.find(c.get<std::string>("operation"));
  if (found == operations.end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : operations)
      known.push_back(name);
    c.fail("operation",
           fmt::format("unknown {}; {} has {}", brief(c.raw("operation")), file, listed(known)));
  }
  if (found->second.ranks != cluster.workers()) {
    c.fail("operation", fmt::format("{} was measured on {} ranks, the cluster has {} workers", file,
                                    found->second.ranks, cluster.workers()));
  }
  return std::make_unique<MeasuredCollective>(found->second, file);
}

const bool kRegistered = Collectives::instance().add(
    "profile", "measured on the machine at hand, with intervals", kParams, make_profile);

}  // namespace
}  // namespace steptime
