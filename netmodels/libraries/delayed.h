// A collective whose every message, or every sum, waits for the host first: for queries of the
// driver, or for the start of a kernel.
#pragma once
#include "sim/collective/collective.h"

#include <memory>
#include <optional>

namespace steptime {

struct Delays {
  Duration per_step{};  ///< before each step that sends or receives
  Duration per_sum{};   ///< before each of those that add up what they receive, besides
  /// What adding up takes, where the closed form of `plain` knows another than the cluster's.
  std::optional<TimePerByte> reduction{};
};

/// `plain` with these delays. Closed form: those of the rank that has most of them, which is the
/// slowest where ranks are in step. `plain` is one program, or known by its time only, which takes
/// no delay.
std::unique_ptr<Collective> delayed(std::shared_ptr<const Collective> plain, Delays delays);

}  // namespace steptime
