#include "sim/servers/two_level_exchange.h"

#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// What the exchange inside one node, or the one beyond the nodes, depends on.
TrainingPlan level(const TrainingPlan& plan, std::int64_t clients, ServerGroup servers) {
  return {.cluster = plan.cluster,
          .aggregation = {.clients = clients, .servers = std::move(servers)}};
}

TrainingPlan in_node(const TrainingPlan& plan) {
  if (!plan.aggregation.beyond) return {};
  TrainingPlan inner = level(plan, plan.cluster.gpus_per_node, plan.aggregation.servers);
  inner.pieces = plan.pieces;
  inner.names = plan.names;
  return inner;
}

TrainingPlan between_nodes(const TrainingPlan& plan) {
  if (!plan.aggregation.beyond) return {};
  ServerGroup servers = plan.aggregation.beyond->servers;
  if (!servers.fused) servers.pull = PullTime::kNextStep;  // when Beyond asks for it
  TrainingPlan outer = level(plan, plan.cluster.nodes, std::move(servers));
  outer.update = plan.update;
  outer.pieces = plan.pieces_beyond;
  for (std::size_t b = 0; b < plan.pieces.size(); ++b)
    outer.names.insert(outer.names.end(), plan.pieces[b].size(), plan.names[b]);
  return outer;
}

}  // namespace

/// The clients that meet at the same servers, with those: of one node, or of all.
class TwoLevelExchange::Node final : private ParcelCarrier, private ExchangeUser {
 public:
  Node(TwoLevelExchange& all, const TrainingPlan& plan, std::int32_t index, Learner* learner,
       Timeline* timeline)
      : exchange(plan, all.engine_, all.beyond_ ? *static_cast<ParcelCarrier*>(this) : all.carrier_,
                 *this, learner, timeline,
                 all.beyond_ ? fmt::format("node {} merge", index) : "server"),
        all_(all),
        index_(index),
        first_(index * all.per_node_),
        pull_issued_(plan.pieces.size()) {}

  void push(std::int32_t client, std::size_t bucket, Time start) {
    const auto& issued = all_.plan_.issued;
    When leaves = all_.engine_.present();
    if (!issued.empty()) {
      leaves = all_.issued(leaves, start + issued[bucket].push);
      pull_issued_[bucket] = std::max(pull_issued_[bucket], start + issued[bucket].pull);
    }
    const std::int32_t c = client - first_;
    if (leaves.time == all_.engine_.now()) return exchange.push(c, bucket);
    all_.at(leaves, [this, c, bucket] { exchange.push(c, bucket); });
  }
  void answer_pushes(std::uint32_t slot, When when) {
    all_.at(when, [this, slot] { exchange.answer_pushes(slot, all_.engine_.present()); });
  }
  /// When a bucket may come back, at `when` or later.
  When back(std::size_t bucket, When when) { return all_.issued(when, pull_issued_[bucket]); }

  void pushed(Timed part) {
    part.parcel.client -= first_;
    part.parcel.server = all_.slots_[part.parcel.slot].server;
    exchange.pushed({&part, 1});
  }
  /// The name of a server of this node among those of all nodes.
  std::int32_t place(std::int32_t server) const {
    const ServerGroup& servers = all_.plan_.aggregation.servers;
    return servers.placement == ServerGroup::Placement::kOnGpus
               ? index_ * static_cast<std::int32_t>(servers.count) + server
               : server * static_cast<std::int32_t>(all_.plan_.cluster.nodes) + index_;
  }

  Exchange exchange;

 private:
  Parcel outside(Parcel parcel) const {
    parcel.client += first_;
    parcel.server = place(parcel.server);
    return parcel;
  }
  void push(std::span<const Parcel> parts) override {
    std::vector<Parcel> moved(parts.begin(), parts.end());
    for (Parcel& part : moved)
      part = outside(part);
    all_.carrier_.push(moved);
  }
  void answer(std::span<const Timed> parts) override {
    std::vector<Timed> moved(parts.begin(), parts.end());
    for (Timed& part : moved)
      part.parcel = outside(part.parcel);
    all_.carrier_.answer(moved);
  }
  Duration latency(std::int32_t client, std::int32_t server) override {
    return all_.carrier_.latency(first_ + client, place(server));
  }
  std::optional<Duration> common_latency() const override { return std::nullopt; }
  void answered(std::int32_t client, std::size_t bucket) override {
    all_.user_.answered(first_ + client, bucket);
  }
  void exchanged(std::int32_t client, std::size_t bucket, When end) override {
    all_.user_.exchanged(first_ + client, bucket, end);
  }
  bool holds_answers(std::uint32_t slot, When end) override;
  bool counts(std::int32_t client) const override { return all_.user_.counts(first_ + client); }
  std::uint64_t flow(std::int32_t client, std::size_t bucket) const override {
    return all_.user_.flow(first_ + client, bucket);
  }

  TwoLevelExchange& all_;
  std::int32_t index_;
  std::int32_t first_;             ///< of its clients
  std::vector<Time> pull_issued_;  ///< of every bucket, in the present step
};

/// The hosts of the nodes and the servers beyond.
class TwoLevelExchange::Beyond final : private ParcelCarrier, private ExchangeUser {
 public:
  Beyond(TwoLevelExchange& all, const TrainingPlan& plan, Learner* learner, Timeline* timeline)
      : exchange(plan, all.engine_, *this, *this, learner, timeline),
        all_(all),
        plan_(plan),
        nodes_(static_cast<std::int32_t>(all.plan_.cluster.nodes)),
        first_host_(static_cast<std::int32_t>(all.plan_.aggregation.clients)),
        first_server_(nodes_ * static_cast<std::int32_t>(all.plan_.aggregation.servers.count)),
        hosts_{.count = nodes_, .rate = all.plan_.aggregation.beyond->client_rate},
        threads_(all.engine_, hosts_, plan.names, timeline, "host") {
    for (std::size_t slot = 0; slot < plan.pieces.size(); ++slot) {
      for (const Piece& piece : plan.pieces[slot])
        parts_.push_back({slot, piece.bytes});
    }
    if (timeline == nullptr) return;
    copy_sent_.resize(static_cast<std::size_t>(nodes_) * all.slots_.size());
    for (std::int32_t n = 0; n < nodes_; ++n)
      drawn_.emplace_back(timeline, fmt::format("host {}", n));
  }

  bool has(std::int32_t client) const { return client >= first_host_; }

  /// A node has added a piece up at `end`.
  void collect(std::int32_t n, std::uint32_t slot, When end) {
    if (copies()) return copy(n, slot, end, false);
    all_.at(end, [this, n, slot] { exchange.push(n, slot); });
  }

  void pushed(Timed part) {
    Parcel& parcel = part.parcel;
    const std::int32_t n = (parcel.client - first_host_) % nodes_;
    if (parcel.client >= first_host_ + nodes_) {
      draw(n, "copy back", parcel.slot, copy_sent(n, parcel.slot), part.at.time);
      return node(n).answer_pushes(parcel.slot, part.at);
    }
    parcel.client = n;
    parcel.server -= first_server_;
    parcel.bucket = static_cast<std::uint32_t>(parts_[parcel.slot].slot);
    draw(n, "push", parcel.bucket, push_sent(n, parcel.bucket), part.at.time);
    exchange.pushed({&part, 1});
  }

  /// `index`: of the piece that was copied, or of the part that was pulled.
  void pulled(std::int32_t client, std::size_t index, When in) {
    const std::int32_t n = (client - first_host_) % nodes_;
    if (client >= first_host_ + nodes_) {
      draw(n, "copy", index, copy_sent(n, index), in.time);
      return all_.at(in, [this, n, index] { exchange.push(n, index); });
    }
    const std::size_t slot = parts_[index].slot;
    draw(n, "pull", slot, pull_sent(n, slot), in.time);
    if (!hosts_.rate) return exchange.pulled(n, slot, 1, in);
    all_.at(in, [this, n, index] {
      const Part& part = parts_[index];
      exchange.pulled(n, part.slot, 1, handled("receive", n, part.slot, part.bytes));
    });
  }

  Exchange exchange;
  std::int64_t copied = 0;

 private:
  /// What a server has of a piece.
  struct Part {
    std::size_t slot;
    Bytes bytes;
  };

  bool copies() const {
    return all_.plan_.aggregation.servers.placement == ServerGroup::Placement::kOnGpus;
  }
  Node& node(std::int32_t n) const { return *all_.nodes_[static_cast<std::size_t>(n)]; }
  std::size_t of(std::int32_t n, std::size_t slot) const {
    return static_cast<std::size_t>(n) * all_.slots_.size() + slot;
  }
  Time copy_sent(std::int32_t n, std::size_t slot) const {
    return copy_sent_.empty() ? Time{} : copy_sent_[of(n, slot)];
  }
  Time push_sent(std::int32_t n, std::size_t slot) const {
    return drawn_.empty() ? Time{} : exchange.push_sent(n, slot);
  }
  Time pull_sent(std::int32_t n, std::size_t slot) const {
    return drawn_.empty() ? Time{} : exchange.pull_sent(n, slot);
  }

  /// Copies a piece between the host and where the node adds it up.
  void copy(std::int32_t n, std::uint32_t slot, When when, bool back) {
    const Slot& piece = all_.slots_[slot];
    ++copied;
    const Parcel parcel{.client = first_host_ + nodes_ + n,
                        .server = node(n).place(piece.server),
                        .slot = slot,
                        .bucket = back ? static_cast<std::uint32_t>(piece.bucket) : slot,
                        .bytes = piece.bytes,
                        .is_push = back};
    all_.at(when, [this, parcel] { copy_now(parcel); });
  }
  void copy_now(const Parcel& parcel) {
    const Time now = all_.engine_.now();
    if (!copy_sent_.empty())
      copy_sent_[of(parcel.client - first_host_ - nodes_, parcel.slot)] = now;
    if (parcel.is_push) return all_.carrier_.push({&parcel, 1});
    const Timed timed{parcel, all_.engine_.present()};
    all_.carrier_.answer({&timed, 1});
  }

  /// When the host's thread is through with what it sends or has received now.
  When handled(const char* what, std::int32_t n, std::size_t slot, Bytes bytes) {
    return threads_.serve(n, all_.engine_.present(), {what, slot, threads_.handling(bytes)});
  }

  Parcel outside(Parcel parcel) const {
    parcel.client += first_host_;
    parcel.server += first_server_;
    parcel.bucket = parcel.slot;
    return parcel;
  }
  void push(std::span<const Parcel> parts) override {
    if (!hosts_.rate) {
      std::vector<Parcel> moved(parts.begin(), parts.end());
      for (Parcel& part : moved)
        part = outside(part);
      return all_.carrier_.push(moved);
    }
    for (const Parcel& part : parts) {
      const When leaves = handled("send", part.client, part.bucket, part.bytes);
      all_.at(leaves, [this, moved = outside(part)] { all_.carrier_.push({&moved, 1}); });
    }
  }
  void answer(std::span<const Timed> parts) override {
    std::vector<Timed> moved(parts.begin(), parts.end());
    for (Timed& part : moved)
      part.parcel = outside(part.parcel);
    all_.carrier_.answer(moved);
  }
  Duration latency(std::int32_t client, std::int32_t server) override {
    return all_.carrier_.latency(first_host_ + client, first_server_ + server);
  }
  std::optional<Duration> common_latency() const override { return std::nullopt; }

  void answered(std::int32_t n, std::size_t slot) override {
    const When when = node(n).back(all_.slots_[slot].bucket, all_.engine_.present());
    all_.at(when, [this, n, slot] { exchange.pull(n, slot); });
  }
  void exchanged(std::int32_t n, std::size_t slot, When end) override {
    const auto piece = static_cast<std::uint32_t>(slot);
    const When when = node(n).back(all_.slots_[slot].bucket, end);
    if (copies()) return copy(n, piece, when, true);
    node(n).answer_pushes(piece, when);
  }

  void draw(std::int32_t n, const char* lane, std::size_t slot, Time start, Time end) {
    if (drawn_.empty()) return;
    drawn_[static_cast<std::size_t>(n)].add(lane, plan_.names[slot], start, end,
                                            {.bucket = static_cast<std::int64_t>(slot)});
  }

  TwoLevelExchange& all_;
  const TrainingPlan& plan_;
  std::int32_t nodes_;
  std::int32_t first_host_;    ///< among the carrier's clients
  std::int32_t first_server_;  ///< among its servers
  ServerGroup hosts_;
  ServerThreads threads_;
  std::vector<Part> parts_;
  std::vector<Time> copy_sent_;      ///< per node and piece; only with a timeline
  std::vector<RankTimeline> drawn_;  ///< of every host; none without a timeline
};

bool TwoLevelExchange::Node::holds_answers(std::uint32_t slot, When end) {
  if (all_.beyond_) {
    all_.beyond_->collect(index_, slot, end);
    return true;
  }
  const When when = back(all_.slots_[slot].bucket, end);
  if (when.time == end.time) return false;
  answer_pushes(slot, when);
  return true;
}

TwoLevelExchange::TwoLevelExchange(const TrainingPlan& plan, Engine& engine, Carrier& carrier,
                                   ExchangeUser& user, Learner* learner, Timeline* timeline)
    : plan_(plan),
      engine_(engine),
      carrier_(carrier),
      user_(user),
      issues_(engine.reason("thread issues pushes and pulls", "host")),
      in_node_(in_node(plan)),
      between_(between_nodes(plan)) {
  for (std::size_t b = 0; b < plan.pieces.size(); ++b) {
    for (const Piece& piece : plan.pieces[b])
      slots_.push_back({b, piece.server, piece.bytes});
  }
  if (!plan.aggregation.beyond) {
    per_node_ = static_cast<std::int32_t>(plan.aggregation.clients);
    nodes_.push_back(std::make_unique<Node>(*this, plan, 0, learner, timeline));
    return;
  }
  per_node_ = static_cast<std::int32_t>(plan.cluster.gpus_per_node);
  beyond_ = std::make_unique<Beyond>(*this, between_, learner, timeline);
  for (std::int32_t n = 0; n < static_cast<std::int32_t>(plan.cluster.nodes); ++n)
    nodes_.push_back(std::make_unique<Node>(*this, in_node_, n, nullptr, timeline));
}

TwoLevelExchange::~TwoLevelExchange() = default;

const Exchange& TwoLevelExchange::last() const {
  return beyond_ ? beyond_->exchange : nodes_.front()->exchange;
}

void TwoLevelExchange::push(std::int32_t c, std::size_t bucket, Time start) {
  node_of(c).push(c, bucket, start);
}

void TwoLevelExchange::pull(std::int32_t c, std::size_t bucket) {
  node_of(c).exchange.pull(c % per_node_, bucket);
}

void TwoLevelExchange::pushed(std::span<const Timed> parts) {
  if (!beyond_) return nodes_.front()->exchange.pushed(parts);
  for (const Timed& part : parts) {
    if (beyond_->has(part.parcel.client)) {
      beyond_->pushed(part);
    } else {
      node_of(part.parcel.client).pushed(part);
    }
  }
}

void TwoLevelExchange::pulled(std::int32_t c, std::size_t bucket, std::int32_t parts, When in) {
  if (beyond_ && beyond_->has(c)) return beyond_->pulled(c, bucket, in);
  node_of(c).exchange.pulled(c % per_node_, bucket, parts, in);
}

Time TwoLevelExchange::push_sent(std::int32_t c, std::size_t bucket) const {
  return node_of(c).exchange.push_sent(c % per_node_, bucket);
}

Time TwoLevelExchange::pull_sent(std::int32_t c, std::size_t bucket) const {
  return node_of(c).exchange.pull_sent(c % per_node_, bucket);
}

std::int64_t TwoLevelExchange::messages() const {
  std::int64_t sum = beyond_ ? beyond_->exchange.messages() + beyond_->copied : 0;
  for (const auto& node : nodes_)
    sum += node->exchange.messages();
  return sum;
}

}  // namespace steptime
