#include "sim/layouts/roads.h"

#include "sim/runtime/mediums.h"

namespace steptime {

std::unique_ptr<Medium> AloneRoads::medium(std::int32_t, GroupKind, const Collective& collective) {
  return std::make_unique<AloneMedium>(
      world_, collective, [&collective](Bytes bytes) { return collective.time(bytes); }, nullptr);
}

}  // namespace steptime
