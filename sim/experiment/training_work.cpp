#include "sim/experiment/training_work.h"

#include "sim/core/error.h"
#include "sim/core/limits.h"

#include <fmt/format.h>

namespace steptime {
namespace {

double pieces_of(const TrainingPlan& plan) {
  double pieces = 0;
  for (const auto& of_bucket : plan.pieces)
    pieces += static_cast<double>(of_bucket.size());
  return pieces;
}

}  // namespace

double training_events(const Experiment& e, const TrainingPlan& plan, std::int64_t seeds) {
  const auto workers = static_cast<double>(e.cluster->workers());
  const auto clients = static_cast<double>(plan.aggregation.clients);
  double beyond = 0;  // of a node; four events more for its copies
  for (const auto& of_piece : plan.pieces_beyond)
    beyond += 10 * static_cast<double>(of_piece.size()) + 4;
  const double step =
      workers + 2 * static_cast<double>(plan.trainers()) +
      clients * (2 * static_cast<double>(plan.step.buckets.size()) + 10 * pieces_of(plan)) +
      static_cast<double>(e.cluster->nodes) * beyond;
  return step * static_cast<double>(plan.played_steps()) * static_cast<double>(seeds);
}

void check_training_work(const Experiment& e, const TrainingPlan& plan, std::int64_t seeds) {
  const double pieces = pieces_of(plan);
  const auto clients = static_cast<double>(plan.aggregation.clients);
  const double states = clients * (pieces + static_cast<double>(plan.pieces.size()));
  // With those that are under way, at most about 100 B each: they fit into 2 GiB.
  constexpr double kMost = 2e7;
  if (plan.aggregation.servers.count > 0 && states > kMost) {
    throw PlacedError(
        fmt::format("/cluster: {} clients of servers with {} messages each are more than fit in "
                    "memory; larger buckets are fewer",
                    clients, pieces));
  }
  check_events(training_events(e, plan, seeds), "/run/steps", "events",
               "fewer steps, workers or servers are fewer");
}

}  // namespace steptime
