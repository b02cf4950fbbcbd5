// What would make a step shorter: what each framework can run (sim/sweeps/frameworks.h), each
// setting simulated, and the best of each with what to write there.
//
// What kernels lose beside a collective is the same for all of them: the blocks of threads that the
// config's own has. A gain is one where it is larger than the difference between the intervals:
//   ln(step / shorter step) > |w' - w|,   w = ln(high / low) / 2
// since what both intervals have in common is off for both steps alike.
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"
#include "sim/core/limits.h"
#include "sim/experiment/track_record.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace steptime {

/// The best that one system can do.
struct Advised {
  std::string system;    ///< "PyTorch DDP", "Horovod", ...
  std::string carried;   ///< the collective, or the servers, that gradients go through
  std::string schedule;  ///< its name and settings, short
  std::string paste;     ///< what to write in that system
  Json strategy;         ///< the values to set: JSON pointer to value
  double step_time_s = 0;
  Interval interval_s{};
  Validity domain;
};

/// Settings that were not simulated.
struct Untried {
  std::string carried;  ///< what gradients of whom would go through
  std::size_t settings = 0;
  std::string reason;
};

struct Advice {
  std::string name;
  double step_time_s = 0;  ///< as the config has it
  Interval interval_s{};
  std::size_t tried = 0;      ///< settings that were simulated
  std::vector<Advised> best;  ///< of each system, the shortest step first
  /// The best with numbers in fewer bytes, whose accuracy is not simulated.
  std::vector<Advised> narrower;
  std::vector<Untried> left_out;
  bool is_partial =
      false;  ///< interrupted; then figures are of analytic fidelity, without intervals

  /// Whether a step is shorter than the config's by more than the difference of their intervals.
  bool is_gain(const Advised& advised) const;
  std::string text() const;
  Json json() const;
};

struct AdviseOptions {
  // What alone is searched, by name; "": all that there are.
  std::string system{};
  std::string collective{};
  /// What the listener throws to interrupt ends the search; what was found until then is returned.
  bool keeps_partial = false;
  /// Told whenever a setting is faster than all before it; from one thread at a time.
  std::function<void(const Advised&)> on_better{};
};

/// `config`: an experiment; its sweep is not read. Settings are searched at analytic fidelity; what
/// is returned was simulated at the config's own. A collective that is known by measurement is
/// kept, as formulas are no match for it. Settings with servers are played message by message: they
/// are left out where the servers' links alone need longer than the best that was found, and from
/// some number of messages on. Throws what simulate() throws for the experiment as it is, and
/// InputError for one that learns and for names that nothing has.
Advice advise(const std::shared_ptr<const Document>& config, const AdviseOptions& options,
              const OnProgress& on_progress = {});
inline Advice advise(const std::shared_ptr<const Document>& config,
                     const OnProgress& on_progress = {}) {
  return advise(config, AdviseOptions{}, on_progress);
}

}  // namespace steptime
