#include "sim/network/gpus.h"

#include "sim/config/binding.h"
#include "sim/core/error.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::size_t kMostGpus = 64;
constexpr int kMostLinks = 64;
constexpr int kMostNodeGpus = 1024;
constexpr int kMostNics = 1024;  // as many as a node has GPUs at most

/// Rows of whole numbers: square, symmetric, nothing between a GPU and itself.
std::vector<std::vector<int>> read_matrix(const Config& section) {
  const Json& rows = section.raw("matrix");
  if (!rows.is_array()) {
    section.fail("matrix", fmt::format("expected a list of rows, got {}", brief(rows)));
  }
  const std::size_t n = rows.size();
  if (n < 2 || n > kMostGpus) {
    section.fail("matrix", fmt::format("expected 2 to {} rows, got {}", kMostGpus, n));
  }
  std::vector<std::vector<int>> matrix;
  for (std::size_t i = 0; i < n; ++i) {
    if (!rows[i].is_array() || rows[i].size() != n) {
      section.fail("matrix", fmt::format("row {}: expected a list of {} whole numbers", i, n));
    }
    std::vector<int> row;
    for (std::size_t j = 0; j < n; ++j) {
      const Json& cell = rows[i][j];
      if (!cell.is_number_integer() || cell < 0 || cell > kMostLinks || (i == j && cell != 0)) {
        section.fail("matrix",
                     fmt::format("row {}, column {}: expected {}, got {}", i, j,
                                 i == j ? "0" : fmt::format("0 to {}", kMostLinks), brief(cell)));
      }
      row.push_back(cell.get<int>());
      if (j < i && row[j] != matrix[j][i]) {
        section.fail("matrix", fmt::format("not symmetric: {} links from {} to {}, {} back", row[j],
                                           i, j, matrix[j][i]));
      }
    }
    matrix.push_back(std::move(row));
  }
  return matrix;
}

}  // namespace

namespace {

const Bindings<GpuNode>& gpu_keys() {
  using G = GpuNode;
  static const Bindings<G> keys{
      {&G::links, "links", "what joins the GPUs of a node", kRequired,
       one_of("nvlink", "nvswitch", "pcie")},
      Bindings<G>::Binding{{.key = "count",
                            .kind = Kind::kInteger,
                            .help = "GPUs that a node has, so that no more can work; default: not "
                                    "known, where neither `node` nor `matrix` says",
                            .need = Need::kOptional,
                            .range = {.low = 1, .high = kMostNodeGpus}}},
      {&G::link_bandwidth, "link_bandwidth",
       "of one link in one direction, as NCCL counts it: 18 GB/s for NVLink of P100, 20 to 22 of "
       "V100 and later",
       kRequired, kPositive},
      Bindings<G>::Binding{{.key = "links_per_gpu",
                            .kind = Kind::kInteger,
                            .help = "links to the NVSwitch",
                            .need = Need::kOptional,
                            .range = {.low = 1, .high = kMostLinks}}},
      Bindings<G>::Binding{{.key = "matrix",
                            .kind = Kind::kList,
                            .help = "number of NVLinks between each pair of GPUs",
                            .need = Need::kOptional}},
      {&G::pcie_bandwidth, "pcie_bandwidth", "of a ring that NVLink does not close", "12 GB/s",
       kPositive},
      {&G::compute_capability, "compute_capability",
       "70 for 7.0; NCCL 2 needs 30, and its protocol LL128 70, 80 or 90", kRequired,
       between(30, 200)},
      {&G::cpu, "cpu",
       "whose processors a node has: NCCL counts with other bandwidths between their sockets",
       "intel", one_of("intel", "amd", "power")},
      {&G::nic_near_gpu, "nic_near_gpu", "every GPU reaches its NIC without crossing a CPU", false},
      Bindings<G>::Binding{
          {.key = "nics",
           .kind = Kind::kInteger,
           .help = "adapters of a node, each a port of the network: the first ones of `node`; "
                   "without `node` its GPUs share them in order; default: those of `node`, else "
                   "one",
           .need = Need::kOptional,
           .range = {.low = 1, .high = kMostNics}}},
      {&G::launch, "launch",
       "from the call to the start of a kernel; with `gpus_per_process` of `nccl`, of each of a "
       "process's kernels, which run while the next ones start",
       "0 s", kNotNegative}};
  return keys;
}

}  // namespace

const Params& gpus_params() {
  return gpu_keys().params();
}

GpuNode read_gpus(const Config& section, std::int64_t used) {
  GpuNode node = gpu_keys().read(section);
  if (section.has("nics")) node.nics = section.get<std::int64_t>("nics");
  const auto links = section.get<std::string>("links");
  const auto needs = [&](const char* key, bool needed) {
    if (section.has(key) == needed) return;
    section.fail(
        key, fmt::format("{} with links {}", needed ? "required" : "has no meaning", brief(links)));
  };
  needs("matrix", links == "nvlink");
  needs("links_per_gpu", links == "nvswitch");
  if (links == "nvswitch") {
    node.links_per_gpu = section.get<std::int64_t>("links_per_gpu");
  } else if (links == "nvlink") {
    node.matrix = read_matrix(section);
    if (used > static_cast<std::int64_t>(node.matrix.size())) {
      section.fail("matrix", fmt::format("expected at least {} rows, one for each GPU, got {}",
                                         used, node.matrix.size()));
    }
  }
  return node;
}

}  // namespace steptime
