// A collective given by measurement as a line: T(M) = a + b M.
//
// Scope: one number of workers, the one that it was fitted on; no contention.
// Parameters: a [s], b [s/B].
// Source: 004 equation 9.
#include "sim/collective/collective.h"

#include <memory>

namespace steptime {
namespace {

const Params kParams{{.key = "a",
                      .kind = Kind::kTime,
                      .help = "startup time of the whole collective",
                      .range = kNotNegative},
                     {.key = "b",
                      .kind = Kind::kTimePerByte,
                      .help = "time of one more byte",
                      .range = kNotNegative}};

const bool kRegistered = Collectives::instance().add(
    "linear", "a measured line: a + b M", kParams, [](const Config& c, const Cluster&) {
      return std::make_unique<LinearCollective>(
          LinearCost{c.get<Duration>("a"), c.get<TimePerByte>("b")});
    });

}  // namespace
}  // namespace steptime
