// How much a training run has to play.
#include "sim/experiment/training_work.h"

#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/training_run.h"
#include "tests/support/tiny_experiment.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Four workers, each a client of two servers: a worker's speed is an event, its trainer has two,
/// each of three buckets two, and each of its pieces, one or two, ten. Twice as many steps are
/// twice as many events.
TEST(TrainingWork, GrowsWithPiecesAndSteps) {
  const TinyFolder folder;
  const auto events = [&](int steps) {
    const std::string patch = R"({"strategy": {"aggregation": {"type": "parameter-server",
        "servers": 2, "collective": null}}, "run": {"steps": )" +
                              std::to_string(steps) + "}}";
    const Experiment e = read_experiment(load_document(folder.experiment(patch), {}));
    const TrainingPlan plan = plan_training(e);
    double pieces = 0;
    for (const auto& of_bucket : plan.pieces)
      pieces += static_cast<double>(of_bucket.size());
    EXPECT_EQ(training_events(e, plan, 1),
              (4 + 2 * 4 + 4 * (2 * 3 + 10 * pieces)) * static_cast<double>(plan.played_steps()));
    EXPECT_NO_THROW(check_training_work(e, plan, 1));
    return training_events(e, plan, 1) / static_cast<double>(plan.played_steps());
  };
  EXPECT_EQ(events(10), events(20));
}

}  // namespace
}  // namespace steptime
