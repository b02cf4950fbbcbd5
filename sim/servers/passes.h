// The forward and the backward pass of a client, as causes: when they end, and what held them up.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/servers/training.h"
#include "sim/step/pass_reasons.h"

#include <algorithm>
#include <utility>

namespace steptime {

class Passes {
 public:
  /// `engine` must outlive this.
  Passes(Engine& engine, const StepPlan& step)
      : engine_(engine),
        forward_(engine, "forward pass", step.forward_wait),
        backward_(engine, "backward pass", step.backward_wait),
        slower_(engine.reason("slower worker", "GPU")),
        input_(engine.reason("input", "input pipeline")) {}

  /// A forward pass that begins at `origin` comes at `when` to what it waits for, `needed` later.
  /// `held`: what held it up last.
  void hold_up(Held& held, Time& origin, When when, Duration needed) {
    if (when.time - needed < origin) return;
    origin = when.time - needed;
    engine_.release(held);
    held = engine_.hold(when);
  }
  /// A forward pass that would begin at `origin` waits for samples until `ready`.
  void await_samples(Held& held, Time& origin, Time ready) {
    const When since = engine_.release(held);
    held = engine_.hold(engine_.until(since, since.time + (ready - origin), input_));
    origin = ready;
  }
  /// The end of a forward pass that began at `origin`, on a worker that is `factor` times as slow.
  When forward(Held& held, Time origin, Duration nominal, double factor) {
    return end(engine_.release(std::exchange(held, {})), origin, nominal, factor, forward_);
  }
  /// The end of the backward pass behind it.
  When backward(When middle, Duration nominal, double factor) {
    return end(middle, middle.time, nominal, factor, backward_);
  }

 private:
  When end(When since, Time begin, Duration nominal, double factor, const PassReasons& reasons) {
    const Time end = begin + scaled(nominal, factor);
    const Time usual = std::clamp(begin + nominal, std::min(since.time, end), end);
    return engine_.until(reasons.until(engine_, since, usual), end, slower_);
  }

  Engine& engine_;
  PassReasons forward_;
  PassReasons backward_;
  Reason slower_;
  Reason input_;
};

}  // namespace steptime
