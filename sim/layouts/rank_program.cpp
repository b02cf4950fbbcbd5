#include "sim/layouts/rank_program.h"

namespace steptime {

Task trains_a_step(StageRank& me) {
  co_await me.gathers_updates();
  for (std::int64_t k = 0; k < me.passes(); ++k) {
    const Pass pass = me.begin(k);
    switch (pass.kind) {
      case PassKind::kForward:
        co_await me.receives_activations(pass);
        co_await me.forward(pass);
        co_await me.sends_activations(pass);
        break;
      case PassKind::kBackward:
        co_await me.receives_gradients(pass);
        co_await me.backward(pass);
        co_await me.sends_gradients(pass);
        break;
      case PassKind::kInputGradient:
        co_await me.receives_gradients(pass);
        co_await me.input_gradient(pass);
        co_await me.sends_gradients(pass);
        break;
      case PassKind::kWeightGradient:
        co_await me.weight_gradient(pass);
        break;
    }
  }
  co_await me.sums_gradients();
  co_await me.updates_weights();
  me.end();
}

}  // namespace steptime
