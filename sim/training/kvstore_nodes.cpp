#include "sim/training/kvstore_nodes.h"

#include "sim/events/rank_timeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {

/// What a node adds up, and what its workers exchange with it.
class KvStoreNodes::NodeDrawing final : public ServerDrawing {
 public:
  NodeDrawing(KvStoreNodes& all, std::int32_t node, const std::string& actor)
      : drawing_(all.training_.drawing),
        names_(all.training_.plan.names),
        first_(node * all.per_node_),
        lanes_(actors(drawing_.timeline(), actor, all.training_.plan.aggregation.servers.count)) {}
  void served(std::int32_t server, const char* what, std::int32_t client, std::int32_t bucket,
              Time start, Time end) override {
    lanes_[static_cast<std::size_t>(server)].add(
        "thread", fmt::format("{} {}", what, names_[static_cast<std::size_t>(bucket)]), start, end,
        {.flow = drawing_.flow(first_ + client, bucket)});
  }
  void pushed(const Exchanged& of, Time in) override { drawing_.pushed(of_worker(of), in); }
  void pulled(const Exchanged& of, Time in) override { drawing_.pulled(of_worker(of), in); }

 private:
  Exchanged of_worker(Exchanged of) const {
    of.client += first_;
    return of;
  }
  Drawing& drawing_;
  const std::vector<std::string>& names_;
  std::int32_t first_;  ///< its first worker's number
  std::vector<RankTimeline> lanes_;
};

/// The workers of a node, and where it adds up what they push.
class KvStoreNodes::Node final : public SynchronousServers, private PieceLineUser {
 public:
  Node(KvStoreNodes& all, std::int32_t number, std::unique_ptr<PieceWire> wire)
      : SynchronousServers(
            all.training_.world, *wire, all.training_.plan.pieces,
            {.clients = all.per_node_,
             .servers = static_cast<std::int32_t>(all.training_.plan.aggregation.servers.count),
             .costs = all.training_.plan.aggregation.servers.costs(),
             .name = fmt::format("node {} merge", number)}),
        all_(all),
        number_(number),
        wire_(std::move(wire)),
        pull_issued_(all.training_.plan.pieces.size()),
        pushes_(*this),
        values_([this](std::int32_t sum, When end) { values_came(sum, end); }),
        copies_(all.copies_ ? all.sums_.size() : 0) {
    for (std::size_t sum = 0; sum < copies_.size(); ++sum) {
      copies_[sum].client = all.per_node_;  // the host
      copies_[sum].bucket = all.sums_[sum].bucket;
      copies_[sum].first_slot = all.sums_[sum].first_of_bucket;
    }
    if (!all.training_.drawing.is_on()) return;
    drawing_ = std::make_unique<NodeDrawing>(all, number, terms_.name);
    set_drawing(drawing_.get());
  }

  void push(const Worker& worker, std::int32_t bucket, Client& who) {
    pushes_.count = who.counts();
    const auto& issued = all_.training_.plan.issued;
    const std::int32_t client = worker.number() % all_.per_node_;
    if (issued.empty()) return pushpull(client, bucket, who);
    const auto b = static_cast<std::size_t>(bucket);
    pull_issued_[b] = std::max(pull_issued_[b], worker.start() + issued[b].pull);
    const When leaves = issue(world_.present(), worker.start() + issued[b].push);
    if (leaves.time <= world_.now()) return pushpull(client, bucket, who);
    world_.engine.at(leaves, Phase::kNormal,
                     [this, client, bucket, &who] { pushpull(client, bucket, who); });
  }
  std::int64_t copied() const { return copied_; }

 private:
  /// What the node pushes when its workers have.
  struct Pushes final : Client {
    explicit Pushes(Node& of) : node(of) {}
    void came(std::int32_t sum, When end) override { node.pushes_answered(sum, end); }
    bool counts() const override { return count; }
    Node& node;
    bool count = true;  ///< whether the worker does that pushed last
  };

  const Sum& sum(std::uint32_t number) const { return all_.sums_[number]; }
  /// When what is ready at `when` is issued.
  When issue(When when, Time issued) {
    return world_.engine.until(when, std::max(when.time, issued), all_.issues_);
  }
  /// When a piece may come back, which is there at `when`.
  When back(std::uint32_t number, When when) {
    return issue(when, pull_issued_[static_cast<std::size_t>(sum(number).bucket)]);
  }
  template <class Action>
  void at(When when, Action action) {
    world_.engine.at(later(world_.present(), when), Phase::kNormal, action);
  }

  void added_up(std::uint32_t number, When end) override {
    at(end, [this, number] { all_.copies_ ? copy(number, false) : push_beyond(number); });
  }
  void push_beyond(std::uint32_t number) {
    const auto sum = static_cast<std::int32_t>(number);
    all_.beyond_->servers().push(number_, sum, pushes_);
  }
  void pushes_answered(std::int32_t number, When end) {
    at(back(static_cast<std::uint32_t>(number), end),
       [this, number] { all_.beyond_->servers().pull(number_, number, values_); });
  }
  void values_came(std::int32_t number, When end) {
    const auto sum = static_cast<std::uint32_t>(number);
    at(back(sum, end), [this, sum] { all_.copies_ ? copy(sum, true) : give_back(sum); });
  }
  void give_back(std::uint32_t number) { answer_all(number, world_.present()); }

  /// Between the host and where the node adds up, from now on.
  void copy(std::uint32_t number, bool back) {
    ++copied_;
    copies_[number].push_sent = world_.now();
    const std::uint32_t piece = number - sum(number).first_of_bucket;
    wire_->line().carry({&copies_[number], piece, back}, *this);
  }
  void came(const SentPiece& sent, When in) override {
    const std::uint32_t number = sent.of->first_slot + sent.piece;
    all_.beyond_->draw(number_, sent.is_push ? "copy back" : "copy",
                       static_cast<std::int32_t>(number), sent.of->push_sent, in.time);
    at(in, [this, number, back = sent.is_push] { back ? give_back(number) : push_beyond(number); });
  }

  KvStoreNodes& all_;
  std::int32_t number_;
  std::unique_ptr<PieceWire> wire_;
  std::vector<Time> pull_issued_;  ///< one for every bucket, in the present step
  Pushes pushes_;
  OnEnd values_;
  std::vector<Exchanged> copies_;  ///< one for every sum
  std::int64_t copied_ = 0;
  std::unique_ptr<NodeDrawing> drawing_;
};

KvStoreNodes::KvStoreNodes(TrainingRun& training, Roads& roads, Store* store)
    : training_(training),
      per_node_(static_cast<std::int32_t>(training.plan.cluster.gpus_per_node)),
      copies_(training.plan.aggregation.servers.placement->is_on_gpus()),
      issues_(training.world.engine.reason("thread issues pushes and pulls", "host")) {
  const TrainingPlan& plan = training.plan;
  World& world = training.world;
  std::vector<std::string> names;
  for (std::size_t bucket = 0; bucket < plan.pieces.size(); ++bucket) {
    const auto first = static_cast<std::uint32_t>(sums_.size());
    const std::size_t pieces = plan.pieces[bucket].size();
    sums_.resize(sums_.size() + pieces, {static_cast<std::int32_t>(bucket), first});
    names.insert(names.end(), pieces, plan.names[bucket]);
  }
  beyond_ = std::make_unique<ServersOfHosts>(world, plan, roads, training.drawing.timeline(),
                                             std::move(names));
  beyond_->servers().set_store(store);
  for (std::int32_t node = 0; node < static_cast<std::int32_t>(plan.cluster.nodes); ++node) {
    nodes_.push_back(std::make_unique<Node>(
        *this, node,
        std::make_unique<PieceWire>(world, roads.line_in_node(node), PieceWire::Ends{}, plan.pieces,
                                    PieceWire::Begins::kInOrder)));
  }
}

KvStoreNodes::~KvStoreNodes() = default;

void KvStoreNodes::exchange(const Worker& worker, std::int32_t bucket, Client& who) {
  nodes_[static_cast<std::size_t>(worker.number() / per_node_)]->push(worker, bucket, who);
}

std::int64_t KvStoreNodes::messages() const {
  std::int64_t sum = servers().messages();
  for (const auto& node : nodes_)
    sum += node->messages() + node->copied();
  return sum;
}

}  // namespace steptime
