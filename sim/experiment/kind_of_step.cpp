#include "sim/experiment/kind_of_step.h"

#include "sim/config/registry.h"
#include "sim/config/text_lines.h"
#include "sim/layouts/plan_layout.h"
#include "sim/network/read_cluster.h"
#include "sim/servers/aggregation.h"
#include "sim/servers/tcp_connections.h"
#include "sim/step/coordinator.h"
#include "sim/workload/software_words.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr double kSameRate = 2;

/// NVIDIA's architectures, by what a device or a trace is called.
std::string gpu_word(const std::string& device) {
  return word_of(device, {{"k80", "Kepler"},
                          {"titan x", "Maxwell"},
                          {"p100", "Pascal"},
                          {"v100", "Volta"},
                          {"2080", "Turing"},
                          {"t4", "Turing"},
                          {"b200", "Blackwell"},
                          {"b300", "Blackwell"},
                          {"h100", "Hopper"},
                          {"h200", "Hopper"},
                          {"l40", "Ada"},
                          {"l4", "Ada"},
                          {"a100", "Ampere"},
                          {"a10", "Ampere"}});
}

/// Families whose layers are alike, so that a device model errs alike on them.
std::string model_word(const std::string& model) {
  return word_of(model.substr(model.rfind('/') + 1), {{"resnet", "ResNet"},
                                                      {"inception", "Inception"},
                                                      {"googlenet", "Inception"},
                                                      {"vgg", "VGG, AlexNet"},
                                                      {"alexnet", "VGG, AlexNet"},
                                                      {"bert", "BERT"},
                                                      {"gpt", "decoder"},
                                                      {"llama", "decoder"},
                                                      {"mpt", "decoder"},
                                                      {"mobilenet", "depthwise"},
                                                      {"efficientnet", "depthwise"},
                                                      {"nasnet", "depthwise"},
                                                      {"densenet", "DenseNet"}});
}

/// How the time of a worker is known. What is no device model's is measured, but a transformer's
/// shape, whose passes a device's rates reckon.
std::string compute_word(const Config& workload, const Trace& trace) {
  if (trace.modelled) return kernels_word(workload, trace.model);
  const bool is_shape = workload.has("model") && !workload.has("compute_time");
  if (!is_shape) return "measured";
  return workload.get<std::string>(workload.has("products")    ? "products"
                                   : workload.has("precision") ? "precision"
                                                               : "dtype");
}

std::string fabric_word(const std::string& network) {
  if (network == "tcp" || network.ends_with("gbe")) return "tcp";
  if (network == "rdma" || network.ends_with("infiniband")) return "infiniband";
  return network;
}

std::string inside_word(const Cluster& cluster) {
  if (!cluster.gpus) return cluster.node ? "pcie" : "switch";
  return cluster.gpus->links == GpuNode::Links::kPcie ? "pcie" : "nvlink";
}

/// The minor number of the release that a collective "nccl" is of.
int nccl_minor(const Json& collective, const Cluster& cluster) {
  const std::string version =
      collective.is_object() ? collective.value("version", "auto") : std::string("auto");
  if (version == "auto") {  // by compute capability, as netmodels/libraries/nccl.cpp has it
    const std::int64_t capability = cluster.gpus ? cluster.gpus->compute_capability : 0;
    return capability < 89 ? 12 : capability < 100 ? 27 : 28;
  }
  const std::string_view text = version;
  const auto from = text.find('.') + 1;
  return number_in<int>(text.substr(from, text.find('.', from) - from)).value_or(0);
}

/// Releases whose estimates and kernels are much alike: up to 2.4, 2.5 to 2.18, later.
std::string nccl_word(const Json& collective, const Cluster& cluster) {
  const int minor = nccl_minor(collective, cluster);
  return minor < 5 ? "NCCL 2.3" : minor < 19 ? "NCCL 2.5" : "NCCL 2.19";
}

/// Minor numbers of the releases whose estimates differ from those before them on GPUs up to
/// Hopper, but for what few tables tell (netmodels/libraries/nccl_tuning.cpp).
constexpr int kNcclSteps[] = {3, 4, 5, 7, 12, 18, 19, 21, 23, 27};

/// "" where there is none, which is refused where the choice is read.
std::string type_in(const Json& choice) {
  const Json type = choice.is_object() ? choice.value("type", Json()) : choice;
  return type.is_string() ? type.get<std::string>() : "";
}

constexpr std::string_view kLayout = "layout";

/// What of a layout makes steps alike: "layout, tensor, pipeline, shared states".
std::string layout_word(const Json& strategy) {
  const Json& layout = strategy["layout"];
  std::string word(kLayout);
  for (const char* degree : {"tensor", "pipeline"}) {
    if (layout.is_object() && layout.value(degree, Json(1)) != 1)
      word += std::string(", ") + degree;
  }
  const std::string whole = type_in(with_layout_defaults({{kLayout, layout}})["states"]);
  const bool shares = strategy.contains("states") && type_in(strategy["states"]) != whole;
  return shares ? word + ", shared states" : word;
}

std::string library_word(const Config& strategy, const Transport& transport,
                         const Cluster& cluster) {
  const Config roles = Transports::instance().chosen(strategy, "transport");
  const std::string coordinator = Catalogue::type_of(roles, Coordinator::kNoun);
  const std::string before = coordinator == "none" ? "" : coordinator + ", ";
  const std::string aggregation = Catalogue::type_of(strategy, Aggregation::kNoun);
  if (aggregation != "all-reduce") return before + Catalogue::type_of(roles, MessageChannel::kNoun);
  const Json& node = strategy.raw("aggregation");
  const std::string library = transport.backend->library();
  const Json named = node.is_object() && node.contains("collective") ? node["collective"]
                     : library.empty()                               ? Json("ring")
                                                                     : Json(library);
  const std::string backend = Catalogue::type_of(roles, Backend::kNoun);
  const std::string where = backend == "device" || !library.empty() ? "" : backend + " ";
  const std::string type = type_in(named);
  return before + where + (type == "nccl" ? nccl_word(named, cluster) : type);
}

}  // namespace

const std::array<const char*, kAttributes>& attribute_names() {
  static const std::array<const char*, kAttributes> names{
      "framework", "compute", "GPU", "library", "fabric", "schedule", "model", "nodes"};
  return names;
}

unsigned KindOfStep::differs_from(const KindOfStep& other) const {
  unsigned bits = 0;
  for (std::size_t a = 0; a < kAttributes; ++a)
    bits |= words[a] == other.words[a] ? 0U : 1U << a;
  const double more = std::max(rate, other.rate);
  if (more > kSameRate * std::min(rate, other.rate))
    bits |= 1U << static_cast<unsigned>(Attribute::kFabric);
  return bits;
}

std::string KindOfStep::text(Attribute a) const {
  const std::string& word = (*this)[a].text();
  if (a == Attribute::kFabric) return fmt::format("{} at {:.3g} Gbit/s", word, rate * 8e-9);
  if (a == Attribute::kNodes) return word == "one" ? "one node" : word + " nodes";
  if (a == Attribute::kCompute) return word + (word == "measured" ? " compute" : " kernels");
  return word.empty() ? fmt::format("no {}", attribute_names()[static_cast<std::size_t>(a)]) : word;
}

bool KindOfStep::is_layout() const {
  return (*this)[Attribute::kSchedule].text().starts_with(kLayout);
}

std::string KindOfStep::text() const {
  std::vector<std::string> all;
  for (std::size_t a = 0; a < kAttributes; ++a)
    all.push_back(text(static_cast<Attribute>(a)));
  return fmt::format("{}", fmt::join(all, ", "));
}

KindOfStep workload_kind(const Config& workload, const Trace& trace) {
  KindOfStep kind;
  kind[Attribute::kFramework] = framework_word(workload, trace.model);
  kind[Attribute::kCompute] = compute_word(workload, trace);
  kind[Attribute::kGpu] = gpu_word(trace.device);
  kind[Attribute::kModel] = model_word(trace.model);
  return kind;
}

std::string nccl_rules(const Json& collective, const Cluster& cluster) {
  const int minor = nccl_minor(collective, cluster);
  const auto* const next = std::upper_bound(std::begin(kNcclSteps), std::end(kNcclSteps), minor);
  return fmt::format("NCCL 2.{}", next == std::begin(kNcclSteps) ? minor : *std::prev(next));
}

std::string network_name(const Config& cluster) {
  // Mostly said, or without a preset that could say it.
  const Json& stated = cluster.node();
  const auto network = stated.find("network");
  if (network != stated.end() &&
      (network->is_string() || network->contains("type") || !stated.contains("preset")))
    return type_in(*network);
  return type_in(with_preset(cluster).value("network", Json("")));
}

KindOfStep exchange_kind(const Config& strategy, const Transport& transport, const Cluster& cluster,
                         const std::string& network) {
  KindOfStep kind;
  kind[Attribute::kLibrary] = library_word(strategy, transport, cluster);
  const bool is_one = cluster.nodes == 1;
  kind[Attribute::kFabric] = is_one ? inside_word(cluster) : fabric_word(network);
  kind.rate = is_one ? cluster.intra_node.bandwidth.bytes_per_second
                     : most_of_port(cluster).bytes_per_second;
  kind[Attribute::kNodes] = is_one ? "one" : "several";
  if (strategy.node().contains("layout")) {
    kind[Attribute::kSchedule] = layout_word(strategy.node());
    if (strategy.has("stack")) kind[Attribute::kFramework] = strategy.get<std::string>("stack");
    return kind;
  }
  const std::string update = Catalogue::type_of(strategy, "update");
  kind[Attribute::kSchedule] = Catalogue::type_of(strategy, Aggregation::kNoun) +
                               (update == "sgd" ? "" : ", " + update) +
                               (transport.streams == 1 ? "" : ", streams");
  return kind;
}

KindWord schedule_word(const Config& strategy) {
  const std::string embedding = Catalogue::type_of(strategy, "embedding");
  return Catalogue::type_of(strategy, "schedule") + (embedding == "async" ? "" : ", " + embedding);
}

KindOfStep joined(const KindOfStep& workload, const KindOfStep& exchange, KindWord schedule) {
  KindOfStep kind = exchange;
  for (const Attribute a : {Attribute::kCompute, Attribute::kGpu, Attribute::kModel})
    kind[a] = workload[a];
  if (exchange.is_layout()) {
    kind[Attribute::kModel] = "transformer";
    return kind;
  }
  kind[Attribute::kFramework] = workload[Attribute::kFramework];
  kind[Attribute::kSchedule] = KindWord::joined(kind[Attribute::kSchedule], schedule);
  return kind;
}

}  // namespace steptime
