#include "sim/experiment/used_path.h"

#include <algorithm>
#include <string>

namespace steptime {

CollectivePath used_path(const Experiment& e, const Result& result) {
  const bool sends = e.cluster->workers() > 1 && e.aggregation->servers.count == 0;
  if (!sends) return {};
  if (const auto* known = dynamic_cast<const HasPath*>(e.aggregation->inside.get()))
    return known->path();
  CollectivePath path;
  if (e.cluster->nodes == 1 || !e.cluster->node) return path;
  for (const Topology::VertexInfo& vertex : e.cluster->node->vertices()) {
    if (vertex.kind != VertexKind::kNic) continue;
    const bool carries =
        std::any_of(result.links.begin(), result.links.end(), [&](const LinkUse& link) {
          return link.bytes > 0 && (link.from == vertex.name || link.to == vertex.name);
        });
    if (carries) ++path.adapters;
  }
  return path;
}

}  // namespace steptime
