// Link matrices, planners of trees by name, and the known answers of MXNet's.
#pragma once
#include "sim/collective/reduce_tree.h"
#include "sim/config/json.h"
#include "sim/network/link_matrix.h"
#include "tests/support/config_text.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace steptime {

/// tests/netmodels/trees/<name>.json, and one of its parts.
inline Json tree_cases(const std::string& name) {
  const std::string file =
      std::string(STEPTIME_SOURCE_DIR) + "/tests/netmodels/trees/" + name + ".json";
  return parse_json(read_file(file), file);
}
inline Json tree_cases(const std::string& name, const std::string& part) {
  return tree_cases(name).at(part);
}
/// One of MXNet's unit tests, and its cases.
inline Json mxnet_test(const std::string& name) {
  for (const Json& test : tree_cases("mxnet_topology_cases", "unit_tests")) {
    if (test.at("test") == name) return test;
  }
  throw std::out_of_range(name);
}
inline Json mxnet_cases(const std::string& name) {
  return mxnet_test(name).at("cases");
}

inline LinkMatrix matrix_of(const Json& rows) {
  LinkMatrix matrix(static_cast<Gpu>(rows.size()));
  for (Gpu i = 0; i < matrix.gpus(); ++i) {
    for (Gpu j = 0; j < matrix.gpus(); ++j)
      matrix.at(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  return matrix;
}
/// What MXNet builds trees from on a p3.16xlarge.
inline LinkMatrix p3_weights() {
  return matrix_of(
      tree_cases("mxnet_topology_cases").at("matrices").at("p3_16xlarge_used_weights_nvlink_only"));
}

inline std::unique_ptr<TreePlanner> mxnet_planner(bool backtracks, double penalty) {
  const Json json{{"type", backtracks ? "backtracking" : "kernighan-lin"}, {"penalty", penalty}};
  return make<TreePlanner>(json.dump());
}

/// Whether every GPU but the root sends exactly once, and receives nothing in that level or after
/// it: then the root ends with each GPU's contribution exactly once.
inline bool sums_once(const ReduceTree& tree, Gpu gpus) {
  std::vector<int> sends(static_cast<std::size_t>(gpus));
  for (const auto& level : tree.copies()) {
    for (const GpuCopy& copy : level)
      ++sends[static_cast<std::size_t>(copy.from)];
    for (const GpuCopy& copy : level) {
      if (sends[static_cast<std::size_t>(copy.to)] > 0) return false;
    }
  }
  for (Gpu gpu = 0; gpu < gpus; ++gpu) {
    if (sends[static_cast<std::size_t>(gpu)] != (gpu == tree.root() ? 0 : 1)) return false;
  }
  return true;
}

}  // namespace steptime
