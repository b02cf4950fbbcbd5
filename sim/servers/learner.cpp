#include "sim/servers/learner.h"

#include <algorithm>
#include <cmath>

namespace steptime {

Learner::Learner(const Convergence& convergence, const Update& update, std::int64_t clients,
                 std::int64_t members, bool has_servers, std::int64_t seed, std::int64_t pushing)
    : convergence_(convergence),
      update_(update),
      has_servers_(has_servers),
      members_(members),
      pushing_(static_cast<std::size_t>(pushing)),
      batches_(convergence, clients * members, seed),
      sum_(convergence.problem->parameters()) {
  // 001 section 5: the mini-batch of one update is every worker's batch in synchronous SGD, and a
  // pusher's in the other modes.
  const auto averaged =
      static_cast<double>(members * (update.kind == Update::Kind::kSgd ? clients : pushing));
  rate_ = convergence.learning_rate * (convergence.scaling == 0   ? 1
                                       : convergence.scaling == 1 ? averaged
                                                                  : std::sqrt(averaged));
  const std::size_t size = convergence.problem->parameters();
  server_.w = convergence.problem->initial(seed);
  server_.velocity.resize(size);
  const State start{server_.w, std::vector<double>(size), std::vector<double>(size), server_.w};
  clients_.assign(static_cast<std::size_t>(clients), start);
}

void Learner::compute(std::int64_t client, std::int64_t step) {
  State& state = clients_[static_cast<std::size_t>(client)];
  const Problem& problem = *convergence_.problem;
  problem.gradient(state.w, batches_.batch(client * members_, step), state.gradient);
  for (std::int64_t m = 1; m < members_; ++m) {
    problem.gradient(state.w, batches_.batch(client * members_ + m, step), sum_);
    for (std::size_t i = 0; i < sum_.size(); ++i)
      state.gradient[i] += sum_[i];
  }
}

void Learner::descend(State& state, std::span<const double> gradient, double divisor,
                      ParameterRange range) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    state.velocity[i] = convergence_.momentum * state.velocity[i] - rate_ * (gradient[i] / divisor);
    state.w[i] += state.velocity[i];
  }
}

void Learner::add_up(std::size_t first, std::size_t last, ParameterRange range) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    double sum = clients_[first].gradient[i];
    for (std::size_t c = first + 1; c < last; ++c)
      sum += clients_[c].gradient[i];
    sum_[i] = sum;
  }
}

void Learner::apply_all(ParameterRange range) {
  add_up(0, clients_.size(), range);
  descend(server_, sum_, static_cast<double>(members_) * static_cast<double>(clients_.size()),
          range);
}

void Learner::apply(std::int64_t pusher, ParameterRange range) {
  const std::size_t first = static_cast<std::size_t>(pusher) * pushing_;
  if (update_.kind == Update::Kind::kAsgd) {
    add_up(first, first + pushing_, range);
    descend(server_, sum_, static_cast<double>(members_) * static_cast<double>(pushing_), range);
    return;
  }
  if (!update_.pull_sees_push) pull(pusher, range);
  const State& state = clients_[first];
  for (std::size_t i = range.begin; i < range.end; ++i)
    server_.w[i] += update_.alpha * (state.w[i] - server_.w[i]);
}

void Learner::pull(std::int64_t pusher, ParameterRange range) {
  const auto begin = static_cast<std::ptrdiff_t>(range.begin);
  const std::size_t first = static_cast<std::size_t>(pusher) * pushing_;
  for (std::size_t c = first; c < first + pushing_; ++c) {
    std::copy(server_.w.begin() + begin, server_.w.begin() + static_cast<std::ptrdiff_t>(range.end),
              clients_[c].pulled.begin() + begin);
  }
}

void Learner::finish(std::int64_t client, bool exchanged) {
  State& state = clients_[static_cast<std::size_t>(client)];
  if (update_.kind != Update::Kind::kEsgd && has_servers_) {
    state.w = state.pulled;
    return;
  }
  if (exchanged) {
    for (std::size_t i = 0; i < state.w.size(); ++i)
      state.w[i] -= update_.alpha * (state.w[i] - state.pulled[i]);
  }
  descend(state, state.gradient, static_cast<double>(members_), {0, state.w.size()});
}

Score Learner::test() const {
  return convergence_.problem->test(convergence_.test_center && has_servers_ ? server_.w
                                                                             : clients_[0].w);
}

}  // namespace steptime
