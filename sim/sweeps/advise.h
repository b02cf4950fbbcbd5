// What would make a step shorter: what each framework can run (sim/sweeps/frameworks.h), each
// setting simulated, and the best of each with what to write there.
//
// What kernels lose beside a collective is the same for all of them: the blocks of threads that the
// config's own has.
#pragma once
#include "sim/config/config.h"
#include "sim/core/limits.h"
#include "sim/sweeps/advice.h"

#include <functional>
#include <memory>
#include <string>

namespace steptime {

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
