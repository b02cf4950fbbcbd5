// Synchronous SGD: a step ends when everyone has the sum of all gradients (001 Figure 6).
#include "sim/learning/update.h"

#include <memory>

namespace steptime {
namespace {

class Sgd final : public Update {
 public:
  bool waits_for_all() const override { return true; }
  void on_server(Weights center, Pushed gradients, const Descent& descent) const override {
    descend(center, gradients, descent);
  }
};

const bool kRegistered =
    Updates::instance().add("sgd", "synchronous: everyone waits for the sum of all gradients", {},
                            [](const Config&) { return std::make_unique<Sgd>(); }) &&
    Updates::instance().set_default("sgd");

}  // namespace
}  // namespace steptime
