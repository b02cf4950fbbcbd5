#include "sim/network/node_numbers.h"

#include <limits>

#include <fmt/format.h>

namespace steptime {

std::vector<std::int64_t> read_node_numbers(const Config& config, const std::string& key) {
  const Json& list = config.raw(key);
  const auto refuse = [&](const Json& found) {
    config.fail(key,
                fmt::format("expected a list of node numbers, whole and from 0 to one less than "
                            "there are nodes, got {}",
                            brief(found)));
  };
  if (!list.is_array()) refuse(list);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> nodes;
  for (const Json& node : list) {
    if (!node.is_number_unsigned() || node.get<std::uint64_t>() > kMost) refuse(node);
    nodes.push_back(node.get<std::int64_t>());
  }
  return nodes;
}

}  // namespace steptime
