// The calls of all-reduces and barriers that ranks make.
#pragma once
#include <cstdint>

namespace steptime {

/// What a call is for: the n-th time that this key is reduced.
struct CallSubject {
  static constexpr std::int32_t kBarrier = -1;  ///< in place of a key
  std::int32_t key = kBarrier;
  std::int64_t step = 0;
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

}  // namespace steptime
