// Tree: the GPUs of a node add up along balanced binary trees that fit the links between them, and
// send the sum back the same way, as MXNet's kvstore does with MXNET_KVSTORE_USETREE. An array of
// at most `array_bound` takes the tree of GPU 0. A larger one is cut by whole rows, and slice i
// takes the tree of GPU i, all at once. Over a pair with latency alpha and bandwidth B, while no
// link is shared:
//
//   up     T(v) = max(T(left), T(right) + alpha + M / B) + gamma M      for every sum of the tree
//   down   T(child) = when the parent has M and has sent it to those before + alpha + M / B
//
// One tree takes the time of its messages. Several take the longer of two: their messages without
// sums and then the sums of one path, or the sums alone, each GPU one after the other. From -30 to
// +29 % of the messages over random GPUs and planners, from -7 to +13 % on the presets; which of
// two slices a GPU adds first depends on a picosecond, so that the messages' own time jumps with
// the bandwidth. The time must not decrease, either, as schedules rely on it: where several trees
// are faster than one at the bound, the time at the bound stands for them, and every slice counts
// as equally long where the last has up to N - 1 rows more.
//
// Scope: one node of 1 to 16 GPUs; no other traffic. Left out: the copies of a GPU to itself, which
// kvstore needs before and after, and the host's time for each operation. A GPU has a buffer for
// every level; the one buffer of MXNet 1.3.1 makes a copy wait for the sum before.
// Parameters: planner (how trees are found), detection (what CUDA says of the links), array_bound
// (MXNET_KVSTORE_TREE_ARRAY_BOUND, 10,000,000 elements, here of 4 B), row (of the array; a slice is
// made of whole rows, and two for each GPU are needed).
// Validation: tests/netmodels/trees. Source: apache/mxnet 1.3.1 src/kvstore/comm_tree.h,
// gpu_topology.h; proposal 003.
#include "netmodels/trees/tree.h"

#include "netmodels/trees/gpu_tree_program.h"
#include "sim/collective/collective_player.h"
#include "sim/collective/message_collective.h"
#include "sim/collective/reduce_tree.h"
#include "sim/network/link_matrix.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
const Params& tree_params() {
  static const Params params{
      {.key = "planner",
       .kind = Kind::kObject,
       .help = "how trees are found",
       .need = Need::kDefault,
       .fallback = Json{{"type", "kernighan-lin"}},
       .choice = TreePlanner::kNoun},
      {.key = "detection",
       .kind = Kind::kText,
       .help = "the links that CUDA reports: all; two NVLinks as PCIe, as 9.2 did; or "
               "that as MXNet 1.5 mends it",
       .need = Need::kDefault,
       .fallback = "exact",
       .words = detection_words()},
      {.key = "array_bound",
       .kind = Kind::kBytes,
       .help = "the largest array that takes one tree; more take one for each GPU",
       .need = Need::kDefault,
       .fallback = "40 MB",
       .range = {.low = 0, .high = 1e15}},
      {.key = "row",
       .kind = Kind::kBytes,
       .help = "what is not cut: a row of the array",
       .need = Need::kDefault,
       .fallback = "4 B",
       .range = {.low = 1, .high = 1e15}}};
  return params;
}

std::vector<ReduceTree> read_trees(const Config& c, const Cluster& cluster) {
  if (cluster.nodes != 1 || cluster.gpus_per_node > TreePlanner::kMostGpus) {
    c.fail("type", fmt::format("trees are for one node of at most {} GPUs, got {} of {}",
                               TreePlanner::kMostGpus, cluster.nodes, cluster.gpus_per_node));
  }
  const auto planner = TreePlanners::instance().make(c, "planner");
  const LinkDetection detection = detection_named(c.get<std::string>("detection"));
  if (cluster.gpus_per_node == 1) return {ReduceTree({0, 0, 0})};  // with nothing to copy
  return planner->plan(link_weights(detected(link_codes(cluster), detection)));
}

namespace {

Cluster without_sums(Cluster cluster) {
  cluster.reduction = {};
  return cluster;
}
/// Copies take no time.
Cluster with_sums_only(const Cluster& cluster) {
  return {.gpus_per_node = cluster.gpus_per_node,
          .intra_node = {Duration{}, {1e24}},
          .reduction = cluster.reduction};
}

/// A slice of so many bytes along each of the trees, all at once.
class Slices final : public MessageCollective {
 public:
  Slices(const Cluster& cluster, const std::vector<ReduceTree>& trees)
      : MessageCollective(cluster), trees_(trees) {}
  Programs programs(Bytes slice) const override {
    Programs programs;
    std::int64_t offset = 0;
    for (const ReduceTree& tree : trees_) {
      programs.push_back(std::make_unique<GpuTreeProgram>(tree, static_cast<Rank>(trees_.size()),
                                                          Slice{offset, slice.count}));
      offset += slice.count;
    }
    return programs;
  }

 private:
  const std::vector<ReduceTree>& trees_;
};

constexpr ErrorBound kOfSums{-.35, .35};

class Tree final : public MessageCollective {
 public:
  Tree(const Config& c, const Cluster& cluster)
      : MessageCollective(cluster),
        trees_(read_trees(c, cluster)),
        copies_(without_sums(cluster), trees_),
        sums_(with_sums_only(cluster), trees_),
        reduction_(cluster.reduction),
        ranks_(static_cast<Rank>(cluster.workers())),
        bound_(c.get<Bytes>("array_bound").count),
        row_(c.get<Bytes>("row").count),
        first_cut_(row_ * std::max<std::int64_t>(bound_ / row_ + 1, std::int64_t{2} * ranks_)) {}

  Duration time(Bytes m) const override {
    return m.count < first_cut_ ? MessageCollective::time(m)
                                : std::max(of_equal_slices(m), of_largest_whole());
  }
  std::optional<ErrorBound> error_bound() const override {
    if (ranks_ == 1) return std::nullopt;
    // Slices of q rows and a last one with up to N - 1 more, for which all count as q + 1.
    const auto n = static_cast<double>(ranks_);
    const std::int64_t rows = first_cut_ / row_ / ranks_;
    const auto q = static_cast<double>(rows);
    const double whole = to_seconds(of_largest_whole());
    const double cut = to_seconds(MessageCollective::time({first_cut_}));
    const ErrorBound sums = adds_up() ? kOfSums : ErrorBound{};
    return ErrorBound{(1 + sums.least) * q / (q + n - 1) - 1,
                      std::max(whole / cut, (1 + sums.most) * (1 + 1 / q)) - 1};
  }
  std::string outside_domain(Bytes m) const override {
    if (m.count < first_cut_) return "";
    if (of_equal_slices(m) < of_largest_whole()) {
      return "an array that takes several trees, which are faster: the time of the largest that "
             "takes one stands for it";
    }
    return adds_up() ? "what several trees add up hides under transfer, which is only estimated; "
                       "\"message\" fidelity plays every message"
                     : "";
  }
  std::string choice(Bytes m) const override {
    const auto slices = this->slices(m.count);
    return slices.empty() ? "one tree" : fmt::format("{} trees", slices.size());
  }

  Programs programs(Bytes m) const override {
    auto slices = this->slices(m.count);
    if (slices.empty()) slices.push_back(m.count);
    Programs programs;
    Slice slice;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      slice = {slice.offset + slice.bytes, slices[i]};
      programs.push_back(std::make_unique<GpuTreeProgram>(trees_[i], ranks_, slice));
    }
    return programs;
  }

 private:
  /// Bytes of each tree; empty: the first one takes all.
  std::vector<std::int64_t> slices(std::int64_t bytes) const {
    auto slices = tree_slices(bytes / row_, row_, bound_, ranks_);
    if (!slices.empty()) slices.back() += bytes % row_;
    return slices;
  }

  /// With two GPUs no sum has another to hide under.
  bool adds_up() const { return reduction_.seconds_per_byte > 0 && ranks_ > 2; }
  Duration of_equal_slices(Bytes m) const {
    const std::int64_t slice = ceil_div(m.count, row_ * ranks_) * row_;
    const Duration of_path = reduction_time(trees_.front().depth() * slice, reduction_);
    return std::max(copies_.time({slice}) + of_path, sums_.time({slice}));
  }
  Duration of_largest_whole() const { return MessageCollective::time({first_cut_ - 1}); }

  std::vector<ReduceTree> trees_;
  Slices copies_;
  Slices sums_;
  TimePerByte reduction_;
  Rank ranks_;
  std::int64_t bound_;
  std::int64_t row_;
  std::int64_t first_cut_;  ///< bytes of the smallest array that takes several trees
};

const bool kRegistered = Collectives::instance().add(
    "tree", "MXNet's trees over the links of a node: one, or for a large array one for each GPU",
    tree_params(),
    [](const Config& c, const Cluster& cluster) { return std::make_unique<Tree>(c, cluster); });

}  // namespace
}  // namespace steptime
