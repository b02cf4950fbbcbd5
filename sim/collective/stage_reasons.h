// Why the time of a collective passes, stage by stage.
#pragma once
#include "sim/collective/collective.h"
#include "sim/core/units.h"
#include "sim/events/engine.h"

#include <algorithm>

namespace steptime {

class StageReasons {
 public:
  static constexpr const char* kInNodeLinks = "links inside nodes";
  static constexpr const char* kBetweenNodesLinks = "links between nodes";

  explicit StageReasons(Engine& engine)
      : in_node_(engine, kInNodeLinks),
        between_nodes_(engine, kBetweenNodesLinks),
        sums_(engine.reason("sums of collectives", "receiving devices")),
        line_startup_(engine.reason("start-up of collectives", "measured line")),
        alone_(engine.reason("collectives", "known by their time only")),
        played_(engine.reason("collectives", "messages on links")),
        copies_(engine.reason("copies between GPU and host", "copy engines")) {}

  Reason startup(const Stage& stage) const { return of(stage).startup; }
  Reason work(const Stage& stage) const {
    if (stage.copies) return copies_;
    return stage.sum == Duration{} ? of(stage).transfer : of(stage).work;
  }
  /// Of a collective that is known by its time only.
  Reason alone() const { return alone_; }
  /// Of one that is played as messages.
  Reason played() const { return played_; }

  /// The end of a collective that meets no other, and takes `time` from `start` on; `plays`: as its
  /// messages do.
  When end(Engine& engine, When start, const Collective& collective, Bytes bytes, Duration time,
           bool plays) const {
    const Time end = start.time + time;
    if (!engine.keeps_causes()) return When(end);
    if (plays) return engine.until(start, end, played_);
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
  Reason played_;
  Reason copies_;
};

}  // namespace steptime
