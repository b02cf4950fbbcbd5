// The links of a graph as configs list them: those inside a node, and those between switches.
#pragma once
#include "sim/config/config.h"
#include "sim/core/units.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace steptime {

/// Between two vertices, by their numbers.
struct StatedLink {
  std::int32_t first = 0;
  std::int32_t second = 0;
  Duration latency{};
  Bandwidth bandwidth{};  ///< per direction, of all parallel links together
  std::int64_t count = 1;
  std::string kind;  ///< "nvlink", "pcie", ...: for people
};

/// Those of the section's "links", between vertices with these names. Throws InputError.
std::vector<StatedLink> read_links(const Config& section,
                                   const std::map<std::string, std::int32_t>& by_name);

/// The keys "links" and "routes".
Param links_param();
Param routes_param();

}  // namespace steptime
