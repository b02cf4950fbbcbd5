#include "sim/mxnet/served_calls.h"

#include "sim/training/kvstore_nodes.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

namespace steptime {
namespace {

/// Collectives of a client's ranks, which move as one: one after another, each of a bucket.
class Buckets final : private Group::Watch {
 public:
  using Over = std::function<void(std::int32_t bucket)>;
  Buckets(World& world, Name name, std::unique_ptr<Medium> medium, const TrainingPlan& plan,
          Over over)
      : group_(world, name, 1, std::move(medium)), plan_(plan), over_(std::move(over)) {
    group_.watch(this);
  }
  void launch(std::int32_t bucket) {
    under_way_.push_back(bucket);
    group_.launch(0, plan_.step.buckets[static_cast<std::size_t>(bucket)].bytes);
  }
  void expect_over() const { group_.medium().expect_over(); }

 private:
  void ended(std::int64_t, Bytes, Time) override {
    const std::int32_t bucket = under_way_.front();
    under_way_.pop_front();
    over_(bucket);
  }

  Group group_;
  const TrainingPlan& plan_;
  Over over_;
  std::deque<std::int32_t> under_way_;
};

}  // namespace

class ServedCalls::OfClient final : public Client {
 public:
  using Summed = void (OfClient::*)(std::int32_t bucket);
  /// `payload`: what its calls are for. `summed`: what follows its ranks' sums; null: they make
  /// none.
  OfClient(ServedCalls& all, std::int32_t number, Payload payload, Summed summed)
      : all_(all), number_(number), payload_(payload), calls_(all.plan_.step.buckets.size()) {
    const Aggregation& aggregation = all.plan_.aggregation;
    if (all.plan_.members() == 1) return;
    if (summed != nullptr) {
      sums_.emplace(all.world_, Name{"sums of client", number},
                    all.slowed(number, *aggregation.inside, &RankGpus::slowed), all.plan_,
                    [this, summed](std::int32_t bucket) { (this->*summed)(bucket); });
    }
    if (aggregation.spread == nullptr || summed == &OfClient::end) return;
    spreads_.emplace(all.world_, Name{"broadcasts of client", number},
                     all.slowed(number, *aggregation.spread, &RankGpus::slowed_spread), all.plan_,
                     [this](std::int32_t bucket) { end(bucket); });
  }

  void call(std::int32_t rank, CallSubject subject, When when, Callback returns) {
    Calls& calls = calls_[static_cast<std::size_t>(subject.key)];
    calls.step = step_ = subject.step;
    calls.last = calls.made.empty() ? when : later(calls.last, when);
    calls.made.emplace_back(rank, returns);
    if (calls.made.size() < all_.ranks_of_each()) return;
    all_.world_.engine.at(calls.last, Phase::kComplete, [this, key = subject.key] { begin(key); });
  }
  bool counts() const override { return all_.steps_.counts(step_); }
  Time last_call(std::size_t key) const { return calls_[key].last.time; }
  void expect_over() const {
    if (sums_) sums_->expect_over();
    if (spreads_) spreads_->expect_over();
  }
  void add_stuck(std::vector<StuckCall>& all) const {
    for (std::size_t key = 0; key < calls_.size(); ++key) {
      const Calls& calls = calls_[key];
      for (const auto& [rank, unused] : calls.made)
        all.push_back(
            {rank, 0, calls.step, {static_cast<std::int32_t>(key), calls.step, payload_}});
    }
  }
  void exchange(std::int32_t bucket) {
    const auto exchange = all_.plan_.aggregation.servers.requests->exchange;
    (*all_.servers_.*exchange)(number_, bucket, *this);
  }
  void end(std::int32_t bucket) {
    Engine& engine = all_.world_.engine;
    const std::int32_t key = other(bucket);
    const Calls over = std::exchange(calls_[static_cast<std::size_t>(key)], {});
    if (number_ == 0) all_.listener_.collective_ended({key, over.step, payload_});
    const When present = engine.present();
    for (const auto& [rank, returns] : over.made) {
      engine.because(present);
      returns();
    }
  }

 private:
  /// Keys go from the first layer to the last one, buckets back.
  std::int32_t other(std::int32_t number) const {
    return static_cast<std::int32_t>(calls_.size()) - 1 - number;
  }
  void begin(std::int32_t key) {
    if (number_ == 0)
      all_.listener_.collective_started(
          {key, calls_[static_cast<std::size_t>(key)].step, payload_});
    sums_ ? sums_->launch(other(key)) : exchange(other(key));
  }
  /// From the servers, at the client's first rank.
  void came(std::int32_t bucket, When when) override {
    all_.world_.engine.at(when, Phase::kComplete,
                          [this, bucket] { spreads_ ? spreads_->launch(bucket) : end(bucket); });
  }

  ServedCalls& all_;
  std::int32_t number_;
  Payload payload_;
  std::optional<Buckets> sums_;     ///< none: a client of one rank, or parameters
  std::optional<Buckets> spreads_;  ///< none: the sum's owners have the values
  std::vector<Calls> calls_;        ///< by key
  std::int64_t step_ = 0;           ///< the latest call's
};

/// What its clients send.
class ServedCalls::Chosen final : public ClientPrograms {
 public:
  explicit Chosen(ServedCalls& all) : all_(all) {}

 private:
  void send_gradients() override { add(all_.clients_, Payload::kGradient, &OfClient::exchange); }
  void send_parameters_at_start() override { send_parameters(Payload::kParametersBeside); }
  void send_parameters_at_end() override { send_parameters(Payload::kParameters); }
  void send_parameters(Payload payload) {
    add(all_.clients_, Payload::kGradient, &OfClient::end);
    add(all_.parameters_, payload, nullptr);
  }
  void add(std::vector<std::unique_ptr<OfClient>>& to, Payload payload, OfClient::Summed summed) {
    for (std::int32_t client = 0; client < all_.plan_.aggregation.clients; ++client)
      to.push_back(std::make_unique<OfClient>(all_, client, payload, summed));
  }

  ServedCalls& all_;
};

ServedCalls::ServedCalls(World& world, const TrainingPlan& plan, std::int32_t ranks,
                         CallListener& listener, ClientSteps& steps, RankGpus* gpus)
    : world_(world),
      plan_(plan),
      ranks_(static_cast<std::size_t>(ranks)),
      listener_(listener),
      steps_(steps),
      gpus_(gpus),
      roads_(plan.roads(world, plan)),
      wire_(roads_->wire()),
      servers_(
          servers_for(plan)(world, *wire_, plan.pieces,
                            {.clients = static_cast<std::int32_t>(plan.aggregation.clients),
                             .servers = static_cast<std::int32_t>(plan.aggregation.servers.count),
                             .costs = plan.aggregation.servers.costs(),
                             .ordered = plan.transport->channel->is_ordered()})) {
  if (gpus != nullptr && plan.kernels_slow_links)
    gpus->tell([this](std::int64_t worker, bool run) { roads_->set_kernels(worker, run); });
  servers_->set_store(steps.store());
  Chosen chosen(*this);
  plan.update->choose(chosen);
}

ServedCalls::~ServedCalls() = default;

std::unique_ptr<Medium> ServedCalls::slowed(std::int32_t client, const Collective& collective,
                                            Slows slows) {
  auto medium = roads_->medium(client, collective);
  if (gpus_ == nullptr) return medium;
  const auto each = static_cast<std::int32_t>(ranks_of_each());
  return (gpus_->*slows)(std::move(medium), {client * each, each});
}

std::uint64_t ServedCalls::call(std::int32_t rank, CallSubject subject, When when,
                                Callback returns) {
  const std::size_t client = static_cast<std::size_t>(rank) / ranks_of_each();
  clients_of(subject.payload)[client]->call(rank, subject, when, returns);
  const std::size_t of = 2 * client + (subject.payload == Payload::kGradient ? 0 : 1);
  return of * plan_.step.buckets.size() + static_cast<std::size_t>(subject.key);
}

Time ServedCalls::returns_not_before(std::uint64_t call) const {
  const std::size_t keys = plan_.step.buckets.size();
  const std::size_t of = call / keys;
  const OfClient& client = *(of % 2 == 0 ? clients_ : parameters_)[of / 2];
  return std::max(client.last_call(call % keys), world_.now());
}

void ServedCalls::expect_over() const {
  for (const auto* const clients : {&clients_, &parameters_}) {
    for (const auto& client : *clients)
      client->expect_over();
  }
}

std::vector<StuckCall> ServedCalls::stuck() const {
  std::vector<StuckCall> all;
  for (const auto* const clients : {&clients_, &parameters_}) {
    for (const auto& client : *clients)
      client->add_stuck(all);
  }
  return all;
}

}  // namespace steptime
