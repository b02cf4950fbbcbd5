#include "sim/experiment/read_experiment.h"

#include "sim/config/binding.h"
#include "sim/core/error.h"
#include "sim/experiment/jobs.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/played_cluster.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/stack.h"
#include "sim/experiment/training_run.h"
#include "sim/layouts/plan_layout.h"
#include "sim/network/nodes_of_fabric.h"
#include "sim/network/read_cluster.h"
#include "sim/servers/tcp_connections.h"
#include "sim/workload/model_work.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::array<std::string_view, 4> kWorkloadSections{"/jobs", "/workload",
                                                            "/strategy/layout", "/strategy/stack"};
constexpr std::array<std::string_view, 3> kNetworkSections{"/jobs", "/cluster/network",
                                                           "/cluster/preset"};
constexpr std::array<std::string_view, 2> kClusterSections{"/jobs", "/cluster"};
constexpr std::array<std::string_view, 4> kTransportSections{"/jobs", "/strategy/transport",
                                                             "/strategy/update", "/strategy/stack"};
constexpr std::array<std::string_view, 8> kCollectiveSections{"/jobs",
                                                              "/cluster",
                                                              "/strategy/layout",
                                                              "/strategy/states",
                                                              "/strategy/aggregation",
                                                              "/strategy/update",
                                                              "/strategy/transport",
                                                              "/strategy/stack"};
constexpr std::array<std::string_view, 4> kScheduleSections{
    "/jobs", "/strategy/schedule", "/strategy/embedding", "/strategy/stack"};
constexpr std::array<std::string_view, 9> kCutModelSections{"/jobs",
                                                            "/workload",
                                                            "/strategy/layout",
                                                            "/strategy/states",
                                                            "/strategy/pipeline_order",
                                                            "/strategy/recompute",
                                                            "/strategy/context_exchange",
                                                            "/strategy/beside_compute",
                                                            "/strategy/stack"};
constexpr std::array<std::string_view, 16> kLayoutSections{"/jobs",
                                                           "/workload",
                                                           "/cluster",
                                                           "/strategy/layout",
                                                           "/strategy/states",
                                                           "/strategy/pipeline_order",
                                                           "/strategy/recompute",
                                                           "/strategy/context_exchange",
                                                           "/strategy/beside_compute",
                                                           "/strategy/aggregation",
                                                           "/strategy/update",
                                                           "/strategy/transport",
                                                           "/strategy/schedule",
                                                           "/strategy/stack",
                                                           "/run/fidelity",
                                                           "/run/variation"};
constexpr std::array<std::string_view, 16> kJobsSections{"/jobs",
                                                         "/workload",
                                                         "/cluster",
                                                         "/strategy/aggregation",
                                                         "/strategy/update",
                                                         "/strategy/schedule",
                                                         "/strategy/embedding",
                                                         "/strategy/transport",
                                                         "/strategy/layout",
                                                         "/strategy/states",
                                                         "/strategy/pipeline_order",
                                                         "/strategy/recompute",
                                                         "/strategy/context_exchange",
                                                         "/strategy/beside_compute",
                                                         "/strategy/stack",
                                                         "/run"};
constexpr std::array<std::string_view, 2> kRunSections{"/jobs", "/run"};

Variation variation_of(const Config& run) {
  return run.has("variation") ? read_variation(run) : Variation{};
}

Fidelity fidelity_of(const Config& config) {
  const Config run = config.object("run", run_params());
  return run.get<std::string>("fidelity") == "message" ? Fidelity::kMessage : Fidelity::kAnalytic;
}

}  // namespace

std::span<const std::string_view> sections(Part part) {
  switch (part) {
    case Part::kWorkload:
      return kWorkloadSections;
    case Part::kNetwork:
      return kNetworkSections;
    case Part::kCluster:
      return kClusterSections;
    case Part::kTransport:
      return kTransportSections;
    case Part::kCollective:
      return kCollectiveSections;
    case Part::kSchedule:
      return kScheduleSections;
    case Part::kCutModel:
      return kCutModelSections;
    case Part::kLayout:
      return kLayoutSections;
    case Part::kRun:
      return kRunSections;
    case Part::kJobs:
      return kJobsSections;
  }
  return {};
}

bool depends_on(Part part, std::string_view pointer, bool is_cut) {
  // The batch of all replicas says how many micro-batches a step has. The workload of a layout and
  // its cut model are of one micro-batch.
  const bool is_of_one = is_cut && (part == Part::kWorkload || part == Part::kCutModel);
  if (is_of_one && pointer == "/workload/global_batch") return false;
  const auto all = sections(part);
  return std::any_of(all.begin(), all.end(),
                     [pointer](std::string_view section) { return overlap(pointer, section); });
}

void take_part(Part part, const Experiment& from, Experiment& to) {
  switch (part) {
    case Part::kWorkload:
      to.alone = from.alone;
      to.workload_kind = from.workload_kind;
      return;
    case Part::kNetwork:
      to.network = from.network;
      to.network_name = from.network_name;
      return;
    case Part::kCluster:
      to.machines = from.machines;
      return;
    case Part::kTransport:
      to.transport = from.transport;
      to.update = from.update;
      return;
    case Part::kCollective:
      to.cluster = from.cluster;
      to.aggregation = from.aggregation;
      to.collective = from.collective;
      to.exchange_kind = from.exchange_kind;
      return;
    case Part::kSchedule:
      to.schedule = from.schedule;
      to.schedule_word = from.schedule_word;
      to.embedding = from.embedding;
      return;
    case Part::kCutModel:
      to.cut_model = from.cut_model;
      return;
    case Part::kLayout:
      to.layout = from.layout;
      return;
    case Part::kRun:
      to.run = from.run;
      return;
    case Part::kJobs:
      to.jobs = from.jobs;
      return;
  }
}

namespace {

/// `strategy` with the collective of the transport's library, where its aggregation has one and
/// names none. All else stays as it is: what a config leaves out may mean more than its default.
Json with_library(const Json& strategy, const Transport& transport) {
  const std::string library = transport.backend->library();
  if (library.empty()) return strategy;
  Json aggregation = strategy.value("aggregation", default_choice(Aggregation::kNoun));
  if (aggregation.is_string()) aggregation = Json{{"type", aggregation}};
  if (!aggregation.is_object() || aggregation.contains("collective")) return strategy;
  const Json type = aggregation.value("type", Json());
  if (!type.is_string()) return strategy;
  const auto& items = Aggregations::instance().items();
  const auto found = items.find(type.get<std::string>());
  if (found == items.end()) return strategy;
  const bool has_one = std::ranges::any_of(found->second.params,
                                           [](const Param& p) { return p.key == "collective"; });
  if (!has_one) return strategy;
  aggregation["collective"] = Json{{"type", library}};
  Json full = strategy;
  full["aggregation"] = std::move(aggregation);
  return full;
}

/// The "strategy" section with it.
Config strategy_with_library(const Config& config, const Transport& transport) {
  Config strategy = config.object("strategy", strategy_params());
  if (transport.backend->library().empty()) return strategy;
  auto document = std::make_shared<Document>(Document{config.file(), Json::object()});
  document->root["strategy"] = with_library(strategy.node(), transport);
  return Config(document, experiment_params()).object("strategy", strategy_params());
}

}  // namespace

namespace {

/// The nodes of a job, of so many.
struct OwnNodes {
  std::vector<std::int64_t> nodes;
  std::int64_t whole = 1;
};

/// Builds one part in `experiment`, which has those before it. `stated`: of an experiment without
/// jobs, or of one job, which has nodes of its own.
void build_part(const std::shared_ptr<const Document>& stated, Part part, Experiment& experiment,
                const std::optional<OwnNodes>& own) {
  const std::shared_ptr<const Document> document = with_stack(stated);
  const Config config(document, experiment_params());
  switch (part) {
    case Part::kWorkload: {
      const Config workload = config.object("workload", workload_params());
      const bool is_cut = has_layout(config.object("strategy", strategy_params()));
      experiment.alone = std::make_shared<PreparedWorkload>(is_cut ? read_micro_batch(workload)
                                                                   : read_workload(workload));
      experiment.workload_kind =
          std::make_shared<KindOfStep>(workload_kind(workload, experiment.alone->workload.trace));
      return;
    }
    case Part::kNetwork:
      experiment.network = read_network(config.object("cluster", cluster_params()));
      experiment.network_name =
          std::make_shared<std::string>(network_name(config.object("cluster", cluster_params())));
      return;
    case Part::kCluster:
      experiment.machines = std::make_shared<Cluster>(
          read_cluster(config.object("cluster", cluster_params()), experiment.network));
      if (own) {
        experiment.machines =
            std::make_shared<Cluster>(at_nodes(*experiment.machines, own->nodes, own->whole));
      }
      return;
    case Part::kTransport: {
      const Config strategy = config.object("strategy", strategy_params());
      experiment.transport = Transports::instance().make(strategy, "transport");
      experiment.update = Updates::instance().make(strategy, "update");
      return;
    }
    case Part::kCollective: {
      const Config strategy = config.object("strategy", strategy_params());
      experiment.cluster =
          connected(experiment.machines, connections_of(strategy, *experiment.transport));
      const Cluster& cluster = *experiment.cluster;
      experiment.aggregation = read_aggregation(config, *experiment.transport, cluster);
      experiment.collective = experiment.aggregation->inside;
      check_update(strategy, *experiment.aggregation, *experiment.update);
      experiment.exchange_kind = std::make_shared<KindOfStep>(
          exchange_kind(strategy, *experiment.transport, cluster,
                        experiment.network_name ? *experiment.network_name : ""));
      return;
    }
    case Part::kSchedule: {
      const Config strategy = config.object("strategy", strategy_params());
      experiment.schedule = Schedules::instance().make(strategy, "schedule");
      experiment.embedding = Embeddings::instance().make(strategy, "embedding");
      experiment.schedule_word = schedule_word(strategy);
      return;
    }
    case Part::kCutModel:
      if (experiment.alone == nullptr) return;  // a workload that was not read from a config
      experiment.cut_model =
          cut_model(config.object("strategy", strategy_params()),
                    config.object("workload", workload_params()), experiment.alone->workload);
      return;
    case Part::kLayout: {
      experiment.layout = nullptr;
      if (experiment.cut_model == nullptr) return;
      const Config strategy = strategy_with_library(config, *experiment.transport);
      experiment.layout =
          plan_layout({.model = *experiment.cut_model,
                       .strategy = strategy,
                       .workload_section = config.object("workload", workload_params()),
                       .workload = experiment.alone->workload,
                       .cluster = *experiment.cluster,
                       .aggregation = *experiment.aggregation,
                       .update = *experiment.update,
                       .transport = *experiment.transport,
                       .schedule = *experiment.schedule,
                       .roads = fidelity_of(config) == Fidelity::kMessage ? messages_on_links()
                                                                          : closed_forms(),
                       .variation = variation_of(config.object("run", run_params()))});
      return;
    }
    case Part::kRun: {
      const Config run = config.object("run", run_params());
      RunSettings settings{.seed = run.get<std::int64_t>("seed"), .fidelity = fidelity_of(config)};
      if (run.has("steps")) settings.steps = run.get<std::int64_t>("steps");
      settings.variation = variation_of(run);
      if (run.has("failures"))
        settings.failures = failure_keys().read(run.object("failures", failure_keys().params()));
      if (run.has("slow_links"))
        settings.slow_links =
            slow_link_keys().read(run.object("slow_links", slow_link_keys().params()));
      if (run.has("convergence")) {
        settings.convergence = std::make_shared<Convergence>(
            convergence_keys().read(run.object("convergence", convergence_keys().params())));
      }
      experiment.run = std::make_shared<RunSettings>(std::move(settings));
      return;
    }
    case Part::kJobs:
      return;
  }
}

/// As build_part(), but what a part is built from stays as it is: the same part comes out of the
/// same config however often, and in whatever order, parts are read.
void read_own_part(const std::shared_ptr<const Document>& stated, Part part, Experiment& experiment,
                   const std::optional<OwnNodes>& own = {}) {
  Experiment built = experiment;
  build_part(stated, part, built, own);
  take_part(part, built, experiment);
}

/// The cluster of all jobs, with what `run` says of its machines.
std::shared_ptr<const Cluster> read_network_of_jobs(const Document& document) {
  auto whole = std::make_shared<Document>(document);
  whole->root.erase("jobs");
  Experiment e{.file = document.file};
  for (const Part part : {Part::kNetwork, Part::kCluster, Part::kRun})
    read_own_part(whole, part, e);
  e.cluster = e.machines;
  check_machines(e);
  return played_machines(e).cluster;
}

/// Throws InputError where the network has no such node.
OwnNodes nodes_of(const Document& document, std::size_t place, const Job& job,
                  const Cluster& network) {
  for (const std::int64_t node : job.nodes) {
    if (node < network.nodes) continue;
    throw InputError(fmt::format("{}: /jobs/{}/nodes: expected numbers from 0 to {}, got {}",
                                 document.file, place, network.nodes - 1, node));
  }
  return {job.nodes, network.nodes};
}

Experiment read_of_nodes(const std::shared_ptr<const Document>& document, const OwnNodes& own) {
  Experiment e{.name = read_name(Config(document, experiment_params())), .file = document->file};
  for (const Part part : kParts)
    read_own_part(document, part, e, own);
  complete(e, [&] { return with_stack(document); });
  return e;
}

/// Null without any.
std::shared_ptr<const JobSet> read_jobs(const std::shared_ptr<const Document>& document) {
  std::vector<Job> jobs = stated_jobs(document);
  if (jobs.empty()) return nullptr;
  auto set = std::make_shared<JobSet>(JobSet{read_network_of_jobs(*document), std::move(jobs)});
  std::size_t place = 0;
  for (Job& job : set->jobs) {
    const OwnNodes own = nodes_of(*document, place, job, *set->network);
    read_of_job(*document, place, [&] {
      job.experiment =
          std::make_shared<Experiment>(read_of_nodes(document_of(*document, place, job), own));
    });
    ++place;
  }
  return set;
}

}  // namespace

void read_part(const std::shared_ptr<const Document>& document, Part part, Experiment& experiment) {
  if (part == Part::kJobs) {
    experiment.jobs = read_jobs(document);
    return;
  }
  std::optional<OwnNodes> own;
  if (const auto jobs = stated_jobs(document); part == Part::kCluster && !jobs.empty())
    own = nodes_of(*document, 0, jobs.front(), *read_network_of_jobs(*document));
  read_of_job(*document, 0, [&] { read_own_part(of_first_job(document), part, experiment, own); });
}

namespace {

/// BytePS on a single machine: NCCL reduces and broadcasts, and nothing is copied to a host, added
/// up there or sent (bytedance/byteps@0088c0e6d4cc byteps/common/operations.cc, GetPushQueueList
/// and GetPullQueueList: all that only IsDistributed(), or across PCIe switches).
void leave_servers_out(Aggregation& aggregation, Cluster cluster) {
  cluster.reduction = {};
  if (aggregation.gathers)
    aggregation.inside = Collectives::instance().make_default("ring", cluster);
  aggregation.servers = {};
  aggregation.spread = nullptr;
  aggregation.gathers = false;
  aggregation.whole = nullptr;
}

/// With the aggregation's collectives on the links of a cluster.
std::unique_ptr<Aggregation> aggregation_on(const Config& strategy, const Transport& transport,
                                            const Cluster& cluster) {
  auto made = Aggregations::instance().make(strategy, "aggregation", cluster);
  check_roles(strategy, transport, *made, cluster.workers());
  const bool on_one_node = cluster.nodes == 1 && cluster.gpus_per_node > 1 && made->clients == 1 &&
                           made->servers.count > 0 &&
                           Catalogue::type_of(strategy, "update") == "sgd";
  if (on_one_node && transport.channel->rests_on_one_node()) leave_servers_out(*made, cluster);
  return made;
}

}  // namespace

std::unique_ptr<Aggregation> read_aggregation(const Config& config, const Transport& transport,
                                              const Cluster& cluster) {
  const Backend& backend = *transport.backend;
  const Config strategy = strategy_with_library(config, transport);
  auto aggregation = aggregation_on(strategy, transport, backend.seen(cluster));
  if (transport.streams > 1 && !transport.launches() &&
      transport.coordinator->policy(nullptr, {}, cluster)) {
    strategy.fail("transport",
                  "its coordinator reduces one after another; expected 1 under \"streams\", "
                  "{\"type\": \"none\"} under \"coordinator\", or \"horovod\" there and \"nccl\" "
                  "under \"backend\"");
  }
  if (cluster.intra_node_beside_kernels > 1) {
    const auto slower = aggregation_on(strategy, transport, backend.seen(cluster.beside_kernels()));
    aggregation->beside_kernels = slower->inside;
    aggregation->spread_beside_kernels = slower->spread;
  }
  for (auto* made : {&aggregation->inside, &aggregation->whole, &aggregation->beside_kernels}) {
    if (*made) *made = backend.all_reduce(*made, cluster);
  }
  aggregation->unknown_fabric = unknown_fabric(cluster, *aggregation);
  return aggregation;
}

Experiment read_experiment(const std::shared_ptr<const Document>& document) {
  const Config config(document, experiment_params());
  Experiment experiment{.name = read_name(config), .file = document->file};
  for (const Part part : kParts)
    read_part(document, part, experiment);
  complete(experiment, [&] { return with_stack(document); });
  return experiment;
}

std::string read_name(const Config& config) {
  for (const char* key : {"$schema", "description"}) {
    if (config.has(key)) config.get<std::string>(key);
  }
  auto name = config.get<std::string>("name");
  const bool has_odd_byte = std::any_of(name.begin(), name.end(), [](char c) {
    return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (name.empty() || name == "." || name == ".." || has_odd_byte) {
    config.fail("name", fmt::format("expected a name that can be a file's, got {}",
                                    brief(config.raw("name"))));
  }
  // Names of files have at most 255 bytes, of which the longest suffix takes 25.
  constexpr std::size_t kMostBytes = 255 - std::string_view(".1000000-of-1000000.shard").size();
  if (name.size() > kMostBytes) {
    config.fail("name",
                fmt::format("expected at most {} bytes, as it becomes a file's name, got {}",
                            kMostBytes, name.size()));
  }
  return name;
}

namespace {

/// `choice` with its implementation's defaults, which in turn may be choices.
Json resolved_object(const Json& object, const Params& params);

Json resolved_choice(const Json& choice, const std::string& noun) {
  if (choice.is_string()) return resolved_choice(Json{{"type", choice}}, noun);
  const auto& items = Catalogue::all().at(noun)->items();
  const auto found = items.find(choice.value("type", ""));
  return found == items.end() ? choice : resolved_object(choice, found->second.params);
}

Json resolved_object(const Json& object, const Params& params) {
  Json full = with_defaults(object, params);
  for (const Param& p : params) {
    if (!full.contains(p.key)) continue;
    if (!p.choice.empty()) full[p.key] = resolved_choice(full[p.key], p.choice);
    if (p.table != nullptr) full[p.key] = resolved_object(full[p.key], p.table());
  }
  return full;
}

}  // namespace

namespace {

/// "variation" with the value of its preset in the preset's place, which a default written out
/// beside it would override.
void spell_out_variation(Json& run) {
  if (!run.is_object() || !run.contains("variation")) return;
  Json& written = run["variation"];
  if (!written.is_string() && !written.contains("preset")) return;
  const double spread =
      read_variation(Config(std::make_shared<Document>(Document{"", run}), run_params())).spread;
  if (written.is_string()) written = Json::object();
  written.erase("preset");
  written["spread"] = spread;
}

}  // namespace

Json resolved(const Json& stated) {
  const Json config = with_stack(std::make_shared<Document>(Document{"", stated}))->root;
  Json spelled_out = config;
  if (spelled_out.contains("run")) spell_out_variation(spelled_out["run"]);
  spelled_out["cluster"] = resolved_preset(config.at("cluster"));
  const Config strategy_read(
      std::make_shared<Document>(Document{"", spelled_out.value("strategy", Json::object())}),
      strategy_params());
  spelled_out["strategy"] =
      with_library(strategy_read.node(), *Transports::instance().make(strategy_read, "transport"));
  spelled_out["strategy"] = with_layout_defaults(spelled_out["strategy"]);
  Json full = resolved_object(spelled_out, experiment_params());
  // The values of a preset that is a file stand there: a default beside it would override them.
  if (const Json preset = config.at("cluster").value("preset", Json());
      preset.is_string() && preset.get_ref<const std::string&>().ends_with(".json"))
    full["cluster"] = config.at("cluster");
  if (!full["run"].contains("steps") && !full["run"].contains("convergence")) {
    const Config strategy(std::make_shared<Document>(Document{"", full["strategy"]}),
                          strategy_params());
    full["run"]["steps"] = default_steps(*Updates::instance().make(strategy, "update"),
                                         *Schedules::instance().make(strategy, "schedule"),
                                         *Transports::instance().make(strategy, "transport"));
    full["run"] = resolved_object(full["run"], run_params());  // in the order of the parameters
  }
  // GPUs that name no library have more connections over TCP than those that name MPI.
  if (!strategy_read.node().contains("transport")) full["strategy"].erase("transport");
  return full;
}

}  // namespace steptime
