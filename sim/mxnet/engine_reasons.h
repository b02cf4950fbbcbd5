// Why time passes in a dependency engine: what its main thread does, and what its operations take.
// What waits for a variable, for a thread or for other ranks has what it waits for as its cause.
#pragma once
#include "sim/events/engine.h"

namespace steptime {

struct EngineReasons {
  explicit EngineReasons(Engine& clock)
      : calls(clock.reason("calls of the framework", "host")),
        pushes(clock.reason("pushes to the engine", "host")),
        wake_ups(clock.reason("wake-ups of the main thread", "host")),
        forward(clock.reason("forward pass", "GPU")),
        backward(clock.reason("backward pass", "GPU")),
        slower(clock.reason("slower worker", "GPU")),
        slowed_forward(clock.reason("forward pass slowed by collectives", "GPU")),
        slowed_backward(clock.reason("backward pass slowed by collectives", "GPU")),
        copies(clock.reason("copies between GPU and host", "copy engines")),
        updates(clock.reason("updates of weights", "GPU")) {}

  Reason calls;
  Reason pushes;
  Reason wake_ups;
  Reason forward;
  Reason backward;
  Reason slower;  ///< what a pass takes longer than usual by itself
  Reason slowed_forward;
  Reason slowed_backward;
  Reason copies;
  Reason updates;
};

}  // namespace steptime
