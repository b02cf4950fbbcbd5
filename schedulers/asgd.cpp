// Asynchronous SGD: a server applies each push when it comes and answers at once (001 Figure 7).
#include "sim/learning/update.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

class Asgd final : public Update {
 public:
  bool waits_for_all() const override { return false; }
  std::string refusal(const MeetingPlace& where) const override {
    if (where.holds_center) return {};
    return "asgd needs parameter servers, as workers meet nowhere else; choose parameter-server, "
           "or hybrid or kvstore with servers";
  }
  /// Enough that the first step, in which pushes and pulls do not meet, hardly counts.
  std::int64_t default_steps() const override { return 20; }
  void on_server(Weights center, Pushed gradients, const Descent& descent) const override {
    descend(center, gradients, descent);
  }
};

const bool kRegistered =
    Updates::instance().add("asgd", "asynchronous: servers apply every push when it arrives", {},
                            [](const Config&) { return std::make_unique<Asgd>(); });

}  // namespace
}  // namespace steptime
