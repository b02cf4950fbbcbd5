// The calls of all-reduces and barriers that ranks make.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/events/callback.h"
#include "sim/events/callee.h"
#include "sim/events/causes.h"

#include <cstdint>
#include <vector>

namespace steptime {

class Servers;

/// What of a key is copied, sent and copied back.
enum class Payload : std::uint8_t {
  kGradient,
  kParameters,
  kParametersBeside  ///< what comes back is used in the update at the end of the step
};

/// What a call is for: in which step this of the key is added up.
struct CallSubject {
  static constexpr std::int32_t kBarrier = -1;  ///< in place of a key
  std::int32_t key = kBarrier;
  std::int64_t step = 0;
  Payload payload = Payload::kGradient;
  friend bool operator==(const CallSubject&, const CallSubject&) = default;
};

/// Is told of all-reduces that all ranks have called.
class CallListener {
 public:
  virtual ~CallListener() = default;
  virtual void collective_started(CallSubject subject) = 0;
  virtual void collective_ended(CallSubject subject) = 0;
};

/// A call that did not return.
struct StuckCall {
  std::int32_t rank = 0;
  std::int32_t communicator = 0;
  std::int64_t number = 0;  ///< the call's place among those on this communicator
  CallSubject subject{};
};

/// Who answers calls for keys in place of a communicator of all ranks.
class KeyCalls : public Callee {
 public:
  /// A rank's call, made at `when`, which may lie ahead; returns a name for it.
  virtual std::uint64_t call(std::int32_t rank, CallSubject subject, When when,
                             Callback returns) = 0;
  /// When nothing is under way any more: throws InternalError for a collective that is not over.
  virtual void expect_over() const = 0;
  /// Calls that have not returned.
  virtual std::vector<StuckCall> stuck() const = 0;
  /// What links of their own have carried in so many seconds, for one of so many steps.
  virtual std::vector<LinkUse> links(double /*seconds*/, double /*steps*/) const { return {}; }
  /// By whose way they are answered; null: no servers'.
  virtual const Servers* servers() const { return nullptr; }
};

}  // namespace steptime
