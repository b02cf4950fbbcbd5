#include "sim/training/fleet.h"

#include "sim/core/error.h"

#include <utility>

namespace steptime {
namespace {

/// Tells a policy that servers have all of a push. It does not wait for the sum: clients may push
/// in different orders, and would wait for each other for ever.
class Told final : public Client {
 public:
  /// `next` hears of the end.
  Told(World& world, const Worker& worker, Client& next, Decider& decider)
      : world_(world), worker_(worker), next_(next), decider_(decider) {}
  void came(std::int32_t bucket, When end) override { next_.came(bucket, end); }
  bool counts() const override { return worker_.counts(); }
  void push_is_in(std::int32_t bucket, When in) override {
    world_.engine.at(in, Phase::kComplete, [this, bucket] { decider_.arrived({&bucket, 1}); });
  }

 private:
  World& world_;
  const Worker& worker_;
  Client& next_;
  Decider& decider_;
};

}  // namespace

Fleet::Fleet(TrainingRun& training, Roads& roads) : training_(training), plan_(training.plan) {
  if (plan_.kernels_slow_links) training.slowed_roads = &roads;
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
  if (plan_.aggregation.beyond) {
    kvstore_ = std::make_unique<KvStoreNodes>(training_, roads, training_.learner);
    return;
  }
  const ServerGroup& servers = plan_.aggregation.servers;
  wire_ = roads.wire();
  servers_ = servers_for(plan_)(training_.world, *wire_, plan_.pieces,
                                {.clients = static_cast<std::int32_t>(plan_.aggregation.clients),
                                 .servers = static_cast<std::int32_t>(servers.count),
                                 .costs = servers.costs(),
                                 .ordered = plan_.transport->channel->is_ordered()});
  servers_->set_store(training_.learner);
  if (training_.drawing.is_on()) servers_->set_drawing(&training_.drawing);
}

std::int64_t Fleet::messages() const {
  if (kvstore_ != nullptr) return kvstore_->messages();
  return servers_ != nullptr ? servers_->messages() : 0;
}

/// Beside what these workers compute.
std::unique_ptr<Medium> Fleet::slowed(std::unique_ptr<Medium> medium, const SlowdownOf& beside,
                                      std::vector<ComputingGpu*> workers) {
  if (!beside) return medium;
  return std::make_unique<SlowedMedium>(training_.world, std::move(medium), beside,
                                        std::move(workers));
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

/// Sums go back to those who wait for them.
Reduction::Then Fleet::back_to(std::vector<Client*> receivers, Decider* decider) {
  return [&world = training_.world, receivers = std::move(receivers),
          decider](std::span<const std::int32_t> buckets) {
    if (decider != nullptr) decider->arrived(buckets);
    for (Client* const receiver : receivers) {
      for (const std::int32_t bucket : buckets)
        receiver->came(bucket, world.present());
    }
  };
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
  return [this, &worker, &receiver](std::size_t bucket) {
    (*servers_.*plan_.aggregation.servers.requests->exchange)(
        worker.number(), static_cast<std::int32_t>(bucket), receiver);
  };
}

void Fleet::spawn(Worker& worker, Task program) {
  World& world = training_.world;
  When start{};
  if (plan_.start > Time{})
    start = world.engine.until(start, plan_.start - Time{}, world.engine.reason("start", "job"));
  world.spawn({"worker", worker.number()}, std::move(program), start);
}

/// Where all workers train parameters of their own, and only a collective of all brings them
/// together.
void Fleet::start_meeting(Roads& roads) {
  meeting_.emplace(training_, workers_.size());
  std::vector<Worker*> workers;
  for (Worker& worker : workers_)
    workers.push_back(&worker);
  Group& all = add_group({"all workers"}, workers_.size(),
                         slowed(roads.medium(0, *plan_.aggregation.inside), plan_.beside,
                                {workers.begin(), workers.end()}));
  Decider* const decider = add_decider(all);
  watch(all, workers, decider, &*meeting_, back_to({workers.begin(), workers.end()}, decider));
  for (Worker& worker : workers_)
    spawn(worker, averages_in_collective(worker, *meeting_, sends(worker, all, decider)));
}

/// Starts the program of a client, with what it has beside it.
class Fleet::Start final : public ClientPrograms {
 public:
  Start(Fleet& all, Worker& worker, Roads& roads)
      : all_(all),
        worker_(worker),
        roads_(roads),
        group_(
            all.add_group({"workers of client", worker.number()}, 1,
                          all.slowed(roads.medium(worker.number(), *all.plan_.aggregation.inside),
                                     all.plan_.beside, {&worker}))),
        decider_(all.add_decider(group_)),
        looks_ahead_(all.training_.record.layers_wait()),
        receiver_(looks_ahead_ ? on_end(&Worker::next_layer_came) : worker),
        inside_(all.sends(worker, group_, decider_)) {}

  void without_servers() {
    have_sums_back();
    spawn(looks_ahead_ ? trains_layer_by_layer(worker_, inside_)
                       : trains_step_by_step(worker_, inside_));
  }
  void send_gradients() override {
    Client& receiver = decider_ == nullptr
                           ? receiver_
                           : add(std::make_unique<Told>(world(), worker_, receiver_, *decider_));
    if (!all_.plan_.aggregation.servers.requests->brings_values) return pull_first(receiver);
    const Sends exchange = exchange_each_sum(spread(receiver));
    if (looks_ahead_) return spawn(trains_layer_by_layer(worker_, inside_));
    if (decider_ != nullptr || all_.plan_.members() > 1)
      return spawn(trains_step_by_step(worker_, inside_));
    spawn(trains_step_by_step(worker_, [&worker = worker_, exchange](std::size_t bucket) {
      worker.sends(bucket);
      exchange(bucket);
    }));
  }
  void send_parameters_at_start() override {
    have_sums_back();
    spawn(averages_elastically(worker_, all_.exchange(worker_, spread(worker_)), gradients()));
  }
  void send_parameters_at_end() override {
    have_sums_back();
    spawn(averages_at_servers(worker_, all_.exchange(worker_, spread(worker_)), gradients()));
  }

 private:
  World& world() { return all_.training_.world; }
  Client& add(std::unique_ptr<Client> client) {
    return *all_.receivers_.emplace_back(std::move(client));
  }
  Client& on_end(void (Worker::*came)(std::int32_t bucket, When end)) {
    return add(std::make_unique<OnEnd>(
        [&worker = worker_, came](std::int32_t bucket, When end) { (worker.*came)(bucket, end); }));
  }
  void spawn(Task program) { all_.spawn(worker_, std::move(program)); }
  /// What gradients go through where parameters are what is exchanged.
  Sends gradients() const { return all_.plan_.members() > 1 ? inside_ : Sends{}; }
  /// Sums of gradients are what the worker waits for.
  void have_sums_back() {
    all_.watch(group_, {&worker_}, decider_, nullptr, all_.back_to({&receiver_}, decider_));
  }
  /// They are what it exchanges with servers.
  Sends exchange_each_sum(Client& receiver) {
    Sends exchange = all_.exchange(worker_, receiver);
    all_.watch(group_, {&worker_}, decider_, nullptr,
               [exchange](std::span<const std::int32_t> buckets) {
                 for (const std::int32_t bucket : buckets)
                   exchange(static_cast<std::size_t>(bucket));
               });
    return exchange;
  }
  /// Brings what servers gave the first worker to the others.
  Client& spread(Client& next) {
    const Aggregation& aggregation = all_.plan_.aggregation;
    if (aggregation.spread == nullptr || all_.plan_.members() == 1) return next;
    Group& others =
        all_.groups_.emplace_back(world(), Name{"broadcasts in client", worker_.number()}, 1,
                                  all_.slowed(roads_.medium(worker_.number(), *aggregation.spread),
                                              all_.plan_.beside_spread, {&worker_}));
    return all_.spreads_.emplace_back(all_.training_, others, next);
  }
  void pull_first(Client& receiver) {
    exchange_each_sum(receiver);
    Client& values = spread(on_end(&Worker::layer_came));
    const Sends pulls = [&servers = *all_.servers_, &worker = worker_,
                         &values](std::size_t bucket) {
      servers.pull(worker.number(), static_cast<std::int32_t>(bucket), values);
    };
    spawn(pulls_first(worker_, pulls, inside_));
  }

  Fleet& all_;
  Worker& worker_;
  Roads& roads_;
  Group& group_;
  Decider* decider_;
  bool looks_ahead_;
  Client& receiver_;  ///< hears that the sums of buckets are back
  Sends inside_;
};

void Fleet::start_client(Worker& worker, Roads& roads) {
  Start start(*this, worker, roads);
  if (servers() == nullptr)
    start.without_servers();
  else
    plan_.update->choose(start);
}

void Fleet::expect_over() const {
  for (const Group& group : groups_)
    group.medium().expect_over();
  training_.world.expect_over();
}

}  // namespace steptime
