// Pure MPI: one client holds all workers, and there are no servers.
#include "sim/servers/aggregation.h"

#include <memory>

namespace steptime {
namespace {

const Params kParams{{.key = "collective",
                      .kind = Kind::kObject,
                      .help = "the cost of one all-reduce",
                      .need = Need::kDefault,
                      .fallback = Json{{"type", "ring"}},
                      .choice = Collective::kNoun}};

const bool kRegistered =
    Aggregations::instance().add(
        "all-reduce", "a collective among all workers", kParams,
        [](const Config& c, const Cluster& cluster) {
          return std::make_unique<Aggregation>(Aggregation{.inside = read_collective(c, cluster)});
        }) &&
    Aggregations::instance().set_default("all-reduce");

}  // namespace
}  // namespace steptime
