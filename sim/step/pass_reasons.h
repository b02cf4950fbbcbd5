// Why the time of a GPU's passes goes by: kernels, the host that launches them too late, and
// collectives beside them.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"

namespace steptime {

class PassReasons {
 public:
  /// `waits`: the share of the pass in which the GPU waits for the host, of each part of it alike.
  PassReasons(Engine& engine, const char* pass, double waits)
      : waits_(waits),
        kernels_(engine.reason(pass, "GPU")),
        host_(engine.reason("kernels that are not launched yet", "host")) {}

  /// A part of the pass, from `since` to `end`.
  When until(Engine& engine, When since, Time end) const {
    if (waits_ > 0)
      since = engine.until(since, since.time + scaled(end - since.time, waits_), host_);
    return engine.until(since, end, kernels_);
  }
  /// The same, where `all` is such a part that ends no sooner.
  When until(Engine& engine, When since, When all, Time end) const {
    return waits_ > 0 ? until(engine, since, end) : When(end, all.cause);
  }

 private:
  double waits_;
  Reason kernels_;
  Reason host_;
};

struct OverlapReasons {
  explicit OverlapReasons(Engine& engine)
      : compute(engine.reason("backward pass slowed by collectives", "GPU")),
        collective(engine.reason("collectives slowed by the backward pass", "GPU")) {}
  Reason compute;
  Reason collective;
};

}  // namespace steptime
