#include "sim/training/fleet.h"

#include "sim/core/error.h"

#include <utility>

namespace steptime {
namespace {

/// The learnt values on servers.
class LearntStore final : public Store {
 public:
  explicit LearntStore(Learner& learner) : learner_(learner) {}
  void apply_all(const Piece& piece) override {
    for (const ParameterRange& range : piece.ranges)
      learner_.apply_all(range);
  }
  void apply(std::int32_t client, const Piece& piece) override {
    for (const ParameterRange& range : piece.ranges)
      learner_.apply(client, range);
  }
  void pull(std::int32_t client, const Piece& piece) override {
    for (const ParameterRange& range : piece.ranges)
      learner_.pull(client, range);
  }

 private:
  Learner& learner_;
};

/// Tells a policy that servers have all of a push. It does not wait for the sum: clients may push
/// in different orders, and would wait for each other for ever.
class Told : public Client {
 public:
  Told(World& world, Worker& told, Decider& decider)
      : worker(told), world_(world), decider_(decider) {}
  void came(std::int32_t bucket, When end) override { worker.came(bucket, end); }
  bool counts() const override { return worker.counts(); }
  void push_is_in(std::int32_t bucket, When in) override {
    world_.engine.at(in, Phase::kComplete, [this, bucket] { decider_.arrived({&bucket, 1}); });
  }

 protected:
  Worker& worker;

 private:
  World& world_;
  Decider& decider_;
};

/// The same where layers of the next forward pass wait for their own values.
class ToldAhead final : public Told {
 public:
  using Told::Told;
  void came(std::int32_t bucket, When end) override { worker.next_layer_came(bucket, end); }
};

/// What the present forward pass waits for.
class Layers final : public Client {
 public:
  explicit Layers(Worker& worker) : worker_(worker) {}
  void came(std::int32_t bucket, When end) override { worker_.layer_came(bucket, end); }

 private:
  Worker& worker_;
};

/// One of the ways in which a client asks servers for a bucket's exchange.
using Request = void (Servers::*)(std::int32_t client, std::int32_t bucket, Client& who);

Request request_of(const ServerGroup& servers) {
  if (servers.fused) return &Servers::pushpull;
  switch (servers.pull) {
    case PullTime::kAnswered:
      return &Servers::push_then_pull;
    case PullTime::kPushed:
      return &Servers::push_and_ask;
    case PullTime::kNextStep:
      return &Servers::push;
  }
  return nullptr;
}

}  // namespace

Fleet::Fleet(TrainingRun& training, Roads& roads) : training_(training), plan_(training.plan) {
  if (plan_.aggregation.servers.count > 0) make_servers(roads);
  const std::int64_t trainers = plan_.trainers();
  const std::int64_t gpus = plan_.cluster.workers() / trainers;
  for (std::int64_t w = 0; w < trainers; ++w)
    workers_.emplace_back(training, static_cast<std::int32_t>(w), plan_.workers_meet() ? w : 0,
                          w * gpus, gpus);
  if (plan_.workers_meet()) {
    start_meeting(roads);
  } else {
    for (Worker& worker : workers_)
      start_client(worker, roads);
  }
}

void Fleet::make_servers(Roads& roads) {
  if (training_.learner != nullptr) store_ = std::make_unique<LearntStore>(*training_.learner);
  if (plan_.aggregation.beyond) {
    kvstore_ = std::make_unique<KvStoreNodes>(training_, roads, store_.get());
    return;
  }
  const ServerGroup& servers = plan_.aggregation.servers;
  wire_ = roads.wire();
  const auto make = plan_.update->waits_for_all() ? synchronous_servers : asynchronous_servers;
  servers_ = make(training_.world, *wire_, plan_.pieces,
                  {.clients = static_cast<std::int32_t>(plan_.aggregation.clients),
                   .servers = static_cast<std::int32_t>(servers.count),
                   .costs = costs_of(servers)});
  servers_->set_store(store_.get());
  if (training_.drawing.is_on()) servers_->set_drawing(&training_.drawing);
}

std::int64_t Fleet::messages() const {
  if (kvstore_ != nullptr) return kvstore_->messages();
  return servers_ != nullptr ? servers_->messages() : 0;
}

Group& Fleet::add_group(Name name, std::size_t members, std::unique_ptr<Medium> medium) {
  return groups_.emplace_back(training_.world, name, members, std::move(medium),
                              plan_.transport->streams);
}

Decider* Fleet::add_decider(Group& group) {
  if (plan_.schedule == nullptr) return nullptr;
  return &deciders_.emplace_back(
      training_.world, group,
      plan_.transport->policy(*plan_.schedule, plan_.step.buckets, plan_.cluster),
      plan_.step.buckets);
}

void Fleet::watch(Group& group, std::vector<Worker*> workers, Decider* decider,
                  const Meeting* meeting, Reduction::Then then) {
  group.watch(
      &reductions_.emplace_back(training_, std::move(workers), decider, meeting, std::move(then)));
}

/// What a bucket's gradients go through inside a client.
Sends Fleet::sends(Worker& worker, Group& group, Decider* decider) {
  if (decider != nullptr) {
    return [decider](std::size_t bucket) { decider->ready(static_cast<std::int32_t>(bucket)); };
  }
  return [&worker, &group, this](std::size_t bucket) {
    group.launch(worker.member(), training_.bytes(bucket));
  };
}

/// A worker's exchange of a bucket with servers, whose end `receiver` hears of.
Sends Fleet::exchange(Worker& worker, Client& receiver) {
  if (kvstore_ != nullptr) {
    return [this, &worker, &receiver](std::size_t bucket) {
      kvstore_->exchange(worker, static_cast<std::int32_t>(bucket), receiver);
    };
  }
  const Request request = request_of(plan_.aggregation.servers);
  return [this, &worker, &receiver, request](std::size_t bucket) {
    (*servers_.*request)(worker.number(), static_cast<std::int32_t>(bucket), receiver);
  };
}

void Fleet::spawn(Worker& worker, Task program) {
  training_.world.spawn({"worker", worker.number()}, std::move(program), {});
}

/// Where all workers train parameters of their own, and only a collective of all brings them
/// together.
void Fleet::start_meeting(Roads& roads) {
  meeting_.emplace(training_, workers_.size());
  Group& all =
      add_group({"all workers"}, workers_.size(), roads.medium(0, *plan_.aggregation.inside));
  Decider* const decider = add_decider(all);
  std::vector<Worker*> workers;
  for (Worker& worker : workers_)
    workers.push_back(&worker);
  watch(all, workers, decider, &*meeting_,
        [this, workers, decider](std::span<const std::int32_t> buckets) {
          if (decider != nullptr) decider->arrived(buckets);
          for (Worker* const worker : workers) {
            for (const std::int32_t bucket : buckets)
              worker->came(bucket, training_.world.present());
          }
        });
  for (Worker& worker : workers_)
    spawn(worker, averages_in_collective(worker, *meeting_, sends(worker, all, decider)));
}

void Fleet::start_client(Worker& worker, Roads& roads) {
  const Aggregation& aggregation = plan_.aggregation;
  const std::int32_t client = worker.number();
  Group& group =
      add_group({"workers of client", client}, 1, roads.medium(client, *aggregation.inside));
  Decider* const decider = add_decider(group);
  const bool ahead = training_.record.layers_wait();
  const Sends inside = sends(worker, group, decider);
  World& world = training_.world;
  if (servers() == nullptr || plan_.update->sends_parameters()) {
    watch(group, {&worker}, decider, nullptr,
          [&worker, &world, decider, ahead](std::span<const std::int32_t> buckets) {
            if (decider != nullptr) decider->arrived(buckets);
            for (const std::int32_t bucket : buckets) {
              if (ahead)
                worker.next_layer_came(bucket, world.present());
              else
                worker.came(bucket, world.present());
            }
          });
  }
  if (servers() == nullptr) {
    return spawn(worker, ahead ? trains_layer_by_layer(worker, inside)
                               : trains_step_by_step(worker, inside));
  }

  Client* receiver = &worker;
  if (decider != nullptr && !plan_.update->sends_parameters()) {
    receiver = receivers_
                   .emplace_back(ahead ? std::make_unique<ToldAhead>(world, worker, *decider)
                                       : std::make_unique<Told>(world, worker, *decider))
                   .get();
  }
  const auto spread = [&](Client& next) -> Client& {
    if (aggregation.spread == nullptr || plan_.members() == 1) return next;
    Group& others = groups_.emplace_back(world, Name{"broadcasts in client", client}, 1,
                                         roads.medium(client, *aggregation.spread));
    return spreads_.emplace_back(training_, others, next);
  };
  const bool brings_values = aggregation.servers.pull_time() != PullTime::kNextStep;
  const Sends exchange = this->exchange(worker, brings_values ? spread(*receiver) : *receiver);
  const Sends gradients = plan_.members() > 1 ? inside : Sends{};
  switch (plan_.update->sends()) {
    case Update::Sends::kParametersAtStart:
      return spawn(worker, averages_elastically(worker, exchange, gradients));
    case Update::Sends::kParametersAtEnd:
      return spawn(worker, averages_at_servers(worker, exchange, gradients));
    case Update::Sends::kGradients:
      break;
  }
  watch(group, {&worker}, decider, nullptr, [exchange](std::span<const std::int32_t> buckets) {
    for (const std::int32_t bucket : buckets)
      exchange(static_cast<std::size_t>(bucket));
  });
  if (!brings_values) {
    Client& values = spread(*receivers_.emplace_back(std::make_unique<Layers>(worker)));
    const Sends pulls = [this, &worker, &values](std::size_t bucket) {
      servers_->pull(worker.number(), static_cast<std::int32_t>(bucket), values);
    };
    return spawn(worker, pulls_first(worker, pulls, inside));
  }
  if (ahead) return spawn(worker, trains_layer_by_layer(worker, inside));
  if (decider != nullptr || plan_.members() > 1)
    return spawn(worker, trains_step_by_step(worker, inside));
  spawn(worker, trains_step_by_step(worker, [&worker, exchange](std::size_t bucket) {
          worker.sends(bucket);
          exchange(bucket);
        }));
}

void Fleet::expect_over() const {
  for (const Group& group : groups_)
    group.medium().expect_over();
  training_.world.expect_over();
}

}  // namespace steptime
