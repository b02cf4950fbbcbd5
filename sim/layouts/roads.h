// What the exchanges of a layout's ranks go through.
#pragma once
#include "sim/layouts/plan.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"

#include <cstdint>
#include <memory>

namespace steptime {

class LayoutRoads {
 public:
  virtual ~LayoutRoads() = default;
  /// For all groups of a kind among the ranks of a stage, `rank` of the pipeline, which go through
  /// the same collective at the same time.
  virtual std::unique_ptr<Medium> medium(std::int32_t rank, GroupKind kind,
                                         const Collective& collective) = 0;
  /// Whether these exchanges meet no others on their links.
  virtual bool are_alone(std::int32_t rank, GroupKind kind) const = 0;
};

/// Closed forms, each of which has its links for itself.
class AloneRoads final : public LayoutRoads {
 public:
  explicit AloneRoads(World& world) : world_(world) {}
  std::unique_ptr<Medium> medium(std::int32_t rank, GroupKind kind,
                                 const Collective& collective) override;
  bool are_alone(std::int32_t, GroupKind) const override { return true; }

 private:
  World& world_;
};

}  // namespace steptime
