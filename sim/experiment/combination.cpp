// Which parts of an experiment are right each but say nothing together.
#include "sim/experiment/experiment.h"
#include "sim/experiment/played_cluster.h"
#include "sim/experiment/training_run.h"
#include "sim/network/read_cluster.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

/// What a kvstore's merge, played in an engine, does not go with.
void check_merge(const Config& strategy, const Experiment& e) {
  if (e.embedding->settings() && !e.embedding->has_one_process()) {
    strategy.fail("embedding",
                  "issues all-reduces, but this kvstore merges by operations of its own; expected "
                  "{\"type\": \"module\"} or {\"type\": \"async\"}");
  }
  if (e.embedding->has_one_process() && e.aggregation->issuing.any()) {
    strategy.object("aggregation", any_keys())
        .fail("issue_time", "is python_call of the embedding, as updater_time is; expected 0 s");
  }
  if (e.schedule->policy({})) {
    strategy.fail("schedule",
                  "decides while the step runs, but this kvstore takes keys as its engine does; "
                  "expected one that plans beforehand");
  }
  if (e.transport->streams > 1)
    strategy.fail("transport", "has several streams, which a kvstore has not; expected 1");
  if (e.transport->policy(*e.schedule, {}, *e.cluster)) {
    strategy.fail("transport",
                  "has a coordinator, which a kvstore has not; expected {\"type\": \"none\"} under "
                  "\"coordinator\"");
  }
  if (e.embedding->has_one_process() && e.update->sends_parameters()) {
    strategy.fail("update",
                  "sends parameters, but the module's optimizer is on the kvstore, which adds up "
                  "gradients; expected sgd, or an embedding {\"type\": \"async\"}");
  }
}

}  // namespace

namespace {

/// What engines of frameworks know nothing of.
void check_engine_overlap(const Config& cluster, const Experiment& e) {
  if (e.aggregation->beside_kernels == nullptr) return;
  cluster.fail("intra_node_beside_kernels",
               "in engines of frameworks kernels slow nothing down; expected 1");
}
void check_engine_workload(const Config& workload) {
  if (workload.has("overlap") && Catalogue::type_of(workload, "overlap") != "none") {
    workload.fail("overlap", "unexpected, as in engines of frameworks nothing slows anything down");
  }
}

}  // namespace

namespace {

/// What has no place in an experiment with a layout.
void check_layout(const Config& config, const Experiment& e) {
  if (e.embedding->settings() || e.embedding->has_one_process()) {
    config.object("strategy", strategy_params())
        .fail("embedding", "unexpected with a layout; expected {\"type\": \"async\"}");
  }
  const Config run = config.object("run", run_params());
  for (const char* key : {"variation", "slow_links", "convergence"}) {
    if (run.has(key)) run.fail(key, "unexpected with a layout, whose replicas are alike");
  }
}

}  // namespace

void check_combination(const std::shared_ptr<const Document>& document, const Experiment& e) {
  if (e.layout) return check_layout(Config(document, experiment_params()), e);
  check_slow_links(e);
  if (!e.embedding->settings() && !plays_merge(e)) return;
  const Config config(document, experiment_params());
  check_engine_workload(config.object("workload", workload_params()));
  check_engine_overlap(config.object("cluster", cluster_params()), e);
  const Config strategy = config.object("strategy", strategy_params());
  if (e.embedding->has_one_process() && e.aggregation->merge == nullptr) {
    strategy.fail(
        "embedding",
        "plays the merge of a kvstore without servers, on one node of two GPUs at least; elsewhere "
        "expected {\"type\": \"async\"}");
  }
  if (plays_merge(e)) return check_merge(strategy, e);
  if (e.transport->policy(*e.schedule, {}, *e.cluster) && !e.schedule->policy({})) {
    strategy.fail("transport",
                  "its coordinator decides while the step runs, which in an engine the main "
                  "thread's program does; expected an embedding {\"type\": \"async\"}, or "
                  "{\"type\": \"none\"} under \"coordinator\"");
  }
  if (e.schedule->policy({})) {
    strategy.fail("schedule",
                  "decides while the step runs, which in an engine the main thread's program does; "
                  "expected an embedding {\"type\": \"async\"}, or another schedule");
  }
  if (e.transport->streams > 1) {
    strategy.fail("transport",
                  "has several streams, but in an engine the embedding says how many collectives "
                  "are outstanding; expected 1");
  }
  if (needs_training(e)) {
    strategy.fail("embedding",
                  "an engine embeds all-reduce in step; with servers, a kvstore or convergence "
                  "expected {\"type\": \"async\"}");
  }
}

}  // namespace steptime
