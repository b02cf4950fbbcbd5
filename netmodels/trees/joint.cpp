// A tree for each root such that the busiest link carries as little as possible when all trees are
// used at once, each for an equal share of the data, as for an array that is cut into slices.
//
// The load of a link in one direction is the number of trees that use it over the number of its
// NVLinks. Trees are exchanged one at a time: a root takes the tree that adds least to the sum of
// load^p over all links, given the trees of the others, until no root finds a better one: for p = 2
// and then p = 8, once from MXNet's trees and once from the heaviest ones. The best of these stand.
//
// Scope: 2 to 16 GPUs; a local search, so that nothing says that there are no better trees; but
// they are never busier than MXNet's, neither on NVLinks nor on PCIe. A pair over PCIe counts as 1
// / n of an NVLink, as in the link matrix, one without a link as next to nothing. Parameters: none.
// Validation: p3.16xlarge is loaded with 1.5 trees per NVLink, where 56 copies over 48 links in one
// direction rule out 1 (tests/netmodels/trees/joint_test.cpp).
#include "netmodels/trees/backtracking.h"
#include "netmodels/trees/best_tree.h"
#include "netmodels/trees/kernighan_lin.h"
#include "sim/collective/link_load.h"
#include "sim/collective/reduce_tree.h"
#include "sim/core/error.h"

#include <cmath>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace steptime {
namespace {

using Trees = std::vector<ReduceTree>;

constexpr double kPowers[] = {2, 8};
constexpr int kMostRounds = 8;
constexpr Gpu kMostWithTwoStarts = 8;  ///< GPUs; beyond it would take seconds

class Improvement {
 public:
  Improvement(const LinkMatrix& weights, BestTrees& best, Trees trees, double power)
      : load_(weights), best_(best), trees_(std::move(trees)), power_(power) {
    for (const ReduceTree& tree : trees_)
      load_.add(tree, 1);
  }
  Trees run() {
    for (int round = 0; round < kMostRounds && improve_all(); ++round) {
    }
    return std::move(trees_);
  }

 private:
  /// Returns whether it has changed a tree for a better one.
  bool improve_all() {
    bool has_changed = false;
    for (ReduceTree& tree : trees_) {
      load_.add(tree, -1);
      best_.solve([&](Gpu from, Gpu to) { return -added(from, to); });
      ReduceTree found = best_.tree(tree.root());
      if (added(found) < added(tree) * (1 - kRounding)) {
        tree = std::move(found);
        has_changed = true;
      }
      load_.add(tree, 1);
    }
    return has_changed;
  }
  double added(Gpu from, Gpu to) const {
    return std::pow(load_.with(from, to, 1), power_) - std::pow(load_.with(from, to, 0), power_);
  }
  double added(const ReduceTree& tree) const {
    double sum = 0;
    for (const auto& level : tree.copies()) {
      for (const GpuCopy& copy : level)
        sum += added(copy.from, copy.to);
    }
    return sum;
  }

  static constexpr double kRounding = 1e-9;
  LinkLoad load_;
  BestTrees& best_;
  Trees trees_;
  double power_;
};

/// Trees and how busy they make the links.
struct Plan {
  Plan(const LinkMatrix& weights, Trees all) : trees(std::move(all)) {
    LinkLoad load(weights);
    for (const ReduceTree& tree : trees) {
      load.add(tree, 1);
      weight += tree.weight(weights);
    }
    busiest = load.busiest();
  }
  /// By what limits it most, which is PCIe where it is used.
  bool is_better_than(const Plan& other) const {
    return std::tuple(busiest.other, busiest.nvlink, -weight) <
           std::tuple(other.busiest.other, other.busiest.nvlink, -other.weight);
  }
  bool is_no_busier_than(const Plan& other) const {
    return busiest.other <= other.busiest.other && busiest.nvlink <= other.busiest.nvlink;
  }

  Trees trees;
  LinkLoad::Busiest busiest;
  float weight = 0;
};

/// MXNet's trees; where it has none, nothing.
std::optional<Plan> mxnet_plan(const LinkMatrix& weights) {
  try {
    return Plan(weights, plan_in_turn(weights, kMxnetPenalty, halving_or_backtracking));
  } catch (const ModelFailure&) {
    return std::nullopt;
  }
}

class Joint final : public TreePlanner {
 public:
  std::vector<ReduceTree> plan(const LinkMatrix& weights) const override {
    BestTrees search(weights.gpus());
    const std::optional<Plan> mxnet = mxnet_plan(weights);
    std::vector<Plan> starts;
    if (mxnet) starts.push_back(*mxnet);
    if (!mxnet || weights.gpus() <= kMostWithTwoStarts)
      starts.emplace_back(weights, search.heaviest(weights));
    Plan best = starts.front();
    for (const Plan& start : starts) {
      Plan plan = start;
      for (const double power : kPowers)
        plan = Plan(weights, Improvement(weights, search, std::move(plan.trees), power).run());
      if (plan.is_better_than(best) && (!mxnet || plan.is_no_busier_than(*mxnet)))
        best = std::move(plan);
    }
    return best.trees;
  }
};

const bool kRegistered = TreePlanners::instance().add(
    "joint", "trees of all roots together that keep the busiest link as free as they can", {},
    [](const Config&) { return std::make_unique<Joint>(); });

}  // namespace
}  // namespace steptime
