#include "netmodels/round_links.h"

#include "sim/collective/message_time.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace steptime {
namespace {

/// A graph without a NIC says nothing of what lies between nodes.
bool knows_graph(const Cluster& cluster) {
  return cluster.node && (cluster.nodes == 1 || !cluster.node->of_kind(VertexKind::kNic).empty());
}

/// The first nodes of a cluster.
Cluster first_nodes(Cluster cluster, std::int64_t nodes, bool with_fabric) {
  if (!knows_graph(cluster)) cluster.node = nullptr;
  if (!with_fabric) cluster.fabric = nullptr;
  cluster.nodes = nodes;
  return cluster;
}

std::vector<Sent> swaps_after_folding(std::int64_t n, std::int64_t distance) {
  const std::int64_t cores = unfolded(n);
  const std::int64_t folded = n - cores;
  const auto rank_of = [&](std::int64_t core) {
    return core < folded ? 2 * core + 1 : core + folded;
  };
  std::vector<Sent> sent;
  for (std::int64_t core = 0; core < cores; ++core)
    sent.push_back({rank_of(core), rank_of(core ^ distance)});
  return sent;
}

}  // namespace

void Envelope::add(Line line) {
  const auto covers = [](const Line& a, const Line& b) {
    return a.alpha >= b.alpha && a.beta >= b.beta;
  };
  for (const Line& other : lines_) {
    if (covers(other, line)) return;
  }
  std::erase_if(lines_, [&](const Line& other) { return covers(line, other); });
  lines_.push_back(line);
}

void Envelope::add(const Envelope& other) {
  for (const Line& line : other.lines_)
    add(line);
}

double Envelope::seconds(double bytes) const {
  double most = 0;
  for (const Line& line : lines_)
    most = std::max(most, line.seconds(bytes));
  return most;
}

std::optional<Line> Envelope::line() const {
  if (lines_.empty()) return Line{};
  return lines_.size() == 1 ? std::optional(lines_.front()) : std::nullopt;
}

std::int64_t unfolded(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

void RoundTime::add(Line line, bool shares) {
  even = even && (lines.empty() || line == lines.front());
  apart = apart && !shares;
  slowest.add(line);
  lines.push_back(line);
}

void RoundTime::add(const RoundTime& other) {
  even = even && other.even;
  for (const Line& line : other.lines)
    add(line, !other.apart);
}

RoundLinks::RoundLinks(const Cluster& cluster)
    : cluster_(cluster),
      nodes_(cluster.nodes),
      gpus_(cluster.gpus_per_node),
      whole_(cluster.fabric && nodes_ > 1 && workers() <= kMostKnown),
      leaves_out_fabric_(cluster.fabric && nodes_ > 1 && !whole_),
      fifo_(cluster.fifo_ports),
      known_nodes_(std::min(nodes_, most_nodes_known())) {
  if (!knows_graph(cluster) && !whole_ && (nodes_ == 1 || gpus_ == 1)) {
    const Link& link = nodes_ == 1 ? cluster.intra_node : cluster.network;
    port_ = {to_seconds(link.latency), inverse(link.bandwidth).seconds_per_byte};
    return;
  }
  const Cluster known = first_nodes(cluster, known_nodes_, whole_);
  has_graph_ = known.node != nullptr;
  machine_.emplace(known);
  channels_ = machine_->channels();
}

/// Fewer do where all nodes are alike and none has folded; three show a neighbour on each side.
std::int64_t RoundLinks::most_nodes_known() const {
  const bool alike = !whole_ && unfolded(workers()) == workers();
  return std::max<std::int64_t>(3, (alike ? kMostKnown / 8 : kMostKnown) / gpus_);
}

RoundTime RoundLinks::time(std::span<const Sent> sent) const {
  if (port_) return time_at_ports(sent);
  RoundTime time;
  std::vector<std::int64_t> loads(channels_.size());
  std::vector<ChannelId> path;
  const auto route = [&](const Sent& each) -> const std::vector<ChannelId>& {
    path.clear();
    machine_->route(static_cast<Endpoint>(each.from), static_cast<Endpoint>(each.to), path);
    return path;
  };
  for (const Sent& each : sent) {
    for (const ChannelId c : route(each))
      ++loads[c];
  }
  for (const Sent& each : sent) {
    Duration latency{};
    Line line;
    bool shares = false;
    for (const ChannelId c : route(each)) {
      const double beta = inverse(channels_[c].bandwidth).seconds_per_byte;
      latency = checked_add(latency, channels_[c].latency);
      line.beta = std::max(line.beta, static_cast<double>(loads[c]) * beta);
      shares = shares || loads[c] > 1;
    }
    line.alpha = to_seconds(latency);
    time.add(line, shares);
    time.even = time.even && !(shares && fifo_);
  }
  return time;
}

/// Each rank sends through a port of its own, and receives through another.
RoundTime RoundLinks::time_at_ports(std::span<const Sent> sent) const {
  std::int64_t ranks = 0;
  for (const auto& [from, to] : sent)
    ranks = std::max({ranks, from + 1, to + 1});
  std::vector<std::int64_t> out(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> in(static_cast<std::size_t>(ranks));
  for (const auto& [from, to] : sent) {
    ++out[static_cast<std::size_t>(from)];
    ++in[static_cast<std::size_t>(to)];
  }
  RoundTime time;
  for (const auto& [from, to] : sent) {
    const std::int64_t load =
        std::max(out[static_cast<std::size_t>(from)], in[static_cast<std::size_t>(to)]);
    time.add({port_->alpha, static_cast<double>(load) * port_->beta}, load > 1);
    time.even = time.even && !(load > 1 && fifo_);
  }
  return time;
}

std::optional<Duration> RoundLinks::played(const Programs& programs, TimePerByte gamma) const {
  if (!knows_all() || !machine_) return std::nullopt;
  return played_time(programs, *machine_, gamma, {});
}

std::int64_t RoundLinks::shown(std::int64_t step) const {
  return std::min(whole_ ? workers() : std::lcm(gpus_, step), known());
}

RoundTime RoundLinks::rings(std::span<const std::int64_t> strides) const {
  RoundTime all;
  if (workers() == 1) return all;
  if (port_) {
    const auto share = static_cast<double>(strides.size());
    all.add({port_->alpha, share * port_->beta}, share > 1);
    return all;
  }
  // What is sent beyond the neighbours of three nodes leaves its node anyway.
  const bool is_near = std::all_of(strides.begin(), strides.end(),
                                   [this](std::int64_t stride) { return stride <= 2 * gpus_; });
  const std::int64_t ranks = is_near && !whole_ ? std::min(3 * gpus_, known()) : known();
  std::vector<Sent> sent;
  for (std::int64_t r = 0; r < ranks; ++r) {
    for (const std::int64_t stride : strides)
      sent.push_back({r, (r + stride) % ranks});
  }
  return time(sent);
}

RoundTime RoundLinks::ring() const {
  return rings(std::array<std::int64_t, 1>{1});
}

RoundLinks::Chain RoundLinks::chain() const {
  if (port_) {
    const auto hops = static_cast<double>(workers() - 1);
    return {ring(), {hops * port_->alpha, hops * port_->beta}};
  }
  std::vector<Sent> sent;
  for (std::int64_t r = 0; r + 1 < (whole_ ? workers() : std::min(3 * gpus_, known())); ++r)
    sent.push_back({r, r + 1});
  Chain chain{time(sent), {}};
  // The first node stands for all, and the message to the next for all between nodes.
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const std::int64_t to = sent[i].to;
    const std::int64_t times = whole_ ? 1 : to < gpus_ ? nodes_ : to == gpus_ ? nodes_ - 1 : 0;
    chain.sum.alpha += static_cast<double>(times) * chain.time.lines[i].alpha;
    chain.sum.beta += static_cast<double>(times) * chain.time.lines[i].beta;
  }
  return chain;
}

RoundTime RoundLinks::swap(std::int64_t distance) const {
  if (port_ || unfolded(workers()) == workers()) return swap_unfolded(distance);
  if (knows_all()) return time(swaps_after_folding(workers(), distance));
  // Ranks that folded are twice as far apart, and half as many.
  RoundTime both = swap_unfolded(distance);
  both.add(swap_unfolded(2 * distance));
  return both;
}

RoundTime RoundLinks::swap_unfolded(std::int64_t distance) const {
  std::vector<Sent> sent;
  if (port_ || (distance >= gpus_ && !whole_)) {
    // All GPUs of a node send to other nodes; which ones does not matter.
    for (std::int64_t i = 0; i < (port_ ? 1 : gpus_); ++i) {
      const std::int64_t partner = gpus_ + (i + distance) % gpus_;
      sent.push_back({i, partner});
      sent.push_back({partner, i});
    }
    return time(sent);
  }
  const std::int64_t ranks = shown(2 * distance);
  for (std::int64_t r = 0; r < ranks; ++r) {
    if ((r ^ distance) < ranks) sent.push_back({r, r ^ distance});
  }
  return time(sent);
}

RoundTime RoundLinks::fold() const {
  const std::int64_t folded = 2 * (workers() - unfolded(workers()));
  std::vector<Sent> sent;
  for (std::int64_t r = 0; r < std::min(folded, port_ ? 1 : shown(2)); r += 2)
    sent.push_back({r, r + 1});
  return time(sent);
}

RoundTime RoundLinks::tree(std::int64_t distance) const {
  RoundTime all;
  if (port_) {
    if (distance < workers()) all.add(*port_, false);
    return all;
  }
  if (whole_ || distance < gpus_) {
    std::vector<Sent> sent;
    for (std::int64_t r = distance; r < shown(2 * distance); r += 2 * distance)
      sent.push_back({r, r - distance});
    return time(sent);
  }
  // A node has one message at most. Where in a graph its ends are repeats.
  const std::int64_t places = has_graph_ ? gpus_ : 1;
  for (std::int64_t i = 0; i < places && (2 * i + 1) * distance < workers(); ++i) {
    const std::int64_t r = (2 * i + 1) * distance;
    all.add(time(std::array{Sent{r % gpus_, gpus_ + (r - distance) % gpus_}}));
  }
  return all;
}

}  // namespace steptime
