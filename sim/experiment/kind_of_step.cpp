#include "sim/experiment/kind_of_step.h"

#include "sim/config/registry.h"
#include "sim/config/text_lines.h"
#include "sim/network/read_cluster.h"
#include "sim/servers/aggregation.h"
#include "sim/servers/tcp_connections.h"
#include "sim/step/coordinator.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr double kSameRate = 2;

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

struct Sign {
  const char* part;  ///< of a name in lower case
  const char* word;
};

/// The word of the first sign that `name` has; itself where it has none.
std::string word_of(const std::string& name, std::initializer_list<Sign> signs) {
  const std::string low = lower(name);
  const auto* const found = std::find_if(signs.begin(), signs.end(), [&](const Sign& sign) {
    return low.find(sign.part) != std::string::npos;
  });
  return found == signs.end() ? name : found->word;
}

/// NVIDIA's architectures, by what a device or a trace is called.
std::string gpu_word(const std::string& device) {
  return word_of(device, {{"k80", "Kepler"},
                          {"titan x", "Maxwell"},
                          {"p100", "Pascal"},
                          {"v100", "Volta"},
                          {"2080", "Turing"},
                          {"t4", "Turing"},
                          {"gb200", "Blackwell"},
                          {"b200", "Blackwell"},
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

/// Without "framework" the one whose layer table it is, in the generation of today; of tables
/// without a framework's name, none.
std::string framework_word(const Config& workload, const std::string& model) {
  const auto slash = model.find('/');
  const std::string named = workload.has("framework")    ? workload.get<std::string>("framework")
                            : slash == std::string::npos ? ""
                                                         : model.substr(0, slash);
  return word_of(named, {{"pytorch-1", "PyTorch 1"},
                         {"torch", "PyTorch 2"},
                         {"tensorflow-2", "TensorFlow 2"},
                         {"tensorflow", "TensorFlow 1"},
                         {"tf", "TensorFlow 1"},
                         {"mxnet", "MXNet"},
                         {"caffe", "Caffe"}});
}

/// How the time of a worker is known.
std::string compute_word(const Config& workload, const Trace& trace, const std::string& framework) {
  if (!trace.modelled) return "measured";
  if (workload.has("kernels")) return workload.get<std::string>("kernels");
  if (!framework.starts_with("PyTorch")) return "tuned";
  const auto precision =
      workload.get<std::string>(workload.has("precision") ? "precision" : "dtype");
  return precision == "float16" || precision == "bfloat16" ? "autocast" : "eager";
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

/// Releases whose estimates and kernels are much alike: up to 2.4, 2.5 to 2.18, later.
std::string nccl_word(const Json& collective, const Cluster& cluster) {
  const std::string version =
      collective.is_object() ? collective.value("version", "auto") : std::string("auto");
  constexpr std::int64_t kFirstWithLater = 89;  // compute capability, as the version "auto" has it
  if (version == "auto") {
    const bool is_later = cluster.gpus && cluster.gpus->compute_capability >= kFirstWithLater;
    return is_later ? "NCCL 2.19" : "NCCL 2.5";
  }
  const std::string_view text = version;
  const auto from = text.find('.') + 1;
  const auto minor = number_in<int>(text.substr(from, text.find('.', from) - from));
  if (!minor || *minor < 5) return "NCCL 2.3";
  return *minor < 19 ? "NCCL 2.5" : "NCCL 2.19";
}

std::string type_in(const Json& choice) {
  return choice.is_string() ? choice.get<std::string>() : choice.value("type", "");
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
  const std::string& word = (*this)[a];
  if (a == Attribute::kFabric) return fmt::format("{} at {:.3g} Gbit/s", word, rate * 8e-9);
  if (a == Attribute::kNodes) return word == "one" ? "one node" : word + " nodes";
  if (a == Attribute::kCompute) return word + (word == "measured" ? " compute" : " kernels");
  return word.empty() ? fmt::format("no {}", attribute_names()[static_cast<std::size_t>(a)]) : word;
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
  kind[Attribute::kCompute] = compute_word(workload, trace, kind[Attribute::kFramework]);
  kind[Attribute::kGpu] = gpu_word(trace.device);
  kind[Attribute::kModel] = model_word(trace.model);
  return kind;
}

std::string network_name(const Config& cluster) {
  // Mostly said, or without a preset that could say it.
  const Json& stated = cluster.node();
  const auto network = stated.find("network");
  if (network != stated.end() &&
      (network->is_string() || network->contains("type") || !stated.contains("preset")))
    return type_in(*network);
  return type_in(resolved_preset(cluster.node()).value("network", Json("")));
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
  const std::string update = Catalogue::type_of(strategy, "update");
  kind[Attribute::kSchedule] = Catalogue::type_of(strategy, Aggregation::kNoun) +
                               (update == "sgd" ? "" : ", " + update) +
                               (transport.streams == 1 ? "" : ", streams");
  return kind;
}

std::string schedule_word(const Config& strategy) {
  const std::string embedding = Catalogue::type_of(strategy, "embedding");
  return Catalogue::type_of(strategy, "schedule") + (embedding == "async" ? "" : ", " + embedding);
}

KindOfStep joined(const KindOfStep& workload, const KindOfStep& exchange,
                  const std::string& schedule) {
  KindOfStep kind = exchange;
  for (const Attribute a :
       {Attribute::kFramework, Attribute::kCompute, Attribute::kGpu, Attribute::kModel})
    kind[a] = workload[a];
  kind[Attribute::kSchedule] += ", " + schedule;
  return kind;
}

}  // namespace steptime
