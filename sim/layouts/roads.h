// What the exchanges of a layout's ranks go through: closed forms on links that they share, or
// messages.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/segments.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/workload/shared_gpu.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace steptime {

/// A rank's place in its group.
struct Seat {
  Group* group = nullptr;
  std::size_t member = 0;
};

class LayoutRoads {
 public:
  virtual ~LayoutRoads() = default;
  /// The ranks that have a program of their own, in ascending order. In closed form one stands for
  /// all of its place in the pipeline, whose groups of a kind call at once.
  virtual std::vector<std::int32_t> programs() const = 0;
  /// Of one of these. A call names the collective by its place in GroupCosts::all().
  virtual Seat seat(std::int32_t rank, GroupKind kind) = 0;
  /// For what a rank sends to a neighbour in the pipeline, `back` to the one before it.
  virtual std::unique_ptr<Medium> neighbour(std::int32_t rank, bool back) = 0;
  /// Whether these exchanges of the rank meet no others on their links.
  virtual bool are_alone(std::int32_t rank, GroupKind kind) const = 0;
  /// Whether they meet none but the rank's own collectives of other kinds.
  virtual bool are_among_own(std::int32_t rank, GroupKind kind) const = 0;
  /// The rank has made all exchanges of the segment, which met no others.
  virtual void passed(std::int32_t rank, const Segment& segment) = 0;
  /// How long each link that exchanges share has worked, ps, whose sum may pass int64; none where
  /// messages say it.
  virtual std::vector<double> carried() const { return {}; }
  /// The earliest instant from which on a link has been shared without a pause; Time::max() where
  /// none is shared.
  virtual Time shared_since() const { return Time::max(); }
  /// Of so many seconds, how long the busiest link has worked that exchanges share: at most 1.
  /// `carried`: by all of the step.
  virtual double busiest(double seconds, std::span<const double> carried) const = 0;
  /// What was delivered.
  virtual std::int64_t messages() const { return 0; }
  /// What links have carried in so many seconds; none where no messages are played.
  virtual std::vector<LinkUse> links(double /*seconds*/) const { return {}; }
  /// Of one that has a program, where compute and exchanges slow each other down; else null.
  SharedGpu* gpu(std::int32_t rank) {
    const auto at = gpus_.find(rank);
    return at == gpus_.end() ? nullptr : &at->second;
  }

 protected:
  LayoutRoads(World& world, const LayoutPlan& plan, std::span<const std::int32_t> programs);
  /// What the exchanges of these ranks go through, one after another.
  std::unique_ptr<Medium> slowed(std::unique_ptr<Medium> medium, Overlap::Pair collective,
                                 std::span<const std::int32_t> ranks);

 private:
  /// Kernels of a rank run from now on, or no longer do.
  virtual void set_kernels(std::int32_t /*rank*/, bool /*run*/) {}

  World& world_;
  const LayoutPlan& plan_;
  std::map<std::int32_t, SharedGpu> gpus_;
};

}  // namespace steptime
