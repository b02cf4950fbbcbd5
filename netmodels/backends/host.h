// Collectives among hosts that GPUs copy to and from.
#pragma once
#include "sim/collective/collective.h"

#include <memory>

namespace steptime {

struct HostCopies {
  TimePerByte copy;         ///< between a GPU and its host, in each direction
  Duration call{};          ///< what one copy takes besides its bytes
  std::int64_t before = 1;  ///< copies to the host; one goes back
  TimePerByte reduction;    ///< gamma of the host
};

/// `plain`, whose gamma is the host's, between the copies.
std::shared_ptr<const Collective> on_host(std::shared_ptr<const Collective> plain,
                                          const HostCopies& copies);

}  // namespace steptime
