// Runs the points of a sweep one after another, keeping the parts of the experiment that did not
// change between them.
#pragma once
#include "sim/experiment/simulate.h"
#include "sim/sweeps/sweep.h"

#include <memory>
#include <vector>

namespace steptime {

/// One per thread.
class PointRunner {
 public:
  explicit PointRunner(const Sweep& sweep);
  ~PointRunner();
  /// The experiment of a point, until the next one is read. Throws InputError when its config is
  /// not valid.
  const Experiment& read(std::int64_t point);
  /// Reads and simulates it. `buckets`: as in simulate().
  Result run(std::int64_t point, std::vector<SentBucket>* buckets = nullptr,
             const OnProgress& on_progress = {});
  /// The experiment and the config of the point that was read last.
  const Experiment& experiment() const;
  const Json& config() const;

 private:
  /// As read(); throws what the first part says that is built anew.
  const Experiment& read_parts(std::int64_t point);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace steptime
