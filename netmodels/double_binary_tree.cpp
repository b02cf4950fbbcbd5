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
// byte). In general the first chunk passes level after level, each as long as its slowest message
// while the level sends alone; every further chunk adds a step in which all levels send, over the
// links that they share. Scope: no other traffic.
//
// C makes T least among the numbers of chunks of at most `chunk`, up to kMostFast; where so many
// are longer than `chunk`, C is the least that fits.
//
// Equal to the messages, but for bytes, for N a power of two with a link each. For other N, and
// several GPUs per node, some messages wait less or more. Measured against them without gamma: up
// to 33 nodes of one GPU from -10 to +6 %, 2 to 8 nodes of 2, 4 or 8 GPUs from -6 to +13 %, of 3,
// 5, 6 or 7 GPUs to +30 %. Where adding up takes longer than sending it overlaps in part: to +46 %.
//
// Parameters: chunk [B], second_tree (NCCL's rule up to 2.7.8, which for odd N has the same ranks
// inside both trees, or from 2.8.4). Source: Sanders, Speck, Traff, "Two-tree algorithms for full
// bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009); NCCL for the trees.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steptime {
namespace {

const Params kParams{{.key = "chunk",
                      .kind = Kind::kBytes,
                      .help = "the most that follows each other through a tree",
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

constexpr ErrorBound kOfOneGpu{-.10, .06};
constexpr ErrorBound kOfSums{-.10, .46};
constexpr ErrorBound kOfSeveralGpus{-.06, .33};

/// How many levels of a tree lie below the rank.
std::size_t height(TreePlace (*tree)(Rank, Rank), Rank rank, Rank n) {
  std::size_t most = 0;
  for (const Rank down : tree(rank, n).down) {
    if (down >= 0) most = std::max(most, 1 + height(tree, down, n));
  }
  return most;
}

/// What both trees send up, by the sender's height, or down, by the sender's.
using Levels = std::vector<std::vector<Sent>>;
Levels levels_of(TreePlace (*second)(Rank, Rank), Rank n, bool up) {
  Levels levels;
  for (const auto tree : {first_tree, second}) {
    for (Rank r = 0; r < n; ++r) {
      const Rank parent = tree(r, n).up;
      if (parent < 0) continue;
      const std::size_t level = up ? height(tree, r, n) : height(tree, parent, n) - 1;
      if (levels.size() <= level) levels.resize(level + 1);
      levels[level].push_back(up ? Sent{r, parent} : Sent{parent, r});
    }
  }
  return levels;
}

/// The time of a chunk in each of its steps through the trees, alone and in a row of chunks.
struct Way {
  std::vector<Envelope> levels;  ///< from the leaves to the root
  Envelope step;
};
Way way_of(const RoundLinks& links, const Levels& levels) {
  Way way;
  std::vector<Sent> all;
  for (const auto& level : levels) {
    way.levels.push_back(links.time(level).slowest);
    all.insert(all.end(), level.begin(), level.end());
  }
  way.step = links.time(all).slowest;
  // Levels that are not known are as those before the root.
  const auto depth =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(links.workers() - 1)));
  while (way.levels.size() > 1 && std::ssize(way.levels) < depth)
    way.levels.insert(way.levels.end() - 1, *(way.levels.end() - 2));
  return way;
}

class DoubleBinaryTree final : public MessageCollective {
 public:
  DoubleBinaryTree(const Config& c, const Cluster& cluster)
      : MessageCollective(cluster),
        ranks_(static_cast<Rank>(cluster.workers())),
        links_(cluster),
        gamma_(cluster.reduction.seconds_per_byte),
        chunk_(c.get<Bytes>("chunk").count),
        second_(c.get<std::string>("second_tree") == "2.7.8" ? second_up_to_278 : second_from_284) {
    if (ranks_ == 1) return;
    const auto known = static_cast<Rank>(std::min(links_.known(), links_.workers()));
    up_ = way_of(links_, levels_of(second_, known, true));
    down_ = way_of(links_, levels_of(second_, known, false));
  }

  Duration time(Bytes m) const override {
    if (ranks_ == 1) return {};
    const std::int64_t half = ceil_div(m.count, 2);
    const std::int64_t chunks = chunks_of(half);
    const double now = seconds(chunks, half);
    if (chunks <= kMostFast) return from_seconds(now);
    // As few as fit: the largest size that fits into a chunk less may take longer.
    return from_seconds(std::max(now, seconds(chunks - 1, (chunks - 1) * chunk_)));
  }
  std::string outside_domain(Bytes) const override {
    return what_is_left_out(links_, !error_bound());
  }
  std::optional<ErrorBound> error_bound() const override {
    if (!links_.has_ports()) return kOfSeveralGpus;
    if (unfolded(ranks_) == ranks_) return std::nullopt;
    return gamma_ > 0 ? kOfSums : kOfOneGpu;
  }

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
  /// As many as are made for the sake of time; more only where `chunk` asks for them.
  static constexpr std::int64_t kMostFast = 1024;

  /// `half`: bytes along each tree.
  std::int64_t chunks_of(std::int64_t half) const {
    if (ranks_ == 1) return 1;
    const std::int64_t least = std::max(ceil_div(half, chunk_), std::int64_t{1});
    const auto steps = [&](std::int64_t chunks) {
      const double longest = static_cast<double>(half) / static_cast<double>(chunks);
      return static_cast<double>(chunks - 1) *
             (up_.step.seconds(longest) + down_.step.seconds(longest));
    };
    return std::min(
        fastest_parts(
            least, kMostFast, [&](std::int64_t chunks) { return seconds(chunks, half); }, steps),
        kMostChunks);
  }
  double inner() const { return static_cast<double>(up_.levels.size()) - 1; }
  double children() const { return ranks_ > 2 ? 2 : 1; }

  double seconds(std::int64_t chunks, std::int64_t half) const {
    const std::int64_t shorter = half / chunks;
    const auto longer = static_cast<double>(half % chunks);  // chunks with a byte more
    const double all_shorter = seconds_of_chunks(chunks, shorter);
    if (longer == 0) return all_shorter;
    // A byte more in a step in which one of them is under way, and at the root.
    const double more = largest_beta(up_.step) + largest_beta(down_.step) + children() * gamma_;
    return std::min(all_shorter + (longer + inner() - 1) * more + largest_beta(down_.levels.back()),
                    seconds_of_chunks(chunks, shorter + 1));
  }
  double seconds_of_chunks(std::int64_t chunks, std::int64_t chunk) const {
    const auto s = static_cast<double>(chunk);
    const auto c = static_cast<double>(chunks);
    double whole = (children() * (inner() + c - 1) + 1) * s * gamma_;
    for (const Way* way : {&up_, &down_}) {
      for (const Envelope& level : way->levels)
        whole += level.seconds(s);
      whole += (c - 1) * way->step.seconds(s);
    }
    return whole;
  }
  static double largest_beta(const Envelope& envelope) {
    double beta = 0;
    for (const Line& line : envelope.lines())
      beta = std::max(beta, line.beta);
    return beta;
  }

  Rank ranks_;
  RoundLinks links_;
  Way up_;
  Way down_;
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
