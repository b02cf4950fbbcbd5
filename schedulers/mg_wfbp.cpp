// MG-WFBP: merges a gradient into the one that becomes ready next when that one is ready before
// the message's startup would be over.
//
// Algorithm 1 of 004, walking from the output layer L to layer 2, joins layer l to layer l - 1 iff
//
//   tau_b[l-1] + t_b[l-1] < tau_c[l] + a
//
// and then recomputes tau_c. tau_b[1], which line 9 leaves out, and "tau_b[0]", which line 13 reads
// at l = 2, are taken as the definition of tau_b gives them, so that the left-hand side is always
// the moment at which the gradient of layer l - 1 exists. Merging moves tau_c of later layers only,
// so one pass with a running message suffices: O(L) instead of the paper's O(L^2).
//
// Parameters: a [time] and b [time per byte] of a collective of M bytes, a + b M, that the merge
// test reckons with; without them the collective at hand. The authors' own code has tables of them
// by number of workers (HKBU-HPML/MG-WFBP distributed_optimizer.py), whatever the network is.
//
// The result is not always optimal, against the paper's Theorem 1: schedulers/optimal.cpp.
#include "sim/step/schedule.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

namespace steptime {
namespace {

class MgWfbp final : public Schedule {
 public:
  MgWfbp(Granularity granularity, std::optional<LinearCost> believed)
      : Schedule(granularity), believed_(believed) {}
  BucketPlan plan(std::span<const GradientUnit> units, const Collective& at_hand) const override {
    BucketPlan plan;
    if (units.empty()) return plan;
    const LinearCollective line(believed_.value_or(LinearCost{}));
    const Collective& collective = believed_ ? line : at_hand;
    const Duration a = collective.startup();
    Duration start = units.front().ready;  // tau_c of the running message
    Bytes bytes = units.front().bytes;
    std::int32_t size = 1;
    for (const GradientUnit& next : units.subspan(1)) {
      if (next.ready < checked_add(start, a)) {
        start = std::max(start, next.ready);  // condition 15
        bytes += next.bytes;                  // condition 16
        ++size;
        continue;
      }
      plan.sizes.push_back(size);
      start = std::max(checked_add(start, collective.time(bytes)), next.ready);
      bytes = next.bytes;
      size = 1;
    }
    plan.sizes.push_back(size);
    return plan;
  }

 private:
  std::optional<LinearCost> believed_;
};

const bool kRegistered = Schedules::instance().add(
    "mg-wfbp", "merged gradients, Algorithm 1 of paper 004",
    {{.key = "a",
      .kind = Kind::kTime,
      .help = "of a collective of M bytes, a + b M, that merging reckons with; default: the one at "
              "hand",
      .need = Need::kOptional,
      .range = kNotNegative},
     {.key = "b",
      .kind = Kind::kTimePerByte,
      .help = "the other half of `a`",
      .need = Need::kOptional,
      .range = kNotNegative},
     granularity_param()},
    [](const Config& c) {
      if (c.has("a") != c.has("b"))
        c.fail(c.has("a") ? "b" : "a", "required but missing, as the other of a and b is there");
      std::optional<LinearCost> believed;
      if (c.has("a")) believed = {c.get<Duration>("a"), c.get<TimePerByte>("b")};
      return std::make_unique<MgWfbp>(read_granularity(c), believed);
    });

}  // namespace
}  // namespace steptime
