#include "sim/mxnet/apart_clients.h"

#include <algorithm>

namespace steptime {

ApartClients::ApartClients(const TrainingPlan& plan, Engine& engine, std::int32_t ranks,
                           Learner* learner)
    : plan_(plan),
      engine_(engine),
      ranks_of_each_(ranks / static_cast<std::int32_t>(plan.aggregation.clients)),
      learner_(learner),
      record_(plan, engine, static_cast<std::size_t>(plan.aggregation.clients), false, learner),
      updated_(static_cast<std::size_t>(plan.aggregation.clients)) {}

bool ApartClients::wants_step(std::int64_t step) {
  if (!record_.wants(step)) return false;
  record_.begins(step);
  return true;
}

void ApartClients::forward_pass_ended(std::int32_t rank, std::int64_t step) {
  if (learner_ != nullptr && is_first(rank)) learner_->compute(client_of(rank), step);
}

void ApartClients::updated(std::int32_t rank, std::int32_t key, std::int64_t step) {
  if (learner_ == nullptr || !is_first(rank)) return;
  const std::int32_t client = client_of(rank);
  const std::size_t bucket = plan_.pieces.size() - 1 - static_cast<std::size_t>(key);
  for (const Piece& piece : plan_.pieces[bucket])
    learner_->use(client, piece, plan_.update->exchanges(step));
  std::size_t& updated = updated_[static_cast<std::size_t>(client)];
  if (++updated < plan_.pieces.size()) return;
  updated = 0;
  record_.learnt(client, step + 1);
}

/// Whoever waits for nobody makes up for slow steps.
TrainingTimes ApartClients::times(const Servers& servers, const RankRecord& first,
                                  const Computed& computed, const Causes* causes) {
  TrainingTimes times;
  record_.tell(times);
  record_.tell(times, servers, servers.messages());
  const ReportedSteps& steps = record_.steps();
  const std::int64_t clients = plan_.aggregation.clients;
  const auto all = static_cast<double>(clients);
  times.input_s = record_.waited_for_input().mean_s(all * steps.reported());
  SumOfTimes sum;
  for (std::int64_t client = 0; client < clients; ++client) {
    for (std::int64_t step = steps.first(); step < steps.played(); ++step)
      sum.add(computed(client, step));
  }
  // Ranks of a client that have no keys to wait for make up for each other's slow steps.
  times.compute_s = std::min(sum.mean_s(all * steps.counted()), times.step_s - times.input_s);
  times.sent.clear();
  for (auto key = first.key_times().rbegin(); key != first.key_times().rend(); ++key) {
    times.sent.push_back(
        {{static_cast<std::int32_t>(times.sent.size())}, key->ready, key->start, key->end});
  }
  if (causes != nullptr) times.attribution = steps.attribution(*causes);
  times.end_s = to_seconds(since_start(engine_.now()));
  times.fingerprint = engine_.fingerprint();
  return times;
}

void ApartClients::operation_ended(std::int32_t rank, std::int64_t step) {
  record_.ended(client_of(rank), step, engine_.now(), engine_.present());
}

}  // namespace steptime
