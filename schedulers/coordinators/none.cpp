// Nobody coordinates: every worker sends as its schedule says, and all say the same.
#include "sim/step/coordinator.h"

#include <memory>
#include <utility>

namespace steptime {
namespace {

class None final : public Coordinator {
 public:
  std::unique_ptr<Policy> policy(std::unique_ptr<Policy> schedule, std::span<const Bucket>,
                                 const Cluster&) const override {
    return schedule;
  }
};

const bool kRegistered =
    Coordinators::instance().add("none", "workers send as the schedule says", {},
                                 [](const Config&) { return std::make_unique<None>(); });

}  // namespace
}  // namespace steptime
