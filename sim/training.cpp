// play_training: clients and servers on the event engine.
#include "sim/training.h"

#include "sim/connections.h"
#include "sim/engine.h"
#include "sim/error.h"
#include "sim/fingerprint.h"
#include "sim/ports.h"
#include "sim/random.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

class TrainingPlayer {
 public:
  TrainingPlayer(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                 const Convergence* convergence, std::int64_t samples)
      : plan_(plan),
        seed_(seed),
        learner_(learner),
        convergence_(convergence),
        samples_(static_cast<double>(samples)),
        servers_count_(plan.aggregation.servers.count),
        members_(plan.cluster.workers() / plan.aggregation.clients),
        buckets_(plan.step.buckets.size()),
        ports_(plan.cluster, nodes(plan), plan.aggregation.servers.workers_per_host_link),
        clients_(static_cast<std::size_t>(plan.aggregation.clients)),
        servers_(static_cast<std::size_t>(servers_count_)),
        connections_(clients_.size(), pull_time() == PullTime::kPushed ? servers_.size() : 0) {
    for (std::size_t b = 0; b < buckets_; ++b) {
      first_slot_.push_back(slots_.size());
      for (const Piece& piece : plan.pieces[b])
        slots_.push_back({&piece, b, 0, 0});
    }
    first_slot_.push_back(slots_.size());
    constexpr double kMostStates = 3e8;
    if (static_cast<double>(clients_.size()) * static_cast<double>(slots_.size() + buckets_) >
        kMostStates) {
      throw InputError(fmt::format("{} clients with {} messages each are more than fit in memory",
                                   clients_.size(), slots_.size()));
    }
    if (servers_count_ > 0) {
      open_.resize(clients_.size() * buckets_);
      last_.resize(clients_.size() * buckets_);
      seen_.resize(clients_.size() * slots_.size());
    }
    if (pulls_first()) orders_.resize(clients_.size() * buckets_);
    times_.bucket_ready.resize(buckets_);
    times_.bucket_sent.resize(buckets_);
    times_.bucket_end.resize(buckets_);
  }

  TrainingTimes play() {
    test(0);
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(clients_.size()); ++c)
      engine_.at(Time{}, Phase::kNormal, [this, c] { start_step(c); });
    engine_.run();
    summarise();
    return std::move(times_);
  }

 private:
  struct Client {
    std::int64_t step = 0;
    Time start{};
    Time origin{};  ///< when the step would have started if its forward pass had not waited
    double factor = 1;
    bool exchanges = false;
    std::size_t pulling = 0;  ///< buckets that the forward pass waits for
    std::size_t bucket = 0;   ///< whose all-reduce is next or running
    std::size_t open = 0;     ///< parts of the step that are not over
    Time done{};              ///< of the parts that are over, the latest
    Time broadcast_free{};    ///< when the client's broadcasts so far are over
    Duration computed{};      ///< sum over the steps
    Time end{};
  };
  struct Server {
    Time free{};  ///< when its thread is free
    Duration busy{};
  };
  /// A piece with its state on the server.
  struct Slot {
    const Piece* piece;
    std::size_t bucket;
    std::int64_t pushed;                  ///< synchronous: pushes of this step that are in
    std::uint32_t version;                ///< updates so far
    std::vector<std::int32_t> waiting{};  ///< clients that asked for the sum before it was ready
  };

  static std::int64_t nodes(const TrainingPlan& plan) {
    const ServerGroup& servers = plan.aggregation.servers;
    return plan.cluster.nodes + (servers.with_workers ? 0 : servers.count);
  }
  PortEnd client_end(std::int32_t c) const {
    const std::int64_t rank_0 = c * members_;
    return {static_cast<std::int32_t>(rank_0 / plan_.cluster.gpus_per_node),
            static_cast<std::int32_t>(rank_0)};
  }
  PortEnd server_end(std::int32_t s) const {
    const auto nodes = static_cast<std::int32_t>(plan_.cluster.nodes);
    return {plan_.aggregation.servers.with_workers ? s % nodes : nodes + s, -1};
  }
  bool elastic() const { return plan_.update.kind == Update::Kind::kEsgd; }
  PullTime pull_time() const {
    const ServerGroup& servers = plan_.aggregation.servers;
    return servers.fused ? PullTime::kAnswered : servers.pull;
  }
  bool pulls_first() const { return servers_count_ > 0 && pull_time() == PullTime::kNextStep; }
  bool synchronous() const { return plan_.update.kind == Update::Kind::kSgd; }
  Client& client(std::int32_t c) { return clients_[static_cast<std::size_t>(c)]; }
  std::size_t at(std::int32_t c, std::size_t bucket) const {
    return static_cast<std::size_t>(c) * buckets_ + bucket;
  }
  static Duration scaled(Duration d, double factor) {
    return factor == 1 ? d : from_seconds(to_seconds(d) * factor);
  }

  void start_step(std::int32_t c) {
    Client& me = client(c);
    me.start = engine_.now();
    me.factor = 0;
    for (std::int64_t m = 0; m < members_; ++m) {
      me.factor = std::max(me.factor, plan_.variation.factor(seed_, c * members_ + m, me.step));
    }
    me.origin = me.start;
    if (!pulls_first() || buckets_ == 0) return compute(c);
    me.pulling = buckets_;
    order_pulls(c);
    pull_next(c, 0);
  }

  /// The order in which a client's pulls of a step are asked for.
  void order_pulls(std::int32_t c) {
    const std::span<std::uint32_t> order(&orders_[at(c, 0)], buckets_);
    std::iota(order.rbegin(), order.rend(), 0U);
    if (plan_.aggregation.servers.pulls_in_order) return;
    shuffle(order, RandomStream(seed_, Purpose::kPullOrder), static_cast<std::uint32_t>(c),
            static_cast<std::uint32_t>(client(c).step));
  }

  /// Asks for the i-th bucket, and lets the other clients ask for theirs before the next one.
  void pull_next(std::int32_t c, std::size_t i) {
    const std::size_t bucket = orders_[at(c, i)];
    last_[at(c, bucket)] = engine_.now();
    if (i + 1 < buckets_) {
      engine_.at(engine_.now(), Phase::kNormal, [this, c, i] { pull_next(c, i + 1); });
    }
    if (plan_.pieces[bucket].empty()) return pulled(c, bucket, engine_.now());
    ask(c, bucket);
  }

  /// A bucket that the forward pass needs is there at `when`.
  void pulled(std::int32_t c, std::size_t bucket, Time when) {
    Client& me = client(c);
    me.origin = std::max(me.origin, when - scaled(plan_.needed[bucket], me.factor));
    if (--me.pulling > 0) return;
    if (learner_ != nullptr) learner_->finish(c, false);
    compute(c);
  }

  void compute(std::int32_t c) {
    Client& me = client(c);
    const Duration compute =
        scaled(plan_.step.forward, me.factor) + scaled(plan_.step.backward, me.factor);
    me.computed += compute;
    me.done = me.origin + compute;
    me.exchanges = elastic() && me.step % plan_.update.interval == 0;
    me.open = 1;
    me.bucket = 0;
    if (learner_ != nullptr) learner_->compute(c, me.step);
    const bool reduces = buckets_ > 0 && (!elastic() || members_ > 1);
    if (reduces) me.open += buckets_;
    if (me.exchanges) me.open += buckets_;
    if (me.exchanges) {
      for (std::size_t b = buckets_; b > 0; --b)  // keys in forward order, as in Figure 8
        push(c, b - 1);
    }
    if (reduces) reduce_next(c);
    close(c, me.done);
  }

  /// Starts the next all-reduce of the client, which ends when its gradients exist and the one
  /// before is over.
  void reduce_next(std::int32_t c) {
    Client& me = client(c);
    const Bucket& bucket = plan_.step.buckets[me.bucket];
    const Time ready = me.origin + scaled(bucket.ready, me.factor);
    const Time end = std::max(engine_.now(), ready) + bucket.cost;
    if (c == 0 && me.step == 0) {
      times_.bucket_ready[me.bucket] = ready - me.start;
      times_.bucket_sent[me.bucket] = end - bucket.cost - me.start;
      times_.bucket_end[me.bucket] = end - me.start;
    }
    engine_.at(end, Phase::kComplete, [this, c] {
      const std::size_t reduced = client(c).bucket++;
      if (client(c).bucket < buckets_) reduce_next(c);
      if (elastic() || servers_count_ == 0) {
        close(c, engine_.now());
      } else {
        push(c, reduced);
      }
    });
  }

  /// One part of the step is over at `when`, which may lie ahead.
  void close(std::int32_t c, Time when) {
    Client& me = client(c);
    me.done = std::max(me.done, when);
    if (--me.open > 0) return;
    engine_.at(me.done, Phase::kNormal, [this, c] { finish_step(c); });
  }

  void finish_step(std::int32_t c) {
    Client& me = client(c);
    if (learner_ != nullptr && !pulls_first()) learner_->finish(c, me.exchanges);
    ++me.step;
    if (c == 0) test(me.step);
    me.end = engine_.now();
    if (me.step < plan_.steps) start_step(c);
  }

  void push(std::int32_t c, std::size_t bucket) {
    open_[at(c, bucket)] = static_cast<std::int32_t>(plan_.pieces[bucket].size());
    last_[at(c, bucket)] = engine_.now();
    if (plan_.pieces[bucket].empty()) return complete(c, bucket);
    // Every client begins with another server, as its connections would share its port.
    const std::size_t pieces = plan_.pieces[bucket].size();
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::size_t s = first_slot_[bucket] + (i + static_cast<std::size_t>(c)) % pieces;
      const Piece& piece = *slots_[s].piece;
      const Passage message =
          ports_.depart(client_end(c), server_end(piece.server), piece.bytes, engine_.now());
      ++times_.messages;
      if (pull_time() == PullTime::kPushed) connections_.push(c, piece.server);
      engine_.at(message.head, Phase::kNormal,
                 [this, c, slot = static_cast<std::uint32_t>(s), tail = message.tail] {
                   pushed(c, slot, tail);
                 });
    }
  }

  /// The thread of a server works on a request that is there at `when`; returns when it is done.
  Time serve(std::int32_t server, Time when, Duration work) {
    Server& s = servers_[static_cast<std::size_t>(server)];
    const Duration all = plan_.aggregation.servers.request_time + work;
    s.busy += all;
    return s.free = std::max(s.free, when) + all;
  }
  Duration handling(Bytes bytes) const {
    const auto& rate = plan_.aggregation.servers.rate;
    if (!rate) return {};
    return from_seconds(static_cast<double>(bytes.count) / rate->bytes_per_second);
  }
  Duration updating(Bytes bytes) const {
    return from_seconds(plan_.aggregation.servers.update.seconds_per_byte *
                        static_cast<double>(bytes.count));
  }

  /// The first byte of a push is at the server.
  void pushed(std::int32_t c, std::uint32_t slot_index, Time tail) {
    const Piece& piece = *slots_[slot_index].piece;
    const Time in =
        ports_.arrive(client_end(c), server_end(piece.server), piece.bytes, {engine_.now(), tail});
    if (pull_time() != PullTime::kPushed) return received(c, slot_index, in);
    // What is asked for meanwhile must not wait for it.
    engine_.at(in, Phase::kNormal, [this, c, slot_index] {
      const std::int32_t server = slots_[slot_index].piece->server;
      for (const std::uint32_t request : connections_.deliver(c, server))
        asked(c, request, engine_.now());
      received(c, slot_index, engine_.now());
    });
  }

  /// The last byte of a push is at the server, at `in`.
  void received(std::int32_t c, std::uint32_t slot_index, Time in) {
    Slot& slot = slots_[slot_index];
    const Piece& piece = *slot.piece;
    Duration work = handling(piece.bytes);
    if (synchronous()) {
      const bool complete = ++slot.pushed == static_cast<std::int64_t>(clients_.size());
      if (complete) work += updating(piece.bytes);
      const Time end = serve(piece.server, in, work);
      if (pull_time() == PullTime::kPushed) answer_push(c, slot_index, end);
      if (!complete) return;
      slot.pushed = 0;
      ++slot.version;
      count_staleness(0, static_cast<std::int64_t>(clients_.size()));
      if (learner_ != nullptr) {
        for (const ParameterRange& range : piece.ranges)
          learner_->apply_all(range);
      }
      if (pull_time() == PullTime::kPushed) return answer_waiting(slot_index, end);
      const auto clients = static_cast<std::int32_t>(clients_.size());
      for (std::int32_t i = 0; i < clients; ++i)  // and every server with another client
        answer_push((piece.server + i) % clients, slot_index, end);
      return;
    }
    work += updating(piece.bytes);
    const Time end = serve(piece.server, in, work);
    count_staleness(slot.version - seen_[seen(c, slot_index)], 1);
    ++slot.version;
    if (learner_ != nullptr) {
      for (const ParameterRange& range : piece.ranges)
        learner_->apply(c, range);
    }
    answer_push(c, slot_index, end);
  }

  std::size_t seen(std::int32_t c, std::uint32_t slot) const {
    return static_cast<std::size_t>(c) * slots_.size() + slot;
  }

  void count_staleness(std::uint32_t staleness, std::int64_t updates) {
    constexpr std::uint32_t kMost = 1 << 20;
    staleness = std::min(staleness, kMost);
    if (times_.staleness.size() <= staleness) times_.staleness.resize(staleness + 1);
    times_.staleness[staleness] += updates;
  }

  void answer_push(std::int32_t c, std::uint32_t slot_index, Time end) {
    const Piece& piece = *slots_[slot_index].piece;
    if (plan_.aggregation.servers.fused) {
      const Time sent = serve_pull(c, slot_index, end);
      return send_values(c, slot_index, sent);
    }
    const Duration latency = ports_.latency(server_end(piece.server), client_end(c));
    engine_.at(end + latency, Phase::kNormal, [this, c, slot_index] {
      if (pull_time() == PullTime::kPushed) return ask_behind(c, slot_index);
      const std::size_t bucket = slots_[slot_index].bucket;
      if (--open_[at(c, bucket)] > 0) return;
      if (pull_time() == PullTime::kAnswered) return ask(c, bucket);
      end_bucket(c, bucket, engine_.now());
    });
  }

  /// Asks for all pieces of a bucket.
  void ask(std::int32_t c, std::size_t bucket) {
    open_[at(c, bucket)] = static_cast<std::int32_t>(plan_.pieces[bucket].size());
    for (std::size_t s = first_slot_[bucket]; s < first_slot_[bucket + 1]; ++s) {
      const auto asked = static_cast<std::uint32_t>(s);
      engine_.after(
          ports_.latency(client_end(c), server_end(slots_[s].piece->server)), Phase::kNormal,
          [this, c, asked] { send_values(c, asked, serve_pull(c, asked, engine_.now())); });
    }
  }

  /// Asks for a piece, behind what the connection still carries.
  void ask_behind(std::int32_t c, std::uint32_t slot_index) {
    const std::int32_t server = slots_[slot_index].piece->server;
    if (connections_.holds(c, server, slot_index)) return;
    engine_.after(ports_.latency(client_end(c), server_end(server)), Phase::kNormal,
                  [this, c, slot_index] { asked(c, slot_index, engine_.now()); });
  }

  void asked(std::int32_t c, std::uint32_t slot_index, Time when) {
    Slot& slot = slots_[slot_index];
    if (synchronous() && slot.version == static_cast<std::uint32_t>(client(c).step)) {
      slot.waiting.push_back(c);
    } else {
      send_values(c, slot_index, serve_pull(c, slot_index, when));
    }
  }

  void answer_waiting(std::uint32_t slot_index, Time when) {
    Slot& slot = slots_[slot_index];
    for (const std::int32_t c : slot.waiting)
      send_values(c, slot_index, serve_pull(c, slot_index, when));
    slot.waiting.clear();
  }

  /// Returns when the server's thread has the values ready.
  Time serve_pull(std::int32_t c, std::uint32_t slot_index, Time when) {
    const Slot& slot = slots_[slot_index];
    seen_[seen(c, slot_index)] = slot.version;
    const bool simultaneous = elastic() && !plan_.update.pull_sees_push;
    if (learner_ != nullptr && !simultaneous) {
      for (const ParameterRange& range : slot.piece->ranges)
        learner_->pull(c, range);
    }
    const Duration work = handling(slot.piece->bytes);
    if (plan_.aggregation.servers.fused) {  // no request of its own
      Server& s = servers_[static_cast<std::size_t>(slot.piece->server)];
      s.busy += work;
      return s.free = std::max(s.free, when) + work;
    }
    return serve(slot.piece->server, when, work);
  }

  void send_values(std::int32_t c, std::uint32_t slot_index, Time when) {
    if (plan_.aggregation.servers.with_workers && when > engine_.now()) {
      // Workers use the same port until then.
      engine_.at(when, Phase::kNormal,
                 [this, c, slot_index] { send_values(c, slot_index, engine_.now()); });
      return;
    }
    const Piece& piece = *slots_[slot_index].piece;
    const PortEnd from = server_end(piece.server);
    const Passage message = ports_.depart(from, client_end(c), piece.bytes, when);
    ++times_.messages;
    engine_.at(message.head, Phase::kNormal, [this, c, slot_index, tail = message.tail] {
      const Piece& sent = *slots_[slot_index].piece;
      const std::size_t bucket = slots_[slot_index].bucket;
      Time& last = last_[at(c, bucket)];
      last = std::max(last, ports_.arrive(server_end(sent.server), client_end(c), sent.bytes,
                                          {engine_.now(), tail}));
      if (--open_[at(c, bucket)] == 0) complete(c, bucket);
    });
  }

  /// Rank 0 has all values of a bucket; its client gets them too.
  void complete(std::int32_t c, std::size_t bucket) {
    Client& me = client(c);
    Time end = last_[at(c, bucket)];
    if (members_ > 1) {
      end = me.broadcast_free = std::max(end, me.broadcast_free) + plan_.broadcasts[bucket];
    }
    if (me.pulling > 0) return pulled(c, bucket, end);
    end_bucket(c, bucket, end);
  }

  void end_bucket(std::int32_t c, std::size_t bucket, Time end) {
    const Client& me = client(c);
    if (c == 0 && me.step == 0) times_.bucket_end[bucket] = end - me.start;
    close(c, end);
  }

  void test(std::int64_t step) {
    if (learner_ == nullptr) return;
    if (step % convergence_->evaluate != 0 && step != plan_.steps) return;
    std::int64_t steps = 0;
    for (const Client& each : clients_)
      steps += each.step;
    const auto taken = static_cast<double>(steps * members_ * convergence_->batch);
    times_.curve.push_back(
        {to_seconds(since_start(engine_.now())), taken / samples_, learner_->test()});
  }

  void summarise() {
    const auto clients = static_cast<double>(clients_.size());
    const auto steps = static_cast<double>(plan_.steps);
    double ends = 0;
    double computed = 0;
    Time last{};
    for (const Client& c : clients_) {
      STEPTIME_CHECK(c.step == plan_.steps, "the event list ran empty before the run was over");
      ends += to_seconds(since_start(c.end));
      computed += to_seconds(c.computed);
      last = std::max(last, c.end);
    }
    times_.end_s = to_seconds(since_start(last));
    times_.step_s = (synchronous() ? times_.end_s : ends / clients) / steps;
    times_.compute_s = computed / clients / steps;
    for (const Server& s : servers_)
      times_.server_busy_s = std::max(times_.server_busy_s, to_seconds(s.busy) / steps);
    times_.fingerprint = engine_.fingerprint();
    if (learner_ == nullptr) return;
    for (const double value : learner_->client(0))
      times_.fingerprint = mix(times_.fingerprint, std::bit_cast<std::uint64_t>(value));
  }

  Engine engine_;
  const TrainingPlan& plan_;
  std::int64_t seed_;
  Learner* learner_;
  const Convergence* convergence_;
  double samples_;
  std::int64_t servers_count_;
  std::int64_t members_;  ///< workers of a client
  std::size_t buckets_;
  Ports ports_;
  std::vector<Client> clients_;
  std::vector<Server> servers_;
  Connections connections_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> first_slot_;  ///< of every bucket, and the end
  // Per client and bucket: answers that are missing, and when the last one came.
  std::vector<std::int32_t> open_;
  std::vector<Time> last_;
  std::vector<std::uint32_t> orders_;  ///< of a step's first pulls, per client
  std::vector<std::uint32_t> seen_;    ///< version that a client pulled last, per client and slot
  TrainingTimes times_;
};

}  // namespace

TrainingTimes play_training(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                            const Convergence* convergence, std::int64_t samples) {
  return TrainingPlayer(plan, seed, learner, convergence, samples).play();
}

}  // namespace steptime
