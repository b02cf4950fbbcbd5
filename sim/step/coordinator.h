// Who decides, for all workers together, what is reduced next. The schedule says what travels
// together; a coordinator says when the workers agree that it may. Implemented in
// schedulers/coordinators/, one file each.
#pragma once
#include "sim/config/registry.h"
#include "sim/network/cluster.h"
#include "sim/step/schedule.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace steptime {

class Coordinator {
 public:
  static constexpr const char* kNoun = "coordinator";
  virtual ~Coordinator() = default;
  /// Who decides in the place of the schedule's policy, which is null where every bucket goes as
  /// soon as it is ready. May be null for the same reason.
  virtual std::unique_ptr<Policy> policy(std::unique_ptr<Policy> schedule,
                                         std::span<const Bucket> buckets,
                                         const Cluster& cluster) const = 0;
  /// Its thread goes on when a library has launched a message, if the library does; else when the
  /// message is through.
  virtual bool goes_on_when_launched() const { return false; }
  /// Steps that a mean step time needs, when neither config nor schedule ask for more.
  virtual std::int64_t default_steps() const { return 1; }
  /// Empty, or why its times lie outside what was measured.
  virtual std::string outside_domain() const { return ""; }
};
using Coordinators = Registry<Coordinator>;

}  // namespace steptime
