#include "sim/training/learner.h"

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
  // 001 section 5: the mini-batch of one update is every worker's batch where servers wait for all,
  // and a pusher's elsewhere.
  const auto averaged = static_cast<double>(members * (update.waits_for_all() ? clients : pushing));
  const double scaling = convergence.scaling == 0   ? 1
                         : convergence.scaling == 1 ? averaged
                                                    : std::sqrt(averaged);
  descent_ = {.rate = convergence.learning_rate * scaling, .momentum = convergence.momentum};
  const std::size_t size = convergence.problem->parameters();
  center_.w = convergence.problem->initial(seed);
  center_.velocity.resize(size);
  const State start{center_.w, std::vector<double>(size), std::vector<double>(size), center_.w};
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

Weights Learner::weights(State& state, ParameterRange range) {
  const std::size_t count = range.end - range.begin;
  return {std::span(state.w).subspan(range.begin, count),
          std::span(state.velocity).subspan(range.begin, count)};
}

Pushed Learner::add_up(std::size_t first, std::size_t last, ParameterRange range) {
  const std::vector<double> State::*pushed =
      update_.sends_parameters() ? &State::w : &State::gradient;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    double sum = (clients_[first].*pushed)[i];
    for (std::size_t c = first + 1; c < last; ++c)
      sum += (clients_[c].*pushed)[i];
    sum_[i] = sum;
  }
  const auto clients = static_cast<double>(last - first);
  return {std::span(sum_).subspan(range.begin, range.end - range.begin),
          update_.sends_parameters() ? clients : static_cast<double>(members_) * clients};
}

void Learner::apply_all(const Piece& piece) {
  for (const ParameterRange& range : piece.ranges)
    update_.on_server(weights(center_, range), add_up(0, clients_.size(), range), descent_);
}

void Learner::apply(std::int32_t pusher, const Piece& piece) {
  if (!update_.pull_sees_push()) copy(pusher, piece);
  const std::size_t first = static_cast<std::size_t>(pusher) * pushing_;
  for (const ParameterRange& range : piece.ranges)
    update_.on_server(weights(center_, range), add_up(first, first + pushing_, range), descent_);
}

void Learner::pull(std::int32_t pusher, const Piece& piece) {
  if (update_.pull_sees_push()) copy(pusher, piece);
}

void Learner::meet() {
  const Piece all{.ranges = {{0, sum_.size()}}};
  apply_all(all);
  for (std::size_t c = 0; c < clients_.size(); ++c)
    pull(static_cast<std::int32_t>(c), all);
}

void Learner::copy(std::int32_t pusher, const Piece& piece) {
  const std::size_t first = static_cast<std::size_t>(pusher) * pushing_;
  for (const ParameterRange& range : piece.ranges) {
    const std::span<const double> values = weights(center_, range).w;
    for (std::size_t c = first; c < first + pushing_; ++c)
      std::copy(values.begin(), values.end(),
                clients_[c].pulled.begin() + static_cast<std::ptrdiff_t>(range.begin));
  }
}

void Learner::take(std::int64_t client) {
  take(client, {0, sum_.size()});
}

void Learner::descend(std::int64_t client) {
  descend(client, {0, sum_.size()});
}

void Learner::use(std::int64_t client, const Piece& piece, bool pulled) {
  for (const ParameterRange& range : piece.ranges) {
    if (pulled) take(client, range);
    descend(client, range);
  }
}

void Learner::take(std::int64_t client, ParameterRange range) {
  State& state = clients_[static_cast<std::size_t>(client)];
  const std::size_t count = range.end - range.begin;
  update_.on_client(weights(state, range).w, std::span(state.pulled).subspan(range.begin, count));
}

void Learner::descend(std::int64_t client, ParameterRange range) {
  if (has_servers_ && !update_.sends_parameters()) return;
  State& state = clients_[static_cast<std::size_t>(client)];
  const std::size_t count = range.end - range.begin;
  steptime::descend(
      weights(state, range),
      {std::span(state.gradient).subspan(range.begin, count), static_cast<double>(members_)},
      descent_);
}

void Learner::step_together(std::int64_t step) {
  const auto clients = static_cast<std::int64_t>(clients_.size());
  for (std::int64_t client = 0; client < clients; ++client) {
    compute(client, step);
    descend(client);
  }
  if ((clients == 1 && !has_servers_) || !update_.exchanges(step)) return;
  meet();
  for (std::int64_t client = 0; client < clients; ++client)
    take(client);
}

CurvePoint Learner::point(Duration time, std::int64_t steps) const {
  const auto taken = static_cast<double>(steps * members_ * convergence_.batch);
  return {to_seconds(time), taken / static_cast<double>(convergence_.problem->samples()), test()};
}

Score Learner::test() const {
  return convergence_.problem->test(convergence_.test_center && has_servers_ ? center_.w
                                                                             : clients_[0].w);
}

}  // namespace steptime
