#include "sim/experiment/keys.h"

#include "sim/experiment/failures.h"
#include "sim/layouts/plan_layout.h"
#include "sim/learning/learning.h"
#include "sim/learning/update.h"
#include "sim/mxnet/embedding.h"
#include "sim/network/read_cluster.h"
#include "sim/network/slow_links.h"
#include "sim/servers/aggregation.h"
#include "sim/servers/transport.h"
#include "sim/step/schedule.h"
#include "sim/workload/variation.h"
#include "sim/workload/workload.h"

namespace steptime {

const Params& experiment_params() {
  static const Params params{
      {.key = "$schema",
       .kind = Kind::kText,
       .help = "for editors: where the output of `steptime schema` is",
       .need = Need::kOptional},
      {.key = "name", .kind = Kind::kText, .help = "of the experiment and of its output files"},
      {.key = "description",
       .kind = Kind::kText,
       .help = "what the experiment shows",
       .need = Need::kOptional},
      {.key = "workload",
       .kind = Kind::kObject,
       .help = "what one worker computes",
       .table = workload_params},
      {.key = "cluster", .kind = Kind::kObject, .help = "the machines", .table = cluster_params},
      {.key = "strategy",
       .kind = Kind::kObject,
       .help = "how gradients are aggregated",
       .need = Need::kDefault,
       .fallback = Json::object(),
       .table = strategy_params},
      {.key = "run",
       .kind = Kind::kObject,
       .help = "how the simulation runs",
       .need = Need::kDefault,
       .fallback = Json::object(),
       .table = run_params},
      {.key = "jobs",
       .kind = Kind::kList,
       .help =
           "several trainings on one network, at message fidelity: a list of objects such as "
           "`{\"name\": \"a\", \"nodes\": [0, 1], \"start\": \"0 s\"}`, each with its nodes of "
           "the cluster, from 0 on, the `start` of its first step, and, where it has them, "
           "`workload` and `strategy` in place of the experiment's; each goes on until all have "
           "had their steps, and the figures are the first one's",
       .need = Need::kOptional},
      {.key = "sweep",
       .kind = Kind::kObject,
       .help = "JSON pointers and the values to try",
       .need = Need::kOptional},
      {.key = "claims",
       .kind = Kind::kObject,
       .help = "published figures, for `reproduce`",
       .need = Need::kOptional}};
  return params;
}

const Params& strategy_params() {
  static const Params params = [] {
    Params keys{{.key = "aggregation",
                 .kind = Kind::kObject,
                 .help = "who adds gradients up",
                 .need = Need::kDefault,
                 .fallback = default_choice(Aggregation::kNoun),
                 .choice = Aggregation::kNoun},
                {.key = "update",
                 .kind = Kind::kObject,
                 .help = "what is done with the sum",
                 .need = Need::kDefault,
                 .fallback = default_choice(Update::kNoun),
                 .choice = Update::kNoun},
                {.key = "schedule",
                 .kind = Kind::kObject,
                 .help = "when gradients are sent",
                 .need = Need::kDefault,
                 .fallback = default_choice(Schedule::kNoun),
                 .unless = {"layout"},  // whose states say what a bucket is
                 .choice = Schedule::kNoun},
                {.key = "embedding",
                 .kind = Kind::kObject,
                 .help = "which thread issues collectives",
                 .need = Need::kDefault,
                 .fallback = default_choice(Embedding::kNoun),
                 .choice = Embedding::kNoun},
                {.key = "transport",
                 .kind = Kind::kObject,
                 .help = "what carries the messages; without it NCCL's connections over TCP",
                 .need = Need::kDefault,
                 .fallback = default_choice(Transport::kNoun),
                 .choice = Transport::kNoun},
                {.key = "stack",
                 .kind = Kind::kText,
                 .help = "a release of a training framework, by the name of its file in "
                         "models/stacks/: its keys of `workload` and `strategy` stand where the "
                         "config says none, and the `config` of a result shows all",
                 .need = Need::kOptional}};
    const Params& more = layout_strategy_params();
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
  }();
  return params;
}

namespace {

const Params& convergence_params() {
  return convergence_keys().params();
}
const Params& failure_params() {
  return failure_keys().params();
}
const Params& slow_link_params() {
  return slow_link_keys().params();
}

}  // namespace

const Params& run_params() {
  static const Params params{
      {.key = "fidelity",
       .kind = Kind::kText,
       .help = "in `analytic` a collective is one operation of cost a + bM, in `message` it is its "
               "messages, which share the links of the cluster with all that is under way",
       .need = Need::kDefault,
       .fallback = "analytic",
       .words = {"analytic", "message"}},
      {.key = "steps",
       .kind = Kind::kInteger,
       .help = "training steps that are reported; the run plays those before its steady state, "
               "too; default: 1, of `asgd` and `tensor-fusion` 20, of `esgd` and `local-sgd` their "
               "`interval`; ignored beside `convergence`, whose epochs say how many",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 1e6}},
      {.key = "seed",
       .kind = Kind::kInteger,
       .help = "of everything random",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 0, .high = 9e18}},
      {.key = "variation",
       .kind = Kind::kObject,
       .help = "how workers differ in speed; a worker is as fast in a step of a seed whatever is "
               "scheduled; all ranks of a layout compute as long as the slowest of its GPUs is "
               "expected to",
       .need = Need::kOptional,
       .words = variation_presets(),
       .table = variation_params},
      {.key = "failures",
       .kind = Kind::kObject,
       .help = "nodes that fail during a long training, and its checkpoints",
       .need = Need::kOptional,
       .table = failure_params},
      {.key = "slow_links",
       .kind = Kind::kObject,
       .help = "links between nodes that are slower than they should be",
       .need = Need::kOptional,
       .table = slow_link_params},
      {.key = "convergence",
       .kind = Kind::kObject,
       .help = "a model to train in simulated time",
       .need = Need::kOptional,
       .table = convergence_params}};
  return params;
}

}  // namespace steptime
