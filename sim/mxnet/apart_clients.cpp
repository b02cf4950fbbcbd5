#include "sim/mxnet/apart_clients.h"

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

void ApartClients::operation_ended(std::int32_t rank, std::int64_t step) {
  record_.ended(client_of(rank), step, engine_.now(), engine_.present());
}

}  // namespace steptime
