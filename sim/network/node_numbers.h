// Nodes of a cluster by their numbers, as configs list them.
#pragma once
#include "sim/config/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

/// The value of `key`: a list of whole numbers from 0 on, which may be beyond the nodes that
/// there are: who knows these says so. Throws InputError.
std::vector<std::int64_t> read_node_numbers(const Config& config, const std::string& key);

}  // namespace steptime
