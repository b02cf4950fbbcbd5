#include "sim/training/programs.h"

#include "sim/core/random.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace steptime {
namespace {

/// The order in which a step's pulls are asked for: that of the forward pass, or as a pool of
/// threads has it, any.
std::vector<std::size_t> pull_order(const Worker& me, const TrainingRun& training) {
  std::vector<std::uint32_t> order(training.buckets());
  std::iota(order.rbegin(), order.rend(), 0U);
  if (!training.plan.aggregation.servers.pulls_in_order) {
    shuffle(std::span<std::uint32_t>(order), RandomStream(training.seed, Purpose::kPullOrder),
            static_cast<std::uint32_t>(me.number()), static_cast<std::uint32_t>(me.step()));
  }
  return {order.begin(), order.end()};
}

/// The backward pass: every bucket is sent when its last gradient is there. `sends`: null: nobody
/// asks for gradients.
Task backward_pass(Worker& me, const Sends& sends) {
  const std::size_t buckets = sends ? me.training().buckets() : 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    co_await me.gradient(bucket);
    sends(bucket);
  }
  me.backward();
}

}  // namespace

Task trains_step_by_step(Worker& me, Sends sends) {
  const TrainingRun& training = me.training();
  while (me.begin_step()) {
    me.forward();
    me.expect(training.buckets());
    co_await backward_pass(me, sends);
    co_await me.all();
    me.use_values();
    me.end_step();
  }
}

Task trains_layer_by_layer(Worker& me, Sends sends) {
  bool goes_on = me.begin_step();
  while (goes_on) {
    me.forward();
    me.look_ahead();
    co_await backward_pass(me, sends);
    co_await me.all();
    me.begin_next();
    co_await me.layers();
    me.use_values();
    goes_on = me.begin_step_ahead();
  }
}

Task pulls_first(Worker& me, Sends pulls, Sends sends) {
  TrainingRun& training = me.training();
  while (me.begin_step()) {
    me.expect_layers(training.buckets());
    for (const std::size_t bucket : pull_order(me, training)) {
      pulls(bucket);
      co_await training.world.at(training.world.present());  // the other workers ask for theirs
    }
    co_await me.layers();
    me.take();
    me.forward();
    me.expect(training.buckets());
    co_await backward_pass(me, sends);
    co_await me.all();
    me.end_step();
  }
}

Task averages_elastically(Worker& me, Sends exchange, Sends inside) {
  const TrainingRun& training = me.training();
  while (me.begin_step()) {
    const bool exchanges = training.plan.update->exchanges(me.step());
    me.forward();
    if (exchanges) me.expect(training.buckets());
    for (std::size_t bucket = training.buckets(); exchanges && bucket-- > 0;)
      exchange(bucket);  // keys in forward order, as in 001 Figure 8
    if (inside) me.expect(training.buckets());
    co_await backward_pass(me, inside);
    co_await me.all();
    if (exchanges) me.take();
    me.descend();
    me.end_step();
  }
}

Task averages_at_servers(Worker& me, Sends exchange, Sends inside) {
  const TrainingRun& training = me.training();
  while (me.begin_step()) {
    me.forward();
    if (inside) me.expect(training.buckets());
    co_await backward_pass(me, inside);
    co_await me.all();
    me.descend();
    if (training.plan.update->exchanges(me.step()) && training.buckets() > 0) {
      me.expect(training.buckets());
      for (std::size_t bucket = training.buckets(); bucket-- > 0;)
        exchange(bucket);
      co_await me.all();
      me.take();
    }
    me.end_step();
  }
}

Task averages_in_collective(Worker& me, Meeting& meeting, Sends sends) {
  const TrainingRun& training = me.training();
  while (me.begin_step()) {
    me.forward();
    me.backward();
    co_await me.all();
    me.descend();
    if (training.plan.update->exchanges(me.step()) && training.buckets() > 0) {
      meeting.come();
      me.expect(training.buckets());
      for (std::size_t bucket = 0; bucket < training.buckets(); ++bucket)
        sends(bucket);
      co_await me.all();
      me.take();
    }
    me.end_step();
  }
}

void Meeting::come() {
  if (++come_ < workers_) return;
  come_ = 0;
  all_came_ = training_.world.now();
  if (training_.learner != nullptr) training_.learner->meet();
}

Reduction::Reduction(TrainingRun& training, std::vector<Worker*> workers, Decider* decider,
                     const Meeting* meeting, Then then)
    : training_(training),
      workers_(std::move(workers)),
      decider_(decider),
      meeting_(meeting),
      then_(std::move(then)) {}

void Reduction::ended(std::int64_t call, Bytes bytes, Time start) {
  const auto next = static_cast<std::int32_t>(static_cast<std::size_t>(call) %
                                              std::max<std::size_t>(training_.buckets(), 1));
  const std::vector<std::int32_t> list =
      decider_ != nullptr ? decider_->take(call) : std::vector<std::int32_t>{next};
  const Worker& first = *workers_.front();
  if (first.number() == 0) {
    Time ready{};
    for (const std::int32_t bucket : list)
      ready = std::max(ready, first.ready(static_cast<std::size_t>(bucket)));
    if (meeting_ != nullptr) ready = meeting_->all_came();
    training_.record.reduced(list, bytes, ready, start);
  } else {
    training_.record.reduced_elsewhere();
  }
  if (training_.drawing.is_on() &&
      training_.plan.cluster.workers() > training_.plan.aggregation.clients) {
    for (const Worker* const worker : workers_) {
      for (const std::int32_t bucket : list)
        training_.drawing.bucket(worker->number(), worker->step(), "all-reduce", bucket, start,
                                 training_.world.now());
    }
  }
  then_(list);
}

Spread::Spread(TrainingRun& training, Group& group, Client& next)
    : training_(training), group_(group), next_(next) {
  group.watch(this);
}

void Spread::came(std::int32_t bucket, When end) {
  training_.world.engine.at(end, Phase::kComplete, [this, bucket] {
    under_way_.push_back(bucket);
    group_.launch(0, training_.bytes(static_cast<std::size_t>(bucket)));
  });
}

void Spread::ended(std::int64_t, Bytes, Time) {
  const std::int32_t bucket = under_way_.front();
  under_way_.erase(under_way_.begin());
  next_.came(bucket, training_.world.present());
}

}  // namespace steptime
