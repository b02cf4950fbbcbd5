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
      : in_node_{engine.reason("start-up of collectives", kInNodeLinks),
                 engine.reason("transfer of collectives", kInNodeLinks)},
        between_nodes_{engine.reason("start-up of collectives", kBetweenNodesLinks),
                       engine.reason("transfer of collectives", kBetweenNodesLinks)},
        line_startup_(engine.reason("start-up of collectives", "measured line")),
        alone_(engine.reason("collectives", "known by their time only")),
        played_(engine.reason("collectives", "messages on links")) {}

  Reason startup(const Stage& stage) const { return of(stage).startup; }
  Reason work(const Stage& stage) const { return of(stage).work; }
  /// Of a collective that is known by its time only.
  Reason alone() const { return alone_; }
  /// Of one that is played as messages.
  Reason played() const { return played_; }

  /// The end of a collective that meets no other, and takes `time` from `start` on.
  When end(Engine& engine, When start, const Collective& collective, Bytes bytes,
           Duration time) const {
    const Time end = start.time + time;
    if (!engine.keeps_causes()) return When(end);
    if (collective.time(bytes) != time) return engine.until(start, end, played_);
    const auto stages = collective.stages(bytes);
    if (const auto line = collective.linear(); line && stages.empty())
      start = engine.until(start, std::min(line->a, time), line_startup_);
    for (const Stage& stage : stages) {
      start = engine.until(start, stage.startup, startup(stage));
      start = engine.until(start, stage.work, work(stage));
    }
    return engine.until(start, end, alone_);
  }

 private:
  struct Reasons {
    Reason startup;
    Reason work;
  };
  const Reasons& of(const Stage& stage) const {
    return stage.where == Pairs::kInNode ? in_node_ : between_nodes_;
  }

  Reasons in_node_;
  Reasons between_nodes_;
  Reason line_startup_;
  Reason alone_;
  Reason played_;
};

}  // namespace steptime
