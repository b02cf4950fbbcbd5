// play_training: clients and servers on the event engine.
#include "sim/servers/training.h"

#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/core/random.h"
#include "sim/events/engine.h"
#include "sim/events/rank_timeline.h"
#include "sim/servers/channel_carrier.h"
#include "sim/servers/passes.h"
#include "sim/servers/reported_steps.h"
#include "sim/servers/sender.h"
#include "sim/servers/sent_step.h"
#include "sim/servers/two_level_exchange.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace steptime {
namespace {

class TrainingPlayer final : private CarrierUser, private ExchangeUser {
 public:
  TrainingPlayer(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                 const Convergence* convergence, std::int64_t samples, Timeline* timeline,
                 Causes* causes)
      : engine_(causes),
        causes_(causes),
        passes_(engine_, plan.step),
        plan_(plan),
        seed_(seed),
        learner_(learner),
        convergence_(convergence),
        samples_(static_cast<double>(samples)),
        servers_count_(plan.aggregation.servers.count),
        sends_parameters_(plan.update->sends_parameters()),
        sends_at_end_(plan.update->sends() == Update::Sends::kParametersAtEnd),
        waits_for_all_(plan.update->waits_for_all()),
        workers_meet_(plan.workers_meet()),
        members_(plan.cluster.workers() / plan.trainers()),
        buckets_(plan.step.buckets.size()),
        work_(work_of(plan)),
        steps_(plan, engine_),
        clients_(static_cast<std::size_t>(plan.trainers())),
        sent_(buckets_),
        carrier_(make_carrier(plan, engine_, *this)),
        exchange_(plan, engine_, *carrier_, *this, learner, timeline) {
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(plan.aggregation.clients); ++c)
      senders_.emplace_back(plan, engine_, *carrier_, sent_messages_, c,
                            [this, c](Time begin, When end) { computed(c, begin, end); });
    layers_wait_ = plan.schedule && plan.schedule->layers_wait_for_their_own() && buckets_ > 0 &&
                   !sends_parameters_ && !pulls_first();
    if (timeline != nullptr) {
      for (std::size_t c = 0; c < clients_.size(); ++c)
        drawn_.emplace_back(timeline, static_cast<std::int32_t>(c * members()));
    }
    if (pulls_first()) orders_.resize(clients_.size() * buckets_);
    if (plan.schedule && servers_count_ > 0) push_parts_.resize(clients_.size() * buckets_);
  }

  TrainingTimes play() {
    test(0);
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(clients_.size()); ++c)
      engine_.at(Time{}, Phase::kNormal, [this, c] { start_step(c); });
    constexpr std::uint64_t kBatch = 1 << 12;  // in a long run the only sign of life for a while
    while (engine_.run(kBatch) == kBatch)
      report();
    carrier_->expect_over();
    summarise();
    return std::move(times_);
  }

 private:
  struct Client {
    std::int64_t step = 0;
    Time start{};
    std::size_t open = 0;  ///< parts of the step that are not over
    When done{};           ///< of the parts that are over, the latest
    Time origin{};         ///< when the step would have started if its forward pass had not waited
    Held held{};           ///< what held the next forward pass up last, or ended the run
    double factor = 1;
    bool exchanges = false;   ///< parameters, in this step
    bool is_to_send = false;  ///< them, at its end
    std::size_t pulling = 0;  ///< buckets that the present or the next forward pass waits for
    bool is_waiting = false;  ///< for the last of them
    // Where layers wait for their own gradients, of the next step:
    Time origin_of_next{};  ///< at least
    double next_factor = 1;
    Duration computed{};  ///< sum over the steps
    Time end{};
  };
  bool pulls_first() const {
    return servers_count_ > 0 && plan_.aggregation.servers.pull_time() == PullTime::kNextStep;
  }
  Client& client(std::int32_t c) { return clients_[static_cast<std::size_t>(c)]; }
  std::size_t members() const { return static_cast<std::size_t>(members_); }
  Sender& sender(std::int32_t c) { return senders_[static_cast<std::size_t>(c)]; }

  /// Of the client's slowest worker.
  double factor(std::int32_t c, std::int64_t step) const {
    double factor = 0;
    for (std::int64_t m = 0; m < members_; ++m)
      factor = std::max(factor, plan_.variation.factor(seed_, c * members_ + m, step));
    return factor;
  }

  void start_step(std::int32_t c) {
    Client& me = client(c);
    if (!layers_wait_ || me.step == 0) steps_.begun(me.step);
    me.start = engine_.now();
    me.factor = factor(c, me.step);
    me.origin = me.start;
    if (layers_wait_ && me.step > 0) {
      passes_.hold_up(me.held, me.origin_of_next, engine_.present(), {});
      me.is_waiting = me.pulling > 0;
      return me.is_waiting ? void() : go_on(c);
    }
    passes_.hold_up(me.held, me.origin, engine_.present(), {});
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
  void pulled(std::int32_t c, std::size_t bucket, When when) {
    Client& me = client(c);
    passes_.hold_up(me.held, me.origin, when, scaled(plan_.needed[bucket], me.factor));
    if (--me.pulling > 0) return;
    if (learner_ != nullptr) learner_->take(c);
    compute(c);
  }

  /// Where layers wait for their own gradients: all of the step before are there.
  void go_on(std::int32_t c) {
    Client& me = client(c);
    me.is_waiting = false;
    me.origin = me.origin_of_next;
    me.end = me.origin;
    if (learner_ != nullptr) learn(c);
    if (c == 0) test(me.step);
    end_step(c);
    if (!steps_.wants(me.step)) return;
    steps_.begun(me.step);
    compute(c);
  }

  /// The step before the client's present one has ended, for what is held.
  void end_step(std::int32_t c) {
    Client& me = client(c);
    const std::int64_t step = me.step - 1;
    if (c == 0 && steps_.counts(step)) sent_.over(me.exchanges || !sends_parameters_);
    const bool reports_all = plan_.reported == TrainingPlan::Reported::kAll;
    if (reports_all && !steps_.wants(me.step))  // as a next step would
      passes_.await_input(me.held, me.end, me.step);
    const bool is_known = steps_.ended(c, step, me.end, me.held.when);
    if (is_known || plan_.reported != TrainingPlan::Reported::kSteady) sent_.stay();
  }

  void compute(std::int32_t c) {
    Client& me = client(c);
    if (c == 0) sent_.begin(layers_wait_ ? me.origin : me.start);
    if (c == 0) counts_ = steps_.counts(me.step);
    passes_.await_input(me.held, me.origin, me.step);
    const Duration compute =
        scaled(plan_.step.forward, me.factor) + scaled(plan_.step.backward, me.factor);
    if (steps_.counts(me.step)) me.computed += compute;
    const When middle = passes_.forward(me.held, me.origin, plan_.step.forward, me.factor);
    if (!drawn_.empty())
      drawn_[static_cast<std::size_t>(c)].add("compute", "forward", me.start, middle.time);
    me.exchanges = sends_parameters_ && buckets_ > 0 && plan_.update->exchanges(me.step);
    me.is_to_send = me.exchanges && sends_at_end_;
    me.open = 1;
    if (learner_ != nullptr) learner_->compute(c, me.step);
    const bool reduces = buckets_ > 0 && (!sends_parameters_ || members_ > 1);
    if (reduces && layers_wait_) {
      me.pulling = buckets_;
      me.origin_of_next = {};
      me.next_factor = factor(c, me.step + 1);
    } else if (reduces) {
      me.open += buckets_;
    }
    if (me.exchanges && !sends_at_end_) push_all(c);
    me.done = middle;
    if (reduces) sender(c).begin_step(me.origin, me.factor, middle);
    if (reduces && plan_.beside) return;  // the sender will tell the end of the backward pass
    computed(c, middle.time, passes_.backward(middle, plan_.step.backward, me.factor));
  }

  void computed(std::int32_t c, Time begin, When end) {
    if (!drawn_.empty())
      drawn_[static_cast<std::size_t>(c)].add("compute", "backward", begin, end.time);
    close(c, end);
  }

  /// A client's parameters go to the servers.
  void push_all(std::int32_t c) {
    Client& me = client(c);
    me.open += buckets_;
    for (std::size_t b = buckets_; b > 0; --b)  // keys in forward order, as in 001 Figure 8
      exchange_.push(c, b - 1, me.start);
  }

  /// The end of a step whose parameters go to the servers; or, when all workers have come, into a
  /// collective among them.
  void send_parameters(std::int32_t c) {
    client(c).is_to_send = false;
    if (learner_ != nullptr) learner_->descend(c);
    if (!workers_meet_) return push_all(c);
    if (++come_ < clients_.size()) return;
    come_ = 0;
    if (learner_ != nullptr) learner_->meet();
    for (Client& each : clients_)
      each.open = buckets_;
    constexpr double kAllAtOnce = 0;
    sender(0).begin_step(engine_.now(), kAllAtOnce, engine_.present());
  }

  /// A collective of all workers is over.
  void summed(std::span<const std::int32_t> buckets, Time start) {
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(clients_.size()); ++c) {
      for (const std::int32_t bucket : buckets) {
        draw(c, "all-reduce", static_cast<std::size_t>(bucket), start, engine_.now());
        end_bucket(c, static_cast<std::size_t>(bucket), engine_.present());
      }
    }
  }

  void reduced(std::int32_t c, std::uint32_t message) override {
    const Client& me = client(c);
    const Sender::Message& sent = sender(c).ended(message);
    ++reductions_;
    if (c == 0) count(sent);
    if (workers_meet_) {
      sender(c).arrived(sent.buckets());
      summed(sent.buckets(), sent.start.time);
      return sender(c).give_back(message);
    }
    if (!drawn_.empty()) draw_sent(c, sent);
    if (sends_parameters_ || servers_count_ == 0) {
      sender(c).arrived(sent.buckets());
      for (const std::int32_t bucket : sent.buckets())
        end_bucket(c, static_cast<std::size_t>(bucket), engine_.present());
    } else {
      for (const std::int32_t bucket : sent.buckets()) {
        expect_push(c, static_cast<std::size_t>(bucket));
        exchange_.push(c, static_cast<std::size_t>(bucket), me.start);
      }
    }
    sender(c).give_back(message);
  }

  /// An all-reduce of client 0.
  void count(const Sender::Message& sent) {
    Time ready{};
    for (const std::int32_t bucket : sent.buckets())
      ready = std::max(ready, senders_.front().ready(static_cast<std::size_t>(bucket)));
    sent_.sent(sent.buckets(), ready, sent.start.time);
    if (!counts_) return;
    ++times_.all_reduces;
    times_.reduce_busy_s += to_seconds(plan_.inside_time(sent.bytes));
  }

  /// One part of the step is over at `when`, which may lie ahead.
  void close(std::int32_t c, When when) {
    Client& me = client(c);
    me.done = later(me.done, when);
    if (--me.open > 0) return;
    engine_.at(me.done, Phase::kNormal,
               [this, c] { client(c).is_to_send ? send_parameters(c) : finish_step(c); });
  }

  void finish_step(std::int32_t c) {
    Client& me = client(c);
    if (learner_ != nullptr && !pulls_first() && !layers_wait_) learn(c);
    ++me.step;
    if (c == 0 && !layers_wait_) test(me.step);
    if (c == 0) report();
    me.end = engine_.now();
    if (layers_wait_) return start_step(c);
    me.held = engine_.hold(engine_.present());
    end_step(c);
    if (steps_.wants(me.step)) start_step(c);
  }

  void learn(std::int32_t c) {
    const bool pulled = sends_parameters_ ? client(c).exchanges : servers_count_ > 0;
    if (pulled) learner_->take(c);
    if (!pulled || !sends_at_end_) learner_->descend(c);
  }

  void report() const {
    if (!plan_.on_progress) return;
    const auto over = static_cast<double>(exchange_.messages() + reductions_);
    const double share = work_ > 0 ? over / work_
                                   : static_cast<double>(clients_.front().step) /
                                         static_cast<double>(plan_.played_steps());
    plan_.on_progress(std::min(share, 1.0));  // how many steps there are is not always known
  }

  void pushed(std::span<const Timed> parts) override {
    for (const auto& [parcel, in] : parts) {
      count_push(parcel, in);
      if (!draws(parcel.client)) continue;
      draw(parcel.client, "push", parcel.bucket, exchange_.push_sent(parcel.client, parcel.bucket),
           in.time);
    }
    exchange_.pushed(parts);
  }

  void pulled(std::int32_t c, std::size_t bucket, std::int32_t parts, When in) override {
    if (draws(c)) draw(c, "pull", bucket, exchange_.pull_sent(c, bucket), in.time);
    exchange_.pulled(c, bucket, parts, in);
  }

  void exchanged(std::int32_t c, std::size_t bucket, When end) override {
    if (members_ == 1) return broadcasted(c, bucket, end);
    carrier_->broadcast(c, bucket, end);
  }

  void answered(std::int32_t c, std::size_t bucket) override {
    end_bucket(c, bucket, engine_.present());
  }

  void broadcasted(std::int32_t c, std::size_t bucket, When end) override {
    if (pulls_first() && client(c).pulling > 0) return pulled(c, bucket, end);
    end_bucket(c, bucket, end);
  }

  /// A client is about to push a bucket.
  void expect_push(std::int32_t c, std::size_t bucket) {
    if (push_parts_.empty()) return;
    const std::size_t parts = plan_.pieces[bucket].size();
    push_parts_[static_cast<std::size_t>(c) * buckets_ + bucket] = parts;
    if (parts == 0) tell_policy(c, bucket, engine_.present());
  }

  /// A part of a push is at its server at `in`, which may lie ahead.
  void count_push(const Parcel& part, When in) {
    if (push_parts_.empty() || static_cast<std::size_t>(part.client) >= clients_.size()) return;
    std::size_t& left = push_parts_[static_cast<std::size_t>(part.client) * buckets_ + part.bucket];
    if (left > 0 && --left == 0) tell_policy(part.client, part.bucket, in);
  }

  /// Servers have all of a push. The policy does not wait for the sum: clients may push in
  /// different orders, and would wait for each other for ever.
  void tell_policy(std::int32_t c, std::size_t bucket, When when) {
    engine_.at(when, Phase::kComplete, [this, c, b = static_cast<std::int32_t>(bucket)] {
      sender(c).arrived({&b, 1});
    });
  }

  void end_bucket(std::int32_t c, std::size_t bucket, When end) {
    Client& me = client(c);
    if (c == 0) sent_.arrived(bucket, end.time);
    if (!layers_wait_) return close(c, end);
    passes_.hold_up(me.held, me.origin_of_next, end, scaled(plan_.needed[bucket], me.next_factor));
    if (--me.pulling == 0 && me.is_waiting) go_on(c);
  }

  /// Hosts draw themselves.
  bool draws(std::int32_t c) const { return static_cast<std::size_t>(c) < drawn_.size(); }
  void draw(std::int32_t c, const char* lane, std::size_t bucket, Time start, Time end) {
    if (drawn_.empty()) return;
    const std::int64_t bytes = plan_.step.buckets[bucket].bytes.count;
    const SpanDetails details{bytes, static_cast<std::int64_t>(bucket), "", flow(c, bucket)};
    drawn_[static_cast<std::size_t>(c)].add(lane, plan_.names[bucket], start, end, details);
  }
  /// Gradients that were sent, each bucket from the one before it on, and their all-reduce.
  void draw_sent(std::int32_t c, const Sender::Message& sent) {
    for (const std::size_t b : sent.buckets()) {
      if (!sends_parameters_)
        draw(c, "compute gradients", b, sender(c).begin(b), sender(c).ready(b));
      if (members_ > 1) draw(c, "all-reduce", b, sent.start.time, engine_.now());
    }
  }
  bool counts(std::int32_t c) const override {
    return steps_.counts(clients_[static_cast<std::size_t>(c)].step);
  }
  std::uint64_t flow(std::int32_t c, std::size_t bucket) const override {
    const auto step = static_cast<std::uint64_t>(clients_[static_cast<std::size_t>(c)].step);
    return flow_of(c, step * buckets_ + bucket);
  }
  void test(std::int64_t step) {
    if (learner_ == nullptr) return;
    if (step % convergence_->evaluate != 0 && step != plan_.steps) return;
    // When all have waited for each other, the others' ends of the step are events of this instant.
    const bool have_met =
        waits_for_all_ && step > 0 && (!sends_parameters_ || plan_.update->exchanges(step - 1));
    std::int64_t steps = 0;
    for (const Client& each : clients_)
      steps += have_met ? step : each.step;
    const auto taken = static_cast<double>(steps * members_ * convergence_->batch);
    times_.curve.push_back(
        {to_seconds(since_start(engine_.now())), taken / samples_, learner_->test()});
  }

  void summarise() {
    const auto clients = static_cast<double>(clients_.size());
    const auto played = static_cast<double>(steps_.played());
    Duration computed{};
    Time last{};
    for (const Client& c : clients_) {
      STEPTIME_CHECK(c.step == steps_.played() && !c.is_waiting,
                     "the event list ran empty before the run was over");
      computed += c.computed;
      last = std::max(last, c.end);
    }
    times_.end_s = to_seconds(since_start(last));
    times_.step_s = steps_.step_s();
    times_.cold_step_s = steps_.cold_step_s();
    times_.compute_s = mean_s(computed, clients * steps_.counted());
    const Duration waited = steps_.sum(passes_.waited_for_input());
    times_.input_s = mean_s(waited, clients * steps_.reported());
    times_.server_busy_s = mean_s(exchange_.most_busy(), steps_.per_step());
    times_.all_reduces /= steps_.counted();
    times_.reduce_busy_s /= steps_.counted();
    times_.sent = sent_.messages();
    if (causes_ != nullptr) times_.attribution = steps_.attribution(*causes_);
    times_.links = carrier_->links(times_.step_s * played, played);
    times_.messages = exchange_.messages();
    times_.messages_per_step = static_cast<double>(times_.messages) / steps_.per_step();
    times_.staleness = exchange_.staleness();
    times_.fingerprint = engine_.fingerprint();
    if (learner_ == nullptr) return;
    for (const double value : learner_->client(0))
      times_.fingerprint = mix(times_.fingerprint, std::bit_cast<std::uint64_t>(value));
  }

  Engine engine_;
  Causes* causes_;
  Passes passes_;
  const TrainingPlan& plan_;
  std::int64_t seed_;
  Learner* learner_;
  const Convergence* convergence_;
  double samples_;
  std::int64_t servers_count_;
  // As the update says:
  bool sends_parameters_;
  bool sends_at_end_;
  bool waits_for_all_;
  bool workers_meet_;     ///< as the plan says; each worker is called a client here
  std::int64_t members_;  ///< workers of a client
  std::size_t buckets_;
  double work_;
  ReportedSteps steps_;
  std::vector<Client> clients_;
  SentStep sent_;
  std::unique_ptr<Carrier> carrier_;
  TwoLevelExchange exchange_;
  SentMessages sent_messages_;
  std::deque<Sender> senders_;   ///< of every client; one where there are none
  bool counts_ = true;           ///< what client 0 all-reduces in its present step
  std::size_t come_ = 0;         ///< workers that wait for a collective of all
  bool layers_wait_ = false;     ///< a layer of the next forward pass waits for its own only
  std::int64_t reductions_ = 0;  ///< all-reduces that are over
  /// By client and bucket: parts of a push that are not in yet; only with a policy and servers.
  std::vector<std::size_t> push_parts_;
  std::vector<std::uint32_t> orders_;  ///< of a step's first pulls, per client
  std::vector<RankTimeline> drawn_;    ///< of every client; none without a timeline
  TrainingTimes times_;
};

}  // namespace

void check_training(const TrainingPlan& plan) {
  TrainingPlayer(plan, 1, nullptr, nullptr, 0, nullptr, nullptr);
}

TrainingTimes play_training(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                            const Convergence* convergence, std::int64_t samples,
                            Timeline* timeline, Causes* causes) {
  return TrainingPlayer(plan, seed, learner, convergence, samples, timeline, causes).play();
}

}  // namespace steptime
