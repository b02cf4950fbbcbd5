// NCCL: the algorithm, protocol and channels that a release chooses for each size, and the time
// that they take, of an all-reduce, an all-gather or a reduce-scatter.
//
//   time = launch + kernel                one process per GPU
//          max(g launch, kernel)          a process starts the kernels of its g GPUs one after the
//                                         other, while those before them run; from 2.9 on what the
//                                         kernel takes for its bytes comes on top: so measured on
//                                         8 A100 (traces/nccl/a100_8.csv), no reason is published
//
// NCCL chooses by an estimate (netmodels/libraries/nccl_tuning.cpp), 2.3 and 2.4 by thresholds.
// What the kernel takes is another matter: netmodels/libraries/nccl_kernel.cpp inside a node, from
// 2.19 on netmodels/libraries/nccl_nvlink.cpp over NVLink, which holds the launch, too, and
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
// Scope: all GPUs of the cluster; no other traffic. All-gathers and reduce-scatters from 2.5 on.
// Parameters: version; operation; algorithm, protocol, channels, channel_bandwidth override what is
// chosen or found; gpus_per_process; sockets, socket_bandwidth: a TCP flow's ceiling. Validation:
// tests/netmodels/libraries/nccl_test.cpp; configs/papers/collectives. Source: see
// netmodels/libraries/nccl_tuning.cpp, netmodels/libraries/nccl_thresholds.cpp; NVIDIA/nccl
// v2.4.8-1 src/collectives/device/all_reduce.h (the two passes).
#include "netmodels/libraries/nccl_between.h"
#include "netmodels/libraries/nccl_graph.h"
#include "netmodels/libraries/nccl_kernel.h"
#include "netmodels/libraries/nccl_nvlink.h"
#include "netmodels/libraries/nccl_release.h"
#include "netmodels/libraries/nccl_tuning.h"
#include "sim/collective/collective.h"
#include "sim/collective/path.h"
#include "sim/config/word_list.h"
#include "sim/core/error.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
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
     .help = "release of NCCL, 2.3 to 2.30; auto: 2.12.12, of GPUs of 8.9 and 9.0 2.27.3, of later "
             "ones 2.28.9",
     .need = Need::kDefault,
     .fallback = "auto"},
    {.key = "operation",
     .kind = Kind::kText,
     .help = "what its ranks do together",
     .need = Need::kDefault,
     .fallback = "all-reduce",
     .words = {"all-reduce", "all-gather", "reduce-scatter"}},
    {.key = "algorithm",
     .kind = Kind::kText,
     .help = "NCCL_ALGO",
     .need = Need::kDefault,
     .fallback = "auto",
     .words = {"auto", "ring", "tree", "nvls", "pat"}},
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

/// A release whose estimates differ from the one before, and the first number that has them.
struct Table {
  int first = 0;
  NcclTuning::Release release{};
  const char* name = "";
};
constexpr Table kTables[] = {{2030000, NcclTuning::Release::k2_30_3, "2.30.3"},
                             {2029007, NcclTuning::Release::k2_29_7, "2.29.7"},
                             {2029000, NcclTuning::Release::k2_29_2, "2.29.2"},
                             {2028009, NcclTuning::Release::k2_28_9, "2.28.9"},
                             {2028000, NcclTuning::Release::k2_28_3, "2.28.3"},
                             {2027000, NcclTuning::Release::k2_27_3, "2.27.3"},
                             {2025000, NcclTuning::Release::k2_25_1, "2.25.1"},
                             {2024000, NcclTuning::Release::k2_24_3, "2.24.3"},
                             {2023000, NcclTuning::Release::k2_23_4, "2.23.4"},
                             {2021000, NcclTuning::Release::k2_21_5, "2.21.5"},
                             {2019000, NcclTuning::Release::k2_19_3, "2.19.3"},
                             {2018000, NcclTuning::Release::k2_18_3, "2.18.3"},
                             {2012000, NcclTuning::Release::k2_12_12, "2.12.12"},
                             {2007000, NcclTuning::Release::k2_7_8, "2.7.8"},
                             {2005000, NcclTuning::Release::k2_5_7, "2.5.7"}};

Rules rules_of(int release) {
  if (release < 2004000) return NcclThresholds(NcclThresholds::Release::k2_3_7);
  if (release < 2005000) return NcclThresholds(NcclThresholds::Release::k2_4_8);
  const auto* const table = std::find_if(std::begin(kTables), std::end(kTables),
                                         [&](const Table& each) { return release >= each.first; });
  return NcclTuning(table->release);
}

std::string name_of(int release) {
  if (release < 2004000) return "2.3.7";
  if (release < 2005000) return "2.4.8";
  return std::find_if(std::begin(kTables), std::end(kTables),
                      [&](const Table& each) { return release >= each.first; })
      ->name;
}

Operation read_operation(const Config& config, int release) {
  const auto word = config.get<std::string>("operation");
  if (word == "all-reduce") return Operation::kAllReduce;
  if (release < 2005000) {
    config.fail("operation", fmt::format("NCCL {}.{} publishes no estimate of it, the first "
                                         "release that does is 2.5",
                                         release / 1000000, release / 1000 % 1000));
  }
  return word == "all-gather" ? Operation::kAllGather : Operation::kReduceScatter;
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

NcclGraph read_graph(const Config& config, const Cluster& cluster, int release) {
  NcclGraph graph = nccl_graph(connected(config, cluster), release);
  graph.operation = read_operation(config, release);
  if (config.has("channels")) graph.channels = config.get<std::int64_t>("channels");
  if (config.has("channel_bandwidth")) {
    graph.channel_gbps = config.get<Bandwidth>("channel_bandwidth").bytes_per_second / 1e9;
    if (cluster.nodes == 1) graph.channel_gbps /= cluster.inside_slowdown;
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
/// Below this many bytes rings over PCIe are slower here than measured.
constexpr std::int64_t kLeastOnPcie = 1 << 20;
constexpr NcclTuning kFirstTable(NcclTuning::Release::k2_5_7);

class Nccl final : public Collective, public HasPath {
 public:
  Nccl(const Config& config, const Cluster& cluster)
      : release_(read_nccl_release(config, cluster.gpus)),
        rules_(rules_of(release_)),
        algorithm_(nccl_algorithm(config.get<std::string>("algorithm"))),
        protocol_(nccl_protocol(config.get<std::string>("protocol"))),
        graph_(read_graph(config, cluster, release_)),
        names_gpus_(cluster.gpus.has_value()),
        launch_us_(cluster.gpus ? to_seconds(cluster.gpus->launch) * 1e6 : 0),
        process_us_(launch_us_ * static_cast<double>(config.get<std::int64_t>("gpus_per_process"))),
        exposed_us_(config.get<std::int64_t>("gpus_per_process") > 1 ? 0 : launch_us_) {
    const auto driven = config.get<std::int64_t>("gpus_per_process");
    data_follows_launches_ = driven > 1 && release_ >= 2009000;
    if (driven == 1 && on_nvlink()) process_us_ = exposed_us_ = 0;
    if (driven > cluster.gpus_per_node) {
      config.fail("gpus_per_process", fmt::format("expected at most the {} of a node, got {}",
                                                  cluster.gpus_per_node, driven));
    }
    if (graph_.ranks == 1) return;
    inside_ = graph_;
    if (!is_used()) refuse_choice(config);
    if (cluster.nodes > 1 && cluster.gpus_per_node > 1) {
      Cluster node = cluster;
      node.nodes = 1;
      NcclGraph inside = nccl_graph(node, release_);
      inside.operation = graph_.operation;
      inside_ = inside;
      node_ = std::make_unique<Nccl>(rules_, inside);
    }
    note_ = domain_note(config, cluster);
  }
  /// The kernels on a graph, chosen freely.
  Nccl(Rules rules, NcclGraph graph) : rules_(rules), graph_(graph) {}

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
  CollectivePath path() const override {
    CollectivePath path;
    if (graph_.ranks == 1) return path;
    const bool several = graph_.ranks > graph_.nodes;
    if (several) {
      const std::string rings =
          fmt::format("{} ring{}", inside_.channels, inside_.channels == 1 ? "" : "s");
      path.links = names_gpus_
                       ? fmt::format("{} over {}", rings, inside_.nvlink ? "NVLink" : "PCIe")
                       : fmt::format(
                             "{} over links of {:.4g} GB/s, with latencies of PCIe as there "
                             "are no \"gpus\"",
                             rings, inside_.channel_gbps);
    }
    if (graph_.nodes > 1) path.adapters = graph_.channels;
    path.rules = fmt::format("NCCL {}.{}.{} by the rules of {}", release_ / 1000000,
                             release_ / 1000 % 1000, release_ % 1000, name_of(release_));
    return path;
  }
  Operation operation() const override { return graph_.operation; }
  std::string outside_domain(Bytes m) const override {
    if (!note_.empty() || !measured_on_pcie() || m.count >= kLeastOnPcie) return note_;
    return "NCCL from 2.19 on over PCIe: below 1 MiB L40S are up to 2.5 times as fast";
  }
  std::int64_t thread_blocks(Bytes m) const override {
    return graph_.ranks == 1 ? 0 : decide(m.count).channels;
  }

 private:
  bool is_used() const { return decide(0).time_us >= 0; }

  /// Of the algorithm, where NCCL has no protocol for it here, else of the protocol.
  [[noreturn]] void refuse_choice(const Config& config) {
    protocol_ = std::nullopt;
    const std::string key = algorithm_ && !is_used() ? "algorithm" : "protocol";
    std::vector<std::string> used;
    for (const std::string& word : std::ranges::find(kParams, key, &Param::key)->words) {
      if (key == "protocol")
        protocol_ = nccl_protocol(word);
      else
        algorithm_ = nccl_algorithm(word);
      if (is_used()) used.push_back(word);
    }
    config.fail(key, fmt::format("expected one that NCCL uses for this operation on this "
                                 "cluster ({}), got {}",
                                 listed(used), brief(config.raw(key))));
  }

  bool on_nvlink() const {
    const auto* tuning = std::get_if<NcclTuning>(&rules_);
    return tuning != nullptr && nccl_on_nvlink(*tuning, graph_);
  }

  /// Inside a node from 2.19 on, as the open tables are.
  bool measured_on_nvlink() const {
    const int capability = graph_.compute_capability;
    return on_nvlink() && graph_.ranks <= 8 &&
           (capability == 80 || capability == 90 || capability == 100);
  }
  bool measured_on_pcie() const {
    return graph_.nodes == 1 && !graph_.nvlink && graph_.ranks <= 4 &&
           graph_.compute_capability == 89 && release_ >= 2019000;
  }

  /// Empty, or why no measurement of this kind stands behind any time.
  std::string domain_note(const Config& config, const Cluster& cluster) const {
    const int capability = graph_.compute_capability;
    if (cluster.gpus) {
      if (std::string note = nccl_release_note(release_, capability); !note.empty()) return note;
    }
    if (measured_on_nvlink() || measured_on_pcie()) return "";
    if (graph_.operation != Operation::kAllReduce) {
      return fmt::format(
          "{} of NCCL was measured inside nodes of up to 8 A100, H100 or B200 and 4 L40S",
          config.get<std::string>("operation"));
    }
    if (capability >= 100 && graph_.nodes > 1)
      return "NCCL between nodes of Blackwell: no measurement stands behind it";
    const bool pcie = graph_.nodes == 1 && !graph_.nvlink && cluster.gpus;
    if (release_ < 2019000 || !(on_nvlink() || pcie)) return "";
    return fmt::format(
        "NCCL from 2.19 on over {} {} GPUs of compute capability {}.{}: no "
        "measurement stands behind it",
        pcie ? "PCIe between" : "NVLink between", graph_.ranks, capability / 10, capability % 10);
  }

  /// A size from which on a time may fall, and the largest time before it.
  using Step = std::pair<std::int64_t, double>;

  /// Found for who asks for a time, as that takes longer than all else about a collective.
  const std::vector<Step>& steps() const {
    std::call_once(found_, [this] {
      for (const std::int64_t size : sizes_of_steps())
        steps_.push_back({size, own_us(size - 1)});
      std::sort(steps_.begin(), steps_.end());
      for (std::size_t i = 1; i < steps_.size(); ++i)
        steps_[i].second = std::max(steps_[i].second, steps_[i - 1].second);
    });
    return steps_;
  }

  /// Sizes from which on a time may fall: another choice, or another correction of trees.
  std::vector<std::int64_t> sizes_of_steps() const {
    if (const auto* thresholds = std::get_if<NcclThresholds>(&rules_))
      return thresholds->sizes_of_steps(graph_);
    std::vector<std::int64_t> sizes = NcclTuning::sizes_of_steps();
    std::int64_t from = 0;
    Kernel chosen = kernel_of(from);
    for (std::int64_t to = 64; to < kLargest; to += 1 + to / 4) {
      const Kernel next = kernel_of(to);
      // A cell may hold more than two choices.
      while (chosen != next) {
        from = first_other(chosen, from, to);
        chosen = kernel_of(from);
        sizes.push_back(from);
      }
      from = to;
    }
    return sizes;
  }

  using Kernel = std::pair<NcclAlgorithm, NcclProtocol>;
  Kernel kernel_of(std::int64_t bytes) const {
    const NcclChoice choice = decide(bytes);
    return {choice.algorithm, choice.protocol};
  }

  /// Of sizes up to `to`, whose choice is no longer that of `from`, one whose choice differs from
  /// that of the size before it.
  std::int64_t first_other(Kernel of_from, std::int64_t from, std::int64_t to) const {
    while (to - from > 1) {
      const std::int64_t middle = from + (to - from) / 2;
      (kernel_of(middle) == of_from ? from : to) = middle;
    }
    return to;
  }

  NcclChoice decide(std::int64_t bytes) const {
    return std::visit([&](const auto& rules) { return decide(rules, bytes); }, rules_);
  }

  NcclChoice decide(const NcclTuning& tuning, std::int64_t bytes) const {
    std::optional<Kernel> best;
    double best_us = -1;
    for (const auto algorithm :
         {NcclAlgorithm::kTree, NcclAlgorithm::kRing, NcclAlgorithm::kNvls, NcclAlgorithm::kPat}) {
      if (algorithm_ && *algorithm_ != algorithm) continue;
      for (const auto protocol : {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple}) {
        if (protocol_ && *protocol_ != protocol) continue;
        const double us = tuning.time_us(graph_, algorithm, protocol, bytes);
        if (us < 0 || (best && us >= best_us)) continue;
        best = {algorithm, protocol};
        best_us = us;
      }
    }
    NcclChoice choice;
    if (best) choice = tuning.launch(graph_, best->first, best->second, bytes);
    choice.time_us = best_us;
    return choice;
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
        choice.protocol != NcclProtocol::kLl128 &&
        (choice.algorithm == NcclAlgorithm::kTree || choice.algorithm == NcclAlgorithm::kRing);
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
    const std::vector<Step>& steps = this->steps();
    const auto after =
        std::upper_bound(steps.begin(), steps.end(), bytes,
                         [](std::int64_t size, const Step& step) { return size < step.first; });
    const double own = own_us(bytes);
    return after == steps.begin() ? own : std::max(own, std::prev(after)->second);
  }

  int release_ = 0;
  Rules rules_;
  std::optional<NcclAlgorithm> algorithm_;
  std::optional<NcclProtocol> protocol_;
  NcclGraph graph_;
  bool names_gpus_ = true;  ///< whether the cluster says what joins them
  NcclGraph inside_;        ///< the graph of one node by itself
  double launch_us_ = 0;
  double process_us_ = 0;
  double exposed_us_ = 0;  ///< launch that no other kernel hides
  bool data_follows_launches_ = false;
  std::string note_;
  std::unique_ptr<Nccl> node_;  ///< one of several nodes by itself
  mutable std::once_flag found_;
  mutable std::vector<Step> steps_;
};

const bool kRegistered = Collectives::instance().add(
    "nccl", "NCCL's choice of algorithm and protocol by size, release by release", kParams,
    [](const Config& c, const Cluster& cluster) { return std::make_unique<Nccl>(c, cluster); });

}  // namespace
}  // namespace steptime
