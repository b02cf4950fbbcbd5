// Double binary tree: half of the data along each of NCCL's two trees, in chunks that follow each
// other: the reduction of all chunks, then their broadcast. An inner rank has two children, whose
// messages share its port, and its device adds both up. With k = log2 N, rounded up, and both
// halves cut into C chunks of s bytes, a tree is a pipeline of k - 1 such levels and the single
// link of its root:
//
//   T = 2 (k + C - 2)(alpha + 2 s beta) + 2 (alpha + s beta) + (2 (k + C - 2) + 1) s gamma
//
// and for two ranks T = C (2 (alpha + s beta) + s gamma). When the first r chunks are a byte
// longer, that byte counts in the r + k - 2 steps in which one of them is under way (exact to a
// byte). Scope: no other traffic. Equal to the messages where N and C make it come out even: N a
// power of two. For other N some levels have fewer messages, and T is an upper bound, by two chunks
// at most (for three ranks, which are a chain, by one in each step). Just beyond a multiple of the
// chunk size one more, smaller chunk can be faster; the messages then are, and T stays at what it
// was. Parameters: chunk [B], second_tree (NCCL's rule up to 2.7.8, which for odd N has the same
// ranks inside both trees, or from 2.8.4). Source: Sanders, Speck, Traff, "Two-tree algorithms for
// full bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009); NCCL for the trees.
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

TreePlace second_up_to_278(Rank rank, Rank n) {
  return second_tree(rank, n, SecondTree::kUpTo278);
}
TreePlace second_from_284(Rank rank, Rank n) {
  return second_tree(rank, n, SecondTree::kFrom284);
}

class DoubleBinaryTree final : public Collective {
 public:
  DoubleBinaryTree(const Config& c, const Cluster& cluster)
      : ranks_(static_cast<Rank>(cluster.workers())),
        levels_(static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks_ - 1)))),
        alpha_(to_seconds(cluster.bottleneck().latency)),
        beta_(inverse(cluster.bottleneck().bandwidth).seconds_per_byte),
        gamma_(cluster.reduction.seconds_per_byte),
        chunk_(c.get<Bytes>("chunk").count),
        second_(c.get<std::string>("second_tree") == "2.7.8" ? second_up_to_278 : second_from_284) {
  }

  Duration time(Bytes m) const override {
    if (ranks_ == 1) return {};
    const std::int64_t half = ceil_div(m.count, 2);
    const std::int64_t chunks = chunks_of(half);
    const double now = seconds(chunks, half);
    const double before = chunks == 1 ? 0 : seconds(chunks - 1, (chunks - 1) * chunk_);
    return from_seconds(std::max(now, before));
  }
  Duration startup() const override { return time(Bytes{0}); }

  Programs programs(Bytes m) const override {
    Programs programs;
    for (int tree = 0; tree < 2; ++tree) {
      const Slice half = part_of({0, m.count}, tree, 2);
      programs.push_back(
          tree_all_reduce(ranks_, half, chunks_of(half.bytes), tree == 0 ? first_tree : second_));
    }
    return programs;
  }

 private:
  static constexpr std::int64_t kMostChunks = 1 << 20;

  std::int64_t chunks_of(std::int64_t half) const {
    return std::clamp(ceil_div(half, chunk_), std::int64_t{1}, kMostChunks);
  }
  /// `half`: bytes along each tree.
  double seconds(std::int64_t chunks, std::int64_t half) const {
    const auto s = static_cast<double>(half / chunks);
    const auto c = static_cast<double>(chunks);
    const auto longer = static_cast<double>(half % chunks);
    const double root = 2 * (alpha_ + s * beta_) + s * gamma_;
    if (ranks_ == 2) return c * root + longer * (2 * beta_ + gamma_);
    const double whole = 2 * (levels_ + c - 2) * (alpha_ + s * (2 * beta_ + gamma_)) + root;
    if (longer == 0) return whole;
    return whole + (longer + levels_ - 2) * 2 * (2 * beta_ + gamma_) + beta_;
  }

  Rank ranks_;
  double levels_;
  double alpha_;
  double beta_;
  double gamma_;
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
