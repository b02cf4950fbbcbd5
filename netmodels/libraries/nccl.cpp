// NCCL: the algorithm, protocol and channels that a release chooses for each size, and the time
// that they take.
//
//   time = launch + kernel                one process per GPU
//          max(g launch, kernel)          a process starts the kernels of its g GPUs one after the
//                                         other, while those before them run; from 2.9 on what the
//                                         kernel takes for its bytes comes on top: so measured on
//                                         8 A100 (traces/nccl/a100_8.csv), no reason is published
//
// NCCL chooses by an estimate (netmodels/libraries/nccl_tuning.cpp), 2.3 and 2.4 by thresholds.
// What the kernel takes is another matter: netmodels/libraries/nccl_kernel.cpp inside a node,
// netmodels/libraries/nccl_between.cpp between nodes, but never less than one of the nodes takes by
// itself. 2.3 and 2.4 publish no estimate, theirs is
//
//   latency    that of 2.5.7, the first release with a table
//   ring       2(n-1)/n M / B      B = channels in use x speed of a channel; LL sends as many flags
//   tree       2 M / B             as data, B / 2. A tree reduces all chunks, then broadcasts all:
//                                  two passes, but one where two nodes hold a root each.
//
// A release that is not listed behaves as the last listed one before it (2.4.7 as 2.4.8, 2.10.3 as
// 2.7.8). Where a choice makes a larger message faster, the time of the smaller one stands:
// schedules rely on a time that does not decrease.
//
// Scope: all-reduce over all GPUs of the cluster; no other traffic.
// Parameters: version; algorithm, protocol, channels, channel_bandwidth override what is chosen or
// found; gpus_per_process; sockets, socket_bandwidth: a TCP flow's ceiling.
// Validation: tests/netmodels/libraries/nccl_test.cpp; configs/papers/collectives.
// Source: see netmodels/libraries/nccl_tuning.cpp, netmodels/libraries/nccl_thresholds.cpp;
// NVIDIA/nccl v2.4.8-1 src/collectives/device/all_reduce.h (the two passes).
#include "netmodels/libraries/nccl_between.h"
#include "netmodels/libraries/nccl_graph.h"
#include "netmodels/libraries/nccl_kernel.h"
#include "netmodels/libraries/nccl_tuning.h"
#include "sim/collective/collective.h"
#include "sim/core/error.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{
    {.key = "version",
     .kind = Kind::kText,
     .help = "release of NCCL, 2.3 to 2.18",
     .need = Need::kDefault,
     .fallback = "2.12.12"},
    {.key = "algorithm",
     .kind = Kind::kText,
     .help = "NCCL_ALGO",
     .need = Need::kDefault,
     .fallback = "auto",
     .words = {"auto", "ring", "tree", "nvls"}},
    {.key = "protocol",
     .kind = Kind::kText,
     .help = "NCCL_PROTO",
     .need = Need::kDefault,
     .fallback = "auto",
     .words = {"auto", "ll", "ll128", "simple"}},
    {.key = "channels",
     .kind = Kind::kInteger,
     .help = "rings of the topology; default: found on the cluster",
     .need = Need::kOptional,
     .range = {.low = 1, .high = 64}},
    {.key = "channel_bandwidth",
     .kind = Kind::kBandwidth,
     .help = "of one ring; default: found on the cluster",
     .need = Need::kOptional,
     .range = kPositive},
    {.key = "gpus_per_process",
     .kind = Kind::kInteger,
     .help = "GPUs whose kernels one process starts, one after the other",
     .need = Need::kDefault,
     .fallback = 1,
     .range = {.low = 1, .high = 1024}},
    {.key = "sockets",
     .kind = Kind::kInteger,
     .help =
         "TCP connections per channel: NCCL_NSOCKS_PERTHREAD x NCCL_SOCKET_NTHREADS; NCCL's own "
         "default, by the adapter: Amazon 16, Google 4 (from 2.5.6), else 1",
     .need = Need::kOptional,
     .range = {.low = 1, .high = 64}},
    {.key = "socket_bandwidth",
     .kind = Kind::kBandwidth,
     .help = "the most that one TCP connection carries; default: as the network says",
     .need = Need::kOptional,
     .range = kPositive}};

using Rules = std::variant<NcclThresholds, NcclTuning>;

/// "2.12.12" to 2012; -1 for what is no release.
int release_number(std::string_view text) {
  int numbers[3] = {0, 0, 0};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{} || numbers[i] < 0 || numbers[i] > 999) return -1;
    at = next;
    if (at == end) return i == 0 ? -1 : numbers[0] * 1000 + numbers[1];
    if (*at++ != '.') return -1;
  }
  return -1;
}

int read_release(const Config& config) {
  const int release = release_number(config.get<std::string>("version"));
  if (release < 2003 || release > 2018) {
    config.fail("version",
                fmt::format("expected a release of NCCL from 2.3 to 2.18 (known: 2.3.7, 2.4.8, "
                            "2.5.7, 2.7.8, 2.12.12, 2.18.3, each up to the next), got {}",
                            brief(config.get<std::string>("version"))));
  }
  return release;
}

Rules read_rules(const Config& config) {
  const int release = read_release(config);
  if (release < 2004) return NcclThresholds(NcclThresholds::Release::k2_3_7);
  if (release < 2005) return NcclThresholds(NcclThresholds::Release::k2_4_8);
  if (release < 2007) return NcclTuning(NcclTuning::Release::k2_5_7);
  if (release < 2012) return NcclTuning(NcclTuning::Release::k2_7_8);
  if (release < 2018) return NcclTuning(NcclTuning::Release::k2_12_12);
  return NcclTuning(NcclTuning::Release::k2_18_3);
}

std::optional<NcclAlgorithm> forced_algorithm(const Config& config) {
  const auto word = config.get<std::string>("algorithm");
  if (word == "auto") return std::nullopt;
  if (word == "nvls") return NcclAlgorithm::kNvls;
  return word == "tree" ? NcclAlgorithm::kTree : NcclAlgorithm::kRing;
}

std::optional<NcclProtocol> forced_protocol(const Config& config) {
  const auto word = config.get<std::string>("protocol");
  if (word == "auto") return std::nullopt;
  if (word == "ll") return NcclProtocol::kLl;
  return word == "ll128" ? NcclProtocol::kLl128 : NcclProtocol::kSimple;
}

/// The cluster with as many connections between two nodes as NCCL opens: of each ring, which it
/// uses twice, `sockets`.
Cluster connected(const Config& config, Cluster cluster) {
  const std::int64_t sockets = config.has("sockets") ? config.get<std::int64_t>("sockets") : 1;
  const auto rate = cluster.kind && cluster.nodes > 1 ? cluster.kind->together(2 * sockets)
                                                      : std::optional<Bandwidth>{};
  if (config.has("socket_bandwidth") ? !config.has("sockets") : config.has("sockets") && !rate)
    config.fail("", "expected both or neither of \"sockets\" and \"socket_bandwidth\"");
  if (!rate) return cluster;
  if (cluster.gpu_to_gpu && cluster.gpu_to_gpu->bandwidth >= cluster.network.bandwidth)
    cluster.gpu_to_gpu->bandwidth = *rate;
  cluster.network.bandwidth = *rate;
  return cluster;
}

NcclGraph read_graph(const Config& config, const Cluster& cluster) {
  NcclGraph graph = nccl_graph(connected(config, cluster), read_release(config) >= 2008);
  if (config.has("channels")) graph.channels = config.get<std::int64_t>("channels");
  if (config.has("channel_bandwidth")) {
    graph.channel_gbps = config.get<Bandwidth>("channel_bandwidth").bytes_per_second / 1e9;
  }
  if (config.has("socket_bandwidth") && cluster.nodes > 1) {
    const double most = static_cast<double>(config.get<std::int64_t>("sockets")) *
                        config.get<Bandwidth>("socket_bandwidth").bytes_per_second / 1e9;
    graph.channel_gbps = std::min(graph.channel_gbps, most);
  }
  if (cluster.nodes > 1 && (config.has("socket_bandwidth") || config.has("channel_bandwidth"))) {
    graph.tree_gbps = 0;
    graph.network_gbps =
        std::min(graph.network_gbps, static_cast<double>(graph.channels) * graph.channel_gbps);
  }
  return graph;
}

/// Where choices are looked for; beyond it the last one stands.
constexpr std::int64_t kLargest = std::int64_t{1} << 40;
constexpr NcclTuning kFirstTable(NcclTuning::Release::k2_5_7);

class Nccl final : public Collective {
 public:
  Nccl(const Config& config, const Cluster& cluster)
      : rules_(read_rules(config)),
        algorithm_(forced_algorithm(config)),
        protocol_(forced_protocol(config)),
        graph_(read_graph(config, cluster)),
        launch_us_(cluster.gpus ? to_seconds(cluster.gpus->launch) * 1e6 : 0),
        process_us_(launch_us_ * static_cast<double>(config.get<std::int64_t>("gpus_per_process"))),
        exposed_us_(config.get<std::int64_t>("gpus_per_process") > 1 ? 0 : launch_us_),
        data_follows_launches_(config.get<std::int64_t>("gpus_per_process") > 1 &&
                               read_release(config) >= 2009) {
    if (const auto driven = config.get<std::int64_t>("gpus_per_process");
        driven > cluster.gpus_per_node) {
      config.fail("gpus_per_process", fmt::format("expected at most the {} of a node, got {}",
                                                  cluster.gpus_per_node, driven));
    }
    if (graph_.ranks == 1) return;
    if (decide(0).time_us < 0) {
      config.fail("protocol", "NCCL does not use this algorithm and protocol on this cluster");
    }
    if (cluster.nodes > 1 && cluster.gpus_per_node > 1) {
      Cluster node = cluster;
      node.nodes = 1;
      node_ = std::make_unique<Nccl>(rules_, nccl_graph(node, read_release(config) >= 2008));
    }
    find_steps();
  }
  /// The kernels on a graph, chosen freely.
  Nccl(Rules rules, NcclGraph graph) : rules_(rules), graph_(graph) { find_steps(); }

  Duration time(Bytes m) const override {
    if (graph_.ranks == 1) return Duration{};
    const double us = kernel_us(m.count);
    if (!data_follows_launches_)
      return from_seconds(std::max(process_us_, exposed_us_ + us) * 1e-6);
    const double latency = kernel_us(0);
    return from_seconds((std::max(process_us_, latency) + us - latency) * 1e-6);
  }
  Duration startup() const override { return time(Bytes{0}); }

  std::string choice(Bytes m) const override {
    if (graph_.ranks == 1) return "";
    const NcclChoice choice = decide(m.count);
    const bool trees = choice.algorithm == NcclAlgorithm::kNvls && graph_.nodes > 1;
    return fmt::format("{}{}/{} x{}", name(choice.algorithm), trees ? "Tree" : "",
                       name(choice.protocol), choice.channels);
  }
  std::int64_t thread_blocks(Bytes m) const override {
    return graph_.ranks == 1 ? 0 : decide(m.count).channels;
  }

 private:
  void find_steps() {
    for (const std::int64_t size : sizes_of_steps())
      steps_.push_back({size, own_us(size - 1)});
    std::sort(steps_.begin(), steps_.end());
    for (std::size_t i = 1; i < steps_.size(); ++i)
      steps_[i].second = std::max(steps_[i].second, steps_[i - 1].second);
  }

  /// Sizes from which on a time may fall: another choice, or another correction of trees.
  std::vector<std::int64_t> sizes_of_steps() const {
    if (const auto* thresholds = std::get_if<NcclThresholds>(&rules_))
      return thresholds->sizes_of_steps(graph_);
    std::vector<std::int64_t> sizes = NcclTuning::sizes_of_steps();
    std::int64_t from = 0;
    for (std::int64_t to = 64; to < kLargest; to += 1 + to / 4) {
      // A cell may hold more than two choices.
      while (!same(from, to)) {
        from = first_other(from, to);
        sizes.push_back(from);
      }
      from = to;
    }
    return sizes;
  }

  bool same(std::int64_t x, std::int64_t y) const {
    const NcclChoice one = decide(x);
    const NcclChoice other = decide(y);
    return one.algorithm == other.algorithm && one.protocol == other.protocol;
  }

  /// Of sizes with different choices, one whose choice differs from that of the size before it.
  std::int64_t first_other(std::int64_t from, std::int64_t to) const {
    std::int64_t like_from = from;
    while (to - like_from > 1) {
      const std::int64_t middle = like_from + (to - like_from) / 2;
      (same(from, middle) ? like_from : to) = middle;
    }
    return to;
  }

  NcclChoice decide(std::int64_t bytes) const {
    return std::visit([&](const auto& rules) { return decide(rules, bytes); }, rules_);
  }

  NcclChoice decide(const NcclTuning& tuning, std::int64_t bytes) const {
    NcclChoice best{.time_us = -1};
    for (const auto algorithm :
         {NcclAlgorithm::kTree, NcclAlgorithm::kRing, NcclAlgorithm::kNvls}) {
      if (algorithm_ && *algorithm_ != algorithm) continue;
      for (const auto protocol : {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple}) {
        if (protocol_ && *protocol_ != protocol) continue;
        const double us = tuning.time_us(graph_, algorithm, protocol, bytes);
        if (us < 0 || (best.time_us >= 0 && us >= best.time_us)) continue;
        best = tuning.launch(graph_, algorithm, protocol, bytes);
        best.time_us = us;
      }
    }
    return best;
  }

  NcclChoice decide(const NcclThresholds& thresholds, std::int64_t bytes) const {
    NcclChoice choice = thresholds.choose(graph_, bytes);
    if (algorithm_) choice.algorithm = *algorithm_;
    if (protocol_ && *protocol_ != choice.protocol) {
      choice.protocol = *protocol_;
      choice.channels = choice.most_channels;
    }
    // LL128 came with 2.5, NVLS later.
    const bool known =
        choice.protocol != NcclProtocol::kLl128 && choice.algorithm != NcclAlgorithm::kNvls;
    choice.time_us = known ? passes_us(choice, bytes) : -1;
    return choice;
  }

  /// 2.3 and 2.4 publish no estimate: see above.
  double passes_us(const NcclChoice& choice, std::int64_t bytes) const {
    const bool tree = choice.algorithm == NcclAlgorithm::kTree;
    const double latency =
        kFirstTable.estimate(graph_, choice.algorithm, choice.protocol).latency_us;
    const auto n = static_cast<double>(graph_.ranks);
    double bandwidth = static_cast<double>(graph_.channels) * graph_.channel_gbps *
                       static_cast<double>(choice.channels) /
                       static_cast<double>(choice.most_channels);
    if (choice.protocol == NcclProtocol::kLl) bandwidth /= 2;
    const double ring_passes = 2 * (n - 1) / n;
    const double tree_passes = graph_.nodes == 2 && choice.channels > 1 ? 1 : 2;
    const auto size = static_cast<double>(bytes) / 1000;
    if (!tree) return latency + ring_passes * size / bandwidth;
    // Inside a node the tree is a chain, whose links carry the whole up and down.
    const double inside = graph_.inside_gbps > 0 ? 2 * size / graph_.inside_gbps : 0;
    return latency + std::max(tree_passes * size / bandwidth, inside);
  }

  /// By the choice for this size, before smaller ones are looked at.
  double own_us(std::int64_t bytes) const {
    const auto* own = std::get_if<NcclTuning>(&rules_);
    const NcclTuning tuning = own ? *own : kFirstTable;
    if (graph_.nodes == 1) return nccl_kernel_us(tuning, graph_, decide(bytes), bytes);
    const double us = nccl_between_us(tuning, graph_, decide(bytes), bytes);
    return node_ ? std::max(us, node_->kernel_us(bytes)) : us;
  }

  double kernel_us(std::int64_t bytes) const {
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), bytes,
                         [](std::int64_t size, const std::pair<std::int64_t, double>& step) {
                           return size < step.first;
                         });
    const double own = own_us(bytes);
    return after == steps_.begin() ? own : std::max(own, std::prev(after)->second);
  }

  Rules rules_;
  std::optional<NcclAlgorithm> algorithm_;
  std::optional<NcclProtocol> protocol_;
  NcclGraph graph_;
  double launch_us_ = 0;
  double process_us_ = 0;
  double exposed_us_ = 0;  ///< launch that no other kernel hides
  bool data_follows_launches_ = false;
  std::unique_ptr<Nccl> node_;  ///< one of several nodes by itself
  /// Sizes from which on a time may fall, and the largest time before each.
  std::vector<std::pair<std::int64_t, double>> steps_;
};

const bool kRegistered = Collectives::instance().add(
    "nccl", "NCCL's choice of algorithm and protocol by size, release by release", kParams,
    [](const Config& c, const Cluster& cluster) { return std::make_unique<Nccl>(c, cluster); });

}  // namespace
}  // namespace steptime
