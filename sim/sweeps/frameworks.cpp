#include "sim/sweeps/frameworks.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::string named_type(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_object() ? value.value("type", "") : "";
}

/// The section itself, where a word stands for it.
Json as_object(const Json& value) {
  return value.is_object() ? value : Json{{"type", named_type(value)}};
}

/// A library and the same under Horovod's coordinator.
constexpr std::array<std::pair<const char*, const char*>, 3> kCoordinated{
    {{"mpi", "horovod-mpi"}, {"mpi-opt", "horovod-mpi-opt"}, {"nccl", "horovod-nccl"}}};

/// A transport whose coordinator is Horovod's, or none.
Json coordinated(Json transport, bool is_by_horovod) {
  const std::string type = named_type(transport);
  for (const auto& [library, horovod] : kCoordinated) {
    if (type != library && type != horovod) continue;
    transport["type"] = is_by_horovod ? horovod : library;
    transport.erase("coordinator");
    return transport;
  }
  transport["coordinator"] = Json{{"type", is_by_horovod ? "horovod" : "none"}};
  return transport;
}

/// Of a collective that is not the config's.
Json library_of(std::string_view collective, bool is_by_horovod) {
  return coordinated(Json{{"type", collective == "nccl" ? "nccl" : "mpi"}}, is_by_horovod);
}

std::vector<Setting> merged_by_hand() {
  std::vector<Setting> all;
  for (const char* name : {"wfbp", "sync-easgd", "mg-wfbp", "optimal"})
    all.push_back({name, "", Json{{"type", name}}});
  return all;
}

std::vector<Setting> ddp_buckets() {
  std::vector<Setting> all;
  for (const int mib : {1, 2, 4, 8, 12, 16, 25, 35, 50, 75, 100, 200, 400}) {
    all.push_back({fmt::format("fixed-buckets, {} MiB", mib),
                   fmt::format("DistributedDataParallel(model, bucket_cap_mb={})", mib),
                   Json{{"type", "fixed-buckets"},
                        {"capacity", fmt::format("{} MiB", mib)},
                        {"granularity", "tensor"}}});
  }
  return all;
}

/// `coordinator`: the config's, whose version stays.
std::vector<Setting> horovod_fusion(const Json& coordinator) {
  Json own =
      named_type(coordinator) == "horovod" ? as_object(coordinator) : Json{{"type", "horovod"}};
  std::vector<Setting> all;
  for (const int mib : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    for (const char* cycle : {"0.5", "1", "2.5", "5", "10", "25"}) {
      own["cycle"] = fmt::format("{} ms", cycle);
      all.push_back(
          {fmt::format("tensor-fusion, {} MiB, {} ms", mib, cycle),
           fmt::format("HOROVOD_FUSION_THRESHOLD={} HOROVOD_CYCLE_TIME={}", mib * kMiB, cycle),
           Json{{"type", "tensor-fusion"},
                {"threshold", fmt::format("{} MiB", mib)},
                {"cycle", "0 s"}},
           own});
    }
  }
  return all;
}

std::vector<Setting> byte_scheduler() {
  std::vector<Setting> all;
  for (const int mb : {1, 2, 4, 8, 16, 32}) {
    for (const int parts : {1, 4}) {  // under way at once
      all.push_back({fmt::format("priority, {} MB, {} at once", mb, parts),
                     fmt::format("BYTESCHEDULER_PARTITION={} BYTESCHEDULER_CREDIT={}", mb * 250'000,
                                 mb * parts * 250'000),  // elements of 4 B
                     Json{{"type", "priority"},
                          {"partition", fmt::format("{} MB", mb)},
                          {"credit", fmt::format("{} MB", mb * parts)}}});
    }
  }
  return all;
}

/// What a config says of how it adds gradients up.
struct Own {
  bool reduces = false;
  std::string name;
  Json transport;
  bool is_measured = false;

  explicit Own(const Json& strategy) {
    const Json& aggregation = strategy.at("aggregation");
    reduces = named_type(aggregation) == "all-reduce";
    name = named_type(reduces ? aggregation.at("collective") : aggregation);
    transport = as_object(strategy.value("transport", Json("mpi")));
    for (const char* measured : {"table", "linear", "openmpi"})
      is_measured = is_measured || name == measured;
  }
};

/// The config's own, if the framework can run it, and `others`.
std::vector<GradientWay> ways_over(const Own& own, bool runs_own, bool is_by_horovod,
                                   const std::vector<const char*>& others) {
  std::vector<GradientWay> all;
  if (runs_own) all.push_back({.name = own.name});
  if (own.is_measured) return all;
  for (const char* name : others) {
    if (name == own.name) continue;
    all.push_back({name, false, Json{{"type", "all-reduce"}, {"collective", Json{{"type", name}}}},
                   library_of(name, is_by_horovod)});
  }
  return all;
}

void add_servers(std::vector<GradientWay>& ways, const Own& own, std::int64_t nodes) {
  if (!own.reduces || own.is_measured || nodes == 1) return;
  ways.push_back(
      {"a server on each node", false,
       Json{{"type", "parameter-server"}, {"servers", nodes}, {"placement", "with-workers"}},
       Json{{"type", "mpi"}}});
}

}  // namespace

std::vector<Framework> frameworks(const Json& strategy, std::int64_t nodes) {
  const Own own(strategy);
  const bool has_no_coordinator =
      !named_type(own.transport).starts_with("horovod") && named_type(own.transport) != "baidu" &&
      named_type(own.transport.value("coordinator", Json("none"))) == "none";
  // The config's own stays as it is where nothing has to change.
  const auto under = [&](std::vector<GradientWay> ways, bool is_by_horovod) {
    for (GradientWay& way : ways) {
      if (!way.is_own) continue;
      const bool stays = !own.reduces || (has_no_coordinator && !is_by_horovod);
      way.transport = stays ? Json() : coordinated(own.transport, is_by_horovod);
    }
    return ways;
  };
  const auto without_engine = [](std::vector<GradientWay> ways) {
    for (GradientWay& way : ways)
      way.embedding = Json{{"type", "async"}};
    return ways;
  };
  std::vector<GradientWay> by_hand =
      under(ways_over(own, true, false,
                      {"ring", "halving-doubling", "recursive-doubling", "double-binary-tree",
                       "hierarchical", "nccl"}),
            false);
  add_servers(by_hand, own, nodes);
  std::vector<const char*> ddp{"nccl"};
  if (!own.reduces) ddp.push_back("ring");
  std::vector<GradientWay> scheduled = under(ways_over(own, true, false, {"nccl"}), false);
  add_servers(scheduled, own, nodes);
  return {
      {"any", merged_by_hand(), std::move(by_hand)},
      {"PyTorch DDP", ddp_buckets(),
       without_engine(under(ways_over(own, own.reduces, false, ddp), false))},
      {"Horovod", horovod_fusion(own.transport.value("coordinator", Json())),
       without_engine(under(ways_over(own, own.reduces, true,
                                      {"ring", "halving-doubling", "recursive-doubling", "nccl"}),
                            true))},
      {"ByteScheduler", byte_scheduler(), without_engine(std::move(scheduled))}};
}

std::vector<Narrowing> narrowings(const std::string& framework, const Json& workload) {
  const bool is_horovod = framework == "Horovod";
  if (!is_horovod && framework != "PyTorch DDP") return {};
  std::vector<Narrowing> all;
  const std::string dtype = workload.value("dtype", "float32");
  const std::string precision = workload.value("precision", dtype);
  const bool is_modelled = workload.contains("model");
  if (dtype == "float32") {
    Json set{{"/workload/dtype", "float16"}};
    if (is_modelled) set["/workload/precision"] = precision;
    all.push_back({"gradients in float16",
                   is_horovod
                       ? "hvd.DistributedOptimizer(..., compression=hvd.Compression.fp16)"
                       : "ddp_model.register_comm_hook(None, default_hooks.fp16_compress_hook)",
                   std::move(set)});
  }
  // A time that was measured is that of its own precision.
  if (is_modelled && !workload.contains("compute_time") &&
      (precision == "float32" || precision == "tf32")) {
    all.push_back({"compute in float16", "torch.autocast(\"cuda\", torch.float16)",
                   Json{{"/workload/precision", "float16"}}});
  }
  return all;
}

}  // namespace steptime
