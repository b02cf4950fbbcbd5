// Double binary tree: half of the data along each of NCCL's two trees, reduction and broadcast, in
// chunks that follow each other.
//
//   a = 2 alpha log2 N      b = 2 beta + gamma
//
// Scope of this closed form: the limit of many ranks and many small chunks, with the reduction and
// the broadcast overlapped. The messages are chunks of the given size; every tree reduces
// all of its chunks before it broadcasts them, ranks take one chunk after the other, and the two
// trees share the ports. Parameters: chunk [B], second_tree (NCCL's rule up to 2.7.8, which for odd
// N has the same ranks inside both trees, or from 2.8.4). Source: Sanders, Speck, Traff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009); NCCL
// for the trees.
#include "netmodels/programs.h"
#include "sim/collective.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "chunk",
                      .kind = Kind::kBytes,
                      .help = "what follows each other through a tree",
                      .need = Need::kDefault,
                      .fallback = "512 KiB",
                      .range = kPositive},
                     {.key = "second_tree",
                      .kind = Kind::kText,
                      .help = "NCCL's rule up to 2.7.8, or from 2.8.4",
                      .need = Need::kDefault,
                      .fallback = "2.8.4",
                      .words = {"2.7.8", "2.8.4"}}};

LinearCost cost(const Cluster& cluster) {
  const auto rounds =
      static_cast<double>(std::bit_width(static_cast<std::uint64_t>(cluster.workers() - 1)));
  const double beta = inverse(cluster.bottleneck().bandwidth).seconds_per_byte;
  return {from_seconds(2 * rounds * to_seconds(cluster.bottleneck().latency)),
          {2 * beta + cluster.reduction.seconds_per_byte}};
}

TreePlace second_up_to_278(Rank rank, Rank n) {
  return second_tree(rank, n, SecondTree::kUpTo278);
}
TreePlace second_from_284(Rank rank, Rank n) {
  return second_tree(rank, n, SecondTree::kFrom284);
}

class DoubleBinaryTree final : public LinearCollective {
 public:
  DoubleBinaryTree(const Config& c, const Cluster& cluster)
      : LinearCollective(cost(cluster)),
        ranks_(static_cast<Rank>(cluster.workers())),
        chunk_(c.get<Bytes>("chunk").count),
        second_(c.get<std::string>("second_tree") == "2.7.8" ? second_up_to_278 : second_from_284) {
  }

  Programs programs(Bytes m) const override {
    Programs programs;
    for (int tree = 0; tree < 2; ++tree) {
      const Slice half = part_of({0, m.count}, tree, 2);
      const std::int64_t chunks =
          std::clamp(ceil_div(half.bytes, chunk_), std::int64_t{1}, kMostChunks);
      programs.push_back(tree_all_reduce(ranks_, half, chunks, tree == 0 ? first_tree : second_));
    }
    return programs;
  }

 private:
  static constexpr std::int64_t kMostChunks = 1 << 20;
  Rank ranks_;
  std::int64_t chunk_;
  TreePlace (*second_)(Rank, Rank);
};

const bool kRegistered = Collectives::instance().add(
    "double-binary-tree", "half of the data along each of NCCL's two trees, in chunks", kParams,
    [](const Config& c, const Cluster& cluster) {
      return std::make_unique<DoubleBinaryTree>(c, cluster);
    });

}  // namespace
}  // namespace steptime
