// The heaviest balanced binary tree of each root, whatever links other trees use; of equally heavy
// ones, one that needs the fewest copies over pairs without a link.
//
// Scope: 2 to 16 GPUs. A pair without a link weighs nothing, but it can be used, over whatever way
// there is; so that there is always a tree. Parameters: none. Validation: p3.16xlarge has a tree
// of weight 20 for every root (tests/netmodels/trees/optimal_test.cpp).
#include "netmodels/trees/best_tree.h"
#include "sim/collective/reduce_tree.h"

#include <memory>
#include <vector>

namespace steptime {
namespace {

class Optimal final : public TreePlanner {
 public:
  std::vector<ReduceTree> plan(const LinkMatrix& weights) const override {
    return BestTrees(weights.gpus()).heaviest(weights);
  }
};

const bool kRegistered = TreePlanners::instance().add(
    "optimal", "the heaviest tree of each root, by dynamic programming", {},
    [](const Config&) { return std::make_unique<Optimal>(); });

}  // namespace
}  // namespace steptime
