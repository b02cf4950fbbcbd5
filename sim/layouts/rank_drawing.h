// What a timeline shows of a rank of a pipeline: its passes, each with micro-batch and chunk, what
// it sends and sums up beside them, and the memory that it holds.
#pragma once
#include "sim/events/rank_timeline.h"
#include "sim/layouts/pipeline_order.h"
#include "sim/layouts/plan.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace steptime {

std::string_view name_of(PassKind kind);

class RankDrawing {
 public:
  /// `timeline` null: nothing is shown.
  RankDrawing(const World& world, Timeline* timeline, std::int32_t place);
  bool is_on() const { return spans_.is_on(); }

  /// What is over now.
  void pass(Pass pass, Time start);
  void exchange(std::string_view lane, std::string_view name, Bytes bytes, Time start);
  /// Shows every collective of the group from now on, by the names of its ways.
  void watch(Group& group, GroupKind kind);
  /// From `since` on.
  void holds(std::int64_t bytes, Time since);

 private:
  class Collectives final : public Group::Watch {
   public:
    Collectives(RankDrawing& drawing, Group& group, GroupKind kind)
        : drawing_(drawing), group_(group), kind_(kind) {}
    void ended(std::int64_t call, Bytes bytes, Time start) override;

   private:
    RankDrawing& drawing_;
    Group& group_;
    GroupKind kind_;
  };

  const World& world_;
  Timeline* timeline_;
  RankTimeline spans_;
  std::uint32_t memory_ = 0;
  std::vector<std::unique_ptr<Collectives>> watches_;
};

}  // namespace steptime
