// From the keys of "strategy" that only a layout has to the plan of its step.
#pragma once
#include "sim/config/config.h"
#include "sim/layouts/plan.h"
#include "sim/network/cluster.h"
#include "sim/servers/aggregation.h"
#include "sim/servers/transport.h"
#include "sim/step/schedule.h"
#include "sim/workload/variation.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

/// The keys of "strategy" that stand beside "layout", which is the first of them.
const Params& layout_strategy_params();
/// Whether the strategy has a layout. Throws InputError for keys of a layout without one.
bool has_layout(const Config& strategy);
/// The section with the defaults of these keys, where it has a layout.
Json with_layout_defaults(const Json& strategy);

/// A model as a layout cuts it, whatever the cluster: what its ranks compute, and in which order.
struct CutModel {
  LayoutSettings settings;
  BesideCompute beside;
  ModelWork work;
  std::shared_ptr<const PipelineOrder> order;
  std::shared_ptr<const States> states;
  std::shared_ptr<const Recomputation> recomputation;
  std::shared_ptr<const ContextExchange> context;
  std::vector<std::int64_t> layers;  ///< blocks of each stage
};

/// `stated`: the strategy as the config has it. `workload`: one micro-batch. Null: the strategy has
/// no layout. Throws InputError.
std::shared_ptr<const CutModel> cut_model(const Config& stated, const Config& workload_section,
                                          const Workload& workload);

/// What a layout is planned from.
struct LayoutRequest {
  const CutModel& model;
  const Config& strategy;
  const Config& workload_section;
  const Workload& workload;  ///< one micro-batch
  const Cluster& cluster;
  const Aggregation& aggregation;
  const Update& update;
  const Transport& transport;
  const Schedule& schedule;
  const RoadKind& roads;
  const Variation& variation;
};

/// Throws InputError, also for parts that know no layouts.
std::shared_ptr<const LayoutPlan> plan_layout(const LayoutRequest& request);

}  // namespace steptime
