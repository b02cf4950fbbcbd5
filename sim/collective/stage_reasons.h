// Why the time of a collective passes, stage by stage.
#pragma once
#include "sim/collective/collective.h"
#include "sim/collective/played_parts.h"
#include "sim/core/units.h"
#include "sim/events/engine.h"

#include <algorithm>

namespace steptime {

class StageReasons {
 public:
  static constexpr const char* kInNodeLinks = "links inside nodes";
  static constexpr const char* kBetweenNodesLinks = "links between nodes";
  static constexpr const char* kMessages = "messages on links";

  explicit StageReasons(Engine& engine)
      : in_node_(engine, kInNodeLinks),
        between_nodes_(engine, kBetweenNodesLinks),
        sums_(engine.reason("sums of collectives", "receiving devices")),
        line_startup_(engine.reason("start-up of collectives", "measured line")),
        alone_(engine.reason("collectives", "known by their time only")),
        played_startup_(engine.reason("start-up of collectives", kMessages)),
        played_transfer_(engine.reason("transfer of collectives", kMessages)),
        played_sharing_(engine.reason("collectives wait or share", kMessages)),
        copies_(engine.reason("copies between GPU and host", "copy engines")) {}

  Reason startup(const Stage& stage) const { return of(stage).startup; }
  Reason work(const Stage& stage) const {
    if (stage.copies) return copies_;
    return stage.sum == Duration{} ? of(stage).transfer : of(stage).work;
  }
  /// Of a collective that is known by its time only.
  Reason alone() const { return alone_; }
  /// The end of one that was played as messages from `start` on, when all of it is known.
  When end_of_played(Engine& engine, When start, const PlayedParts& parts) const {
    start = engine.until(start, parts.startup, played_startup_);
    start = engine.until(start, parts.transfer, played_transfer_);
    start = engine.until(start, parts.sharing, played_sharing_);
    return engine.until(start, parts.sums, sums_);
  }

  /// The end of a collective that meets no other, and takes `time` from `start` on. `played`: what
  /// it is for, where messages take it; else null.
  When end(Engine& engine, When start, const Collective& collective, Bytes bytes, Duration time,
           const PlayedParts* played) const {
    const Time end = time_after(start.time, time);
    if (!engine.keeps_causes()) return When(end);
    if (time == Duration{}) return start;
    if (played != nullptr) return end_of_played(engine, start, *played);
    const auto stages = collective.stages(bytes);
    if (const auto line = collective.linear(); line && stages.empty())
      start = engine.until(start, std::min(line->a, time), line_startup_);
    for (const Stage& stage : stages) {
      start = engine.until(start, stage.startup, startup(stage));
      if (!stage.sum) {
        start = engine.until(start, stage.work, work(stage));
        continue;
      }
      start = engine.until(start, stage.work - *stage.sum, of(stage).transfer);
      start = engine.until(start, *stage.sum, sums_);
    }
    return engine.until(start, end, alone_);
  }

 private:
  struct Reasons {
    Reasons(Engine& engine, const char* links)
        : startup(engine.reason("start-up of collectives", links)),
          transfer(engine.reason("transfer of collectives", links)),
          work(engine.reason("transfer and sums of collectives", links)) {}
    Reason startup;
    Reason transfer;
    Reason work;
  };
  const Reasons& of(const Stage& stage) const {
    return stage.where == Pairs::kInNode ? in_node_ : between_nodes_;
  }

  Reasons in_node_;
  Reasons between_nodes_;
  Reason sums_;
  Reason line_startup_;
  Reason alone_;
  Reason played_startup_;
  Reason played_transfer_;
  Reason played_sharing_;
  Reason copies_;
};

}  // namespace steptime
