// What `steptime report --trees` prints.
#pragma once
#include "sim/network/cluster.h"

#include <optional>
#include <string>

namespace steptime {

struct TreeQuestion {
  std::string planner = "kernighan-lin";
  std::optional<double> penalty;  ///< the planner's own by default
  std::string gpus;               ///< numbers with commas between them; empty: all of a node
  std::string detection = "exact";
};

/// The trees of a node's GPUs. `format`: "table", with the copies of each level and the number of
/// the GPUs in the node, or "json", with MXNet's arrays, whose numbers are places in "gpus". Throws
/// InputError, and ModelFailure where there is no tree.
std::string tree_report(const Cluster& cluster, const TreeQuestion& question,
                        const std::string& format);

}  // namespace steptime
