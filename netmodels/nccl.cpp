// NCCL: the algorithm, protocol and channels that a release chooses for each size, and the time
// that they take.
//
//   time = max(g launch, launch + latency + M / bandwidth)
//
// with g GPUs started by one process one after the other. From 2.5 on, latency and bandwidth are
// NCCL's own estimates, which it chooses by. 2.3 and 2.4 choose by thresholds and publish no
// times; theirs are
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
// Scope: all-reduce over all GPUs of the cluster; no other traffic. NCCL's estimates leave out what
// happens before the kernel runs (launch) and are least true at protocol switches.
// Parameters: version; algorithm, protocol, channels, channel_bandwidth override what is chosen or
// found; gpus_per_process; sockets, socket_bandwidth: a TCP flow's ceiling.
// Validation: tests/netmodels/nccl_test.cpp; configs/papers/collectives.
// Source: see netmodels/nccl_tuning.cpp, netmodels/nccl_thresholds.cpp; NVIDIA/nccl v2.4.8-1
// src/collectives/device/all_reduce.h (the two passes).
#include "netmodels/nccl_graph.h"
#include "netmodels/nccl_tuning.h"
#include "sim/collective.h"
#include "sim/error.h"

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
     .words = {"auto", "ring", "tree"}},
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
     .help = "TCP connections per channel: NCCL_NSOCKS_PERTHREAD x NCCL_SOCKET_NTHREADS",
     .need = Need::kOptional,
     .range = {.low = 1, .high = 64}},
    {.key = "socket_bandwidth",
     .kind = Kind::kBandwidth,
     .help = "the most that one TCP connection carries",
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

Rules read_rules(const Config& config) {
  const int release = release_number(config.get<std::string>("version"));
  if (release < 2003 || release > 2018) {
    config.fail("version",
                fmt::format("expected a release of NCCL from 2.3 to 2.18 (known: 2.3.7, 2.4.8, "
                            "2.5.7, 2.7.8, 2.12.12, 2.18.3, each up to the next), got {}",
                            brief(config.get<std::string>("version"))));
  }
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
  return word == "tree" ? NcclAlgorithm::kTree : NcclAlgorithm::kRing;
}

std::optional<NcclProtocol> forced_protocol(const Config& config) {
  const auto word = config.get<std::string>("protocol");
  if (word == "auto") return std::nullopt;
  if (word == "ll") return NcclProtocol::kLl;
  return word == "ll128" ? NcclProtocol::kLl128 : NcclProtocol::kSimple;
}

NcclGraph read_graph(const Config& config, const Cluster& cluster) {
  NcclGraph graph = nccl_graph(cluster);
  if (config.has("channels")) graph.channels = config.get<std::int64_t>("channels");
  if (config.has("channel_bandwidth")) {
    graph.channel_gbps = config.get<Bandwidth>("channel_bandwidth").bytes_per_second / 1e9;
  }
  if (config.has("sockets") != config.has("socket_bandwidth")) {
    config.fail("", "expected both or neither of \"sockets\" and \"socket_bandwidth\"");
  }
  if (config.has("sockets") && cluster.nodes > 1) {
    const double most = static_cast<double>(config.get<std::int64_t>("sockets")) *
                        config.get<Bandwidth>("socket_bandwidth").bytes_per_second / 1e9;
    graph.channel_gbps = std::min(graph.channel_gbps, most);
  }
  return graph;
}

class Nccl final : public Collective {
 public:
  Nccl(const Config& config, const Cluster& cluster)
      : rules_(read_rules(config)),
        algorithm_(forced_algorithm(config)),
        protocol_(forced_protocol(config)),
        graph_(read_graph(config, cluster)),
        launch_us_(cluster.gpus ? to_seconds(cluster.gpus->launch) * 1e6 : 0),
        process_us_(launch_us_ *
                    static_cast<double>(config.get<std::int64_t>("gpus_per_process"))) {
    if (const auto driven = config.get<std::int64_t>("gpus_per_process");
        driven > cluster.gpus_per_node) {
      config.fail("gpus_per_process", fmt::format("expected at most the {} of a node, got {}",
                                                  cluster.gpus_per_node, driven));
    }
    if (graph_.ranks > 1 && decide(0).time_us < 0) {
      config.fail("protocol", "NCCL does not use this protocol on this cluster");
    }
    for (const std::int64_t size : sizes_of_steps())
      steps_.push_back({size, decide(size - 1).time_us});
    std::sort(steps_.begin(), steps_.end());
    for (std::size_t i = 1; i < steps_.size(); ++i)
      steps_[i].second = std::max(steps_[i].second, steps_[i - 1].second);
  }

  Duration time(Bytes m) const override {
    if (graph_.ranks == 1) return Duration{};
    return from_seconds(std::max(process_us_, launch_us_ + kernel_us(m.count)) * 1e-6);
  }
  Duration startup() const override { return time(Bytes{0}); }

  std::string choice(Bytes m) const override {
    if (graph_.ranks == 1) return "";
    const NcclChoice choice = decide(m.count);
    return fmt::format("{}/{} x{}", name(choice.algorithm), name(choice.protocol), choice.channels);
  }

 private:
  /// Sizes from which on another choice or correction may hold.
  std::vector<std::int64_t> sizes_of_steps() const {
    if (const auto* thresholds = std::get_if<NcclThresholds>(&rules_))
      return thresholds->sizes_of_steps(graph_);
    return NcclTuning::sizes_of_steps();
  }

  NcclChoice decide(std::int64_t bytes) const {
    return std::visit([&](const auto& rules) { return decide(rules, bytes); }, rules_);
  }

  NcclChoice decide(const NcclTuning& tuning, std::int64_t bytes) const {
    NcclChoice best{.time_us = -1};
    for (const auto algorithm : {NcclAlgorithm::kTree, NcclAlgorithm::kRing}) {
      if (algorithm_ && *algorithm_ != algorithm) continue;
      for (const auto protocol : {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple}) {
        if (protocol_ && *protocol_ != protocol) continue;
        const double us = tuning.time_us(graph_, algorithm, protocol, bytes);
        if (us < 0 || (best.time_us >= 0 && us >= best.time_us)) continue;
        best = {algorithm, protocol, tuning.channels(graph_, algorithm, protocol, bytes), us};
      }
    }
    return best;
  }

  NcclChoice decide(const NcclThresholds& thresholds, std::int64_t bytes) const {
    NcclChoice choice = thresholds.choose(graph_, bytes);
    if (algorithm_) choice.algorithm = *algorithm_;
    if (protocol_ && *protocol_ != choice.protocol) {
      choice.protocol = *protocol_;
      choice.channels = graph_.channels;
    }
    if (choice.protocol == NcclProtocol::kLl128) {
      choice.time_us = -1;  // it came with 2.5
      return choice;
    }
    const bool tree = choice.algorithm == NcclAlgorithm::kTree;
    const double latency = NcclTuning(NcclTuning::Release::k2_5_7)
                               .estimate(graph_, choice.algorithm, choice.protocol)
                               .latency_us;
    const auto n = static_cast<double>(graph_.ranks);
    double bandwidth = static_cast<double>(choice.channels) * graph_.channel_gbps;
    if (choice.protocol == NcclProtocol::kLl) bandwidth /= 2;
    const double ring_passes = 2 * (n - 1) / n;
    const double tree_passes = graph_.nodes == 2 && choice.channels > 1 ? 1 : 2;
    const double passes = tree ? tree_passes : ring_passes;
    choice.time_us = latency + passes * static_cast<double>(bytes) / (1000 * bandwidth);
    return choice;
  }

  double kernel_us(std::int64_t bytes) const {
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), bytes,
                         [](std::int64_t size, const std::pair<std::int64_t, double>& step) {
                           return size < step.first;
                         });
    const double own = decide(bytes).time_us;
    return after == steps_.begin() ? own : std::max(own, std::prev(after)->second);
  }

  Rules rules_;
  std::optional<NcclAlgorithm> algorithm_;
  std::optional<NcclProtocol> protocol_;
  NcclGraph graph_;
  double launch_us_;
  double process_us_;
  /// Sizes from which on a time may fall, and the largest time before each.
  std::vector<std::pair<std::int64_t, double>> steps_;
};

const bool kRegistered = Collectives::instance().add(
    "nccl", "NCCL's choice of algorithm and protocol by size, release by release", kParams,
    [](const Config& c, const Cluster& cluster) { return std::make_unique<Nccl>(c, cluster); });

}  // namespace
}  // namespace steptime
