// What the HTML report shows of an experiment.
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"
#include "sim/core/limits.h"

#include <memory>

namespace steptime {

/// Simulates the experiment as `explain` does, draws its first step, and runs its sweep on
/// `threads` threads. One object, which plots/report/page.js draws:
///   "name", "description", "workload", "result" (as `run --format json` has it), "explanation" (as
///   `explain --format json`), "summary" (a sentence on how much the result is worth);
///   "jobs": [{"workload", "nodes"}] of the result's jobs, in their order; [] where there are none;
///   "kind", "share" and "record": the measurements of predictions of this kind, [{"id", "testbed",
///   "workers", "share", "error_pct"}], and communication's share in the step as they have it;
///   "timeline": {"tracks": [name], "spans": [[track, name, start ms, end ms, bytes, bucket]],
///   "note"} of rank 0, bytes and bucket null where unknown;
///   "node" and "fabric": {"vertices", "links"} as sim/drawing has them, "links": their load;
///   "topology_note"; null where there is nothing to draw, and the note says why;
///   "sweep": null, or {"axes": [{"name", "labels", "numbers" and "ticks", [[number, label]],
///   both or one of them null}], "rows": [{"at": [place on each axis], figures, or "error"}]}.
/// Throws what explain() and Sweep() throw, and InputError for a sweep of too many points.
Json report_data(const std::shared_ptr<const Document>& config, int threads,
                 const OnProgress& on_progress = {});

}  // namespace steptime
