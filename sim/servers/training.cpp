// play_training: clients and servers on the event engine.
#include "sim/servers/training.h"

#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/core/random.h"
#include "sim/events/engine.h"
#include "sim/events/rank_timeline.h"
#include "sim/servers/message_carrier.h"
#include "sim/servers/port_carrier.h"
#include "sim/servers/two_level_exchange.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace steptime {
namespace {

std::unique_ptr<Carrier> carrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user) {
  if (plan.plays_messages) return std::make_unique<MessageCarrier>(plan, engine, user);
  return std::make_unique<PortCarrier>(plan, engine, user);
}

class TrainingPlayer final : private CarrierUser, private ExchangeUser {
 public:
  TrainingPlayer(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                 const Convergence* convergence, std::int64_t samples, Timeline* timeline)
      : plan_(plan),
        seed_(seed),
        learner_(learner),
        convergence_(convergence),
        samples_(static_cast<double>(samples)),
        servers_count_(plan.aggregation.servers.count),
        sends_parameters_(plan.update->sends_parameters()),
        ends_together_(plan.update->ends_together()),
        members_(plan.members()),
        buckets_(plan.step.buckets.size()),
        work_(work_of(plan)),
        clients_(static_cast<std::size_t>(plan.aggregation.clients)),
        carrier_(carrier(plan, engine_, *this)),
        exchange_(plan, engine_, *carrier_, *this, learner, timeline) {
    if (timeline != nullptr) {
      for (std::size_t c = 0; c < clients_.size(); ++c)
        drawn_.emplace_back(timeline, static_cast<std::int32_t>(c * members()));
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
    constexpr std::uint64_t kBatch = 1 << 12;  // in a long run the only sign of life for a while
    while (engine_.run(kBatch) == kBatch)
      report();
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
    Time reduce_start{};      ///< of that all-reduce
    std::size_t open = 0;     ///< parts of the step that are not over
    Time done{};              ///< of the parts that are over, the latest
    Duration computed{};      ///< sum over the steps
    Time end{};
  };
  bool pulls_first() const {
    return servers_count_ > 0 && plan_.aggregation.servers.pull_time() == PullTime::kNextStep;
  }
  Client& client(std::int32_t c) { return clients_[static_cast<std::size_t>(c)]; }
  std::size_t members() const { return static_cast<std::size_t>(members_); }
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
    const std::span<std::uint32_t> order(&orders_[static_cast<std::size_t>(c) * buckets_],
                                         buckets_);
    std::iota(order.rbegin(), order.rend(), 0U);
    if (plan_.aggregation.servers.pulls_in_order) return;
    shuffle(order, RandomStream(seed_, Purpose::kPullOrder), static_cast<std::uint32_t>(c),
            static_cast<std::uint32_t>(client(c).step));
  }

  /// Asks for the i-th bucket, and lets the other clients ask for theirs before the next one.
  void pull_next(std::int32_t c, std::size_t i) {
    const std::size_t bucket = orders_[static_cast<std::size_t>(c) * buckets_ + i];
    if (i + 1 < buckets_) {
      engine_.at(engine_.now(), Phase::kNormal, [this, c, i] { pull_next(c, i + 1); });
    }
    exchange_.pull(c, bucket);
  }

  /// A bucket that the forward pass needs is there at `when`.
  void pulled(std::int32_t c, std::size_t bucket, Time when) {
    Client& me = client(c);
    me.origin = std::max(me.origin, when - scaled(plan_.needed[bucket], me.factor));
    if (--me.pulling > 0) return;
    if (learner_ != nullptr) learner_->take(c);
    compute(c);
  }

  void compute(std::int32_t c) {
    Client& me = client(c);
    const Duration compute =
        scaled(plan_.step.forward, me.factor) + scaled(plan_.step.backward, me.factor);
    me.computed += compute;
    me.done = me.origin + compute;
    if (!drawn_.empty()) {
      const Time middle = me.origin + scaled(plan_.step.forward, me.factor);
      drawn_[static_cast<std::size_t>(c)].add("compute", "forward", me.start, middle);
      drawn_[static_cast<std::size_t>(c)].add("compute", "backward", middle, me.done);
    }
    me.exchanges = sends_parameters_ && plan_.update->exchanges(me.step);
    me.open = 1;
    me.bucket = 0;
    if (learner_ != nullptr) learner_->compute(c, me.step);
    const bool reduces = buckets_ > 0 && (!sends_parameters_ || members_ > 1);
    if (reduces) me.open += buckets_;
    if (me.exchanges) me.open += buckets_;
    if (me.exchanges) {
      for (std::size_t b = buckets_; b > 0; --b)  // keys in forward order, as in Figure 8
        exchange_.push(c, b - 1, me.start);
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
    me.reduce_start = std::max(engine_.now(), ready);
    if (c == 0 && me.step == 0) {
      times_.bucket_ready[me.bucket] = ready - me.start;
      times_.bucket_sent[me.bucket] = me.reduce_start - me.start;
    }
    carrier_->all_reduce(c, me.bucket, me.reduce_start);
  }

  void reduced(std::int32_t c) override {
    Client& me = client(c);
    const std::size_t bucket = me.bucket++;
    ++reductions_;
    if (c == 0 && me.step == 0) times_.bucket_end[bucket] = engine_.now() - me.start;
    if (members_ > 1) draw(c, "all-reduce", bucket, me.reduce_start, engine_.now());
    if (me.bucket < buckets_) reduce_next(c);
    if (sends_parameters_ || servers_count_ == 0) {
      close(c, engine_.now());
    } else {
      exchange_.push(c, bucket, me.start);
    }
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
    if (learner_ != nullptr && !pulls_first()) learn(c);
    ++me.step;
    if (c == 0) test(me.step);
    if (c == 0) report();
    me.end = engine_.now();
    if (me.step < plan_.steps) start_step(c);
  }

  void learn(std::int32_t c) {
    const bool pulled = sends_parameters_ ? client(c).exchanges : servers_count_ > 0;
    if (pulled) learner_->take(c);
    learner_->descend(c);
  }

  void report() const {
    if (!plan_.on_progress) return;
    const auto over = static_cast<double>(exchange_.messages() + reductions_);
    plan_.on_progress(work_ > 0 ? over / work_
                                : static_cast<double>(clients_.front().step) /
                                      static_cast<double>(plan_.steps));
  }

  void pushed(std::span<const Timed> parts) override {
    for (const auto& [parcel, in] : parts) {
      if (!draws(parcel.client)) continue;
      draw(parcel.client, "push", parcel.bucket, exchange_.push_sent(parcel.client, parcel.bucket),
           in);
    }
    exchange_.pushed(parts);
  }

  void pulled(std::int32_t c, std::size_t bucket, std::int32_t parts, Time in) override {
    if (draws(c)) draw(c, "pull", bucket, exchange_.pull_sent(c, bucket), in);
    exchange_.pulled(c, bucket, parts, in);
  }

  void exchanged(std::int32_t c, std::size_t bucket, Time end) override {
    if (members_ == 1) return spread(c, bucket, end);
    carrier_->broadcast(c, bucket, end);
  }

  void answered(std::int32_t c, std::size_t bucket) override {
    end_bucket(c, bucket, engine_.now());
  }

  void spread(std::int32_t c, std::size_t bucket, Time end) override {
    if (client(c).pulling > 0) return pulled(c, bucket, end);
    end_bucket(c, bucket, end);
  }

  void end_bucket(std::int32_t c, std::size_t bucket, Time end) {
    const Client& me = client(c);
    if (c == 0 && me.step == 0) times_.bucket_end[bucket] = end - me.start;
    close(c, end);
  }

  /// Hosts draw themselves.
  bool draws(std::int32_t c) const { return static_cast<std::size_t>(c) < drawn_.size(); }
  void draw(std::int32_t c, const char* lane, std::size_t bucket, Time start, Time end) {
    if (drawn_.empty()) return;
    drawn_[static_cast<std::size_t>(c)].add(lane, plan_.names[bucket], start, end);
  }

  void test(std::int64_t step) {
    if (learner_ == nullptr) return;
    if (step % convergence_->evaluate != 0 && step != plan_.steps) return;
    std::int64_t steps = 0;
    for (const Client& each : clients_)
      steps += ends_together_ ? step : each.step;
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
    times_.step_s = (ends_together_ ? times_.end_s : ends / clients) / steps;
    times_.compute_s = computed / clients / steps;
    times_.server_busy_s = to_seconds(exchange_.most_busy()) / steps;
    times_.messages = exchange_.messages();
    times_.staleness = exchange_.staleness();
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
  bool sends_parameters_;  ///< as the update says, like the next
  bool ends_together_;
  std::int64_t members_;  ///< workers of a client
  std::size_t buckets_;
  double work_;
  std::vector<Client> clients_;
  std::unique_ptr<Carrier> carrier_;
  TwoLevelExchange exchange_;
  std::int64_t reductions_ = 0;        ///< all-reduces that are over
  std::vector<std::uint32_t> orders_;  ///< of a step's first pulls, per client
  std::vector<RankTimeline> drawn_;    ///< of every client; none without a timeline
  TrainingTimes times_;
};

}  // namespace

double work_of(const TrainingPlan& plan) {
  const auto steps = static_cast<double>(plan.steps);
  const bool sends_parameters = plan.update->sends_parameters();
  const double exchanges =
      sends_parameters ? static_cast<double>(plan.update->exchanges_in(plan.steps)) : steps;
  double pieces = 0;
  for (const auto& of_bucket : plan.pieces)
    pieces += static_cast<double>(of_bucket.size());
  const double reductions =
      sends_parameters && plan.members() == 1 ? 0 : static_cast<double>(plan.step.buckets.size());
  const bool copies = plan.aggregation.servers.placement == ServerGroup::Placement::kOnGpus;
  double beyond = 0;  // of a node
  for (const auto& of_piece : plan.pieces_beyond)
    beyond += 2 * static_cast<double>(of_piece.size()) + (copies ? 2 : 0);
  return static_cast<double>(plan.aggregation.clients) *
             (2 * pieces * exchanges + reductions * steps) +
         static_cast<double>(plan.cluster.nodes) * beyond * exchanges;
}

void check_training(const TrainingPlan& plan) {
  TrainingPlayer(plan, 1, nullptr, nullptr, 0, nullptr);
}

TrainingTimes play_training(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                            const Convergence* convergence, std::int64_t samples,
                            Timeline* timeline) {
  return TrainingPlayer(plan, seed, learner, convergence, samples, timeline).play();
}

}  // namespace steptime
