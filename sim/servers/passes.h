// The forward and the backward pass of a client, as causes: when they end, and what held them up.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/servers/training.h"
#include "sim/step/pass_reasons.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace steptime {

class Passes {
 public:
  /// `engine` must outlive this.
  Passes(Engine& engine, const StepPlan& step)
      : engine_(engine),
        forward_(engine, "forward pass", step.forward_wait),
        backward_(engine, "backward pass", step.backward_wait),
        slower_(engine.reason("slower worker", "GPU")),
        input_(engine.reason("input", "input pipeline")),
        pipeline_(step.input) {}

  /// A forward pass that begins at `origin` comes at `when` to what it waits for, `needed` later.
  /// `held`: what held it up last.
  void hold_up(Held& held, Time& origin, When when, Duration needed) {
    if (when.time - needed < origin) return;
    origin = when.time - needed;
    engine_.release(held);
    held = engine_.hold(when);
  }
  /// A forward pass that begins at `origin`, as far as the rest says, needs samples, which the
  /// pipeline makes ready step by step, as far ahead as it can.
  void await_input(Held& held, Time& origin, std::int64_t step) {
    const Time ready(step * pipeline_);
    if (ready <= origin) return;
    const auto place = static_cast<std::size_t>(step);
    waited_.resize(std::max(waited_.size(), place + 1));
    waited_[place] += ready - origin;
    const When since = engine_.release(held);
    held = engine_.hold(engine_.until(since, since.time + (ready - origin), input_));
    origin = ready;
  }
  /// By step, the sum over all clients.
  const std::vector<Duration>& waited_for_input() const { return waited_; }
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
  Duration pipeline_;  ///< of the samples of a step
  std::vector<Duration> waited_;
};

}  // namespace steptime
