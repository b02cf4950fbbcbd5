// What would make a step shorter: schedules with their settings, over collectives and servers, each
// simulated, and the best of each system with what to write there.
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
  Validity domain;
};

/// Settings that were not simulated.
struct Untried {
  std::string carried;  ///< what gradients would go through
  std::size_t settings = 0;
  std::string reason;
};

struct Advice {
  std::string name;
  double step_time_s = 0;     ///< as the config has it
  std::size_t tried = 0;      ///< settings that were simulated
  std::vector<Advised> best;  ///< of each system, the shortest step first
  std::vector<Untried> left_out;
  bool is_partial = false;  ///< interrupted; then figures are of analytic fidelity

  std::string text() const;
  Json json() const;
};

struct AdviseOptions {
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
/// InputError for one that learns.
Advice advise(const std::shared_ptr<const Document>& config, const AdviseOptions& options,
              const OnProgress& on_progress = {});
inline Advice advise(const std::shared_ptr<const Document>& config,
                     const OnProgress& on_progress = {}) {
  return advise(config, AdviseOptions{}, on_progress);
}

}  // namespace steptime
