// What would make a step shorter: schedules with their settings, over collectives and servers, each
// simulated, and the best of each system with what to write there.
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"
#include "sim/core/limits.h"
#include "sim/experiment/track_record.h"

#include <cstddef>
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

struct Advice {
  std::string name;
  double step_time_s = 0;     ///< as the config has it
  std::size_t tried = 0;      ///< settings that were simulated
  std::vector<Advised> best;  ///< of each system, the shortest step first

  std::string text() const;
  Json json() const;
};

/// `config`: an experiment; its sweep is not read. Settings are searched at analytic fidelity; what
/// is returned was simulated at the config's own. A collective that is known by measurement is
/// kept, as formulas are no match for it. Throws what simulate() throws for the experiment as it
/// is, and InputError for one that learns.
Advice advise(const std::shared_ptr<const Document>& config, const OnProgress& on_progress = {});

}  // namespace steptime
