#include "sim/network/link_matrix.h"

#include "sim/core/error.h"
#include "sim/network/topology.h"

#include <algorithm>
#include <map>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>

namespace steptime {
namespace {

float code_of(std::int64_t nvlinks) {
  return nvlinks == 0 ? kOverPcie : nvlinks == 1 ? kOneNvlink : kTwoNvlinks;
}

/// From the links of the graph, for its first GPUs.
LinkMatrix codes_of(const Topology& node, Gpu gpus) {
  std::map<Topology::Vertex, Gpu> place;
  for (const Topology::Vertex v : node.of_kind(VertexKind::kGpu)) {
    if (std::ssize(place) < gpus) place.emplace(v, static_cast<Gpu>(place.size()));
  }
  LinkMatrix codes(gpus);
  for (const auto& [first, i] : place) {
    for (const auto& [second, j] : place) {
      if (i < j) codes.set(i, j, kOverPcie);
    }
  }
  std::map<Topology::Vertex, std::map<Gpu, std::int64_t>> switched;  // links by NVSwitch and GPU
  for (const Topology::LinkInfo& link : node.links()) {
    for (const auto& [from, to] : {std::pair{link.first, link.second}, {link.second, link.first}}) {
      if (!place.contains(from)) continue;
      if (place.contains(to)) codes.set(place[from], place[to], code_of(link.count));
      if (node.vertices()[static_cast<std::size_t>(to)].kind == VertexKind::kNvlinkSwitch)
        switched[to][place[from]] += link.count;
    }
  }
  for (const auto& [vertex, links] : switched) {
    for (const auto& [i, mine] : links) {
      for (const auto& [j, others] : links) {
        if (i < j) codes.set(i, j, std::max(codes.at(i, j), code_of(std::min(mine, others))));
      }
    }
  }
  return codes;
}

}  // namespace

LinkMatrix::LinkMatrix(std::initializer_list<std::vector<float>> rows)
    : LinkMatrix(static_cast<Gpu>(rows.size())) {
  Gpu row = 0;
  for (const std::vector<float>& each : rows) {
    STEPTIME_CHECK(each.size() == rows.size(), "a link matrix is square");
    for (Gpu column = 0; column < gpus_; ++column)
      at(row, column) = each[static_cast<std::size_t>(column)];
    ++row;
  }
}

LinkMatrix LinkMatrix::of(std::span<const Gpu> gpus) const {
  LinkMatrix part(static_cast<Gpu>(gpus.size()));
  for (Gpu row = 0; row < part.gpus(); ++row) {
    for (Gpu column = 0; column < part.gpus(); ++column) {
      part.at(row, column) =
          at(gpus[static_cast<std::size_t>(row)], gpus[static_cast<std::size_t>(column)]);
    }
  }
  return part;
}

LinkMatrix link_codes(const Cluster& cluster) {
  const auto gpus = static_cast<Gpu>(cluster.gpus_per_node);
  if (cluster.node != nullptr) return codes_of(*cluster.node, gpus);
  LinkMatrix codes(gpus);
  for (Gpu i = 0; i < gpus; ++i) {
    for (Gpu j = i + 1; j < gpus; ++j) {
      std::int64_t links = 0;
      if (cluster.gpus && cluster.gpus->links == GpuNode::Links::kNvlink)
        links = cluster.gpus->matrix[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      if (cluster.gpus && cluster.gpus->links == GpuNode::Links::kNvswitch)
        links = cluster.gpus->links_per_gpu;
      codes.set(i, j, code_of(links));
    }
  }
  return codes;
}

const std::vector<std::string>& detection_words() {
  static const std::vector<std::string> words{"exact", "cuda-9.2", "cuda-9.2-repaired"};
  return words;
}

LinkDetection detection_named(const std::string& word) {
  const auto& words = detection_words();
  const auto found = std::find(words.begin(), words.end(), word);
  STEPTIME_CHECK(found != words.end(), word);
  return static_cast<LinkDetection>(found - words.begin());
}

LinkMatrix detected(LinkMatrix codes, LinkDetection detection) {
  const auto cells = codes.cells();
  if (detection == LinkDetection::kExact) return codes;
  if (detection == LinkDetection::kRepaired &&
      std::find(cells.begin(), cells.end(), kTwoNvlinks) != cells.end()) {
    // The whole matrix, its diagonal too.
    for (float& code : cells)
      code = code >= kOneNvlink ? kOneNvlink : kOverPcie;
    return codes;
  }
  std::replace(cells.begin(), cells.end(), kTwoNvlinks, kOverPcie);
  return codes;
}

bool joined_by_nvlink(const LinkMatrix& codes) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> nvlinks(
      static_cast<std::size_t>(codes.gpus()));
  for (Gpu i = 0; i < codes.gpus(); ++i) {
    for (Gpu j = 0; j < i; ++j) {
      if (codes.at(i, j) >= kOneNvlink)
        boost::add_edge(static_cast<std::size_t>(i), static_cast<std::size_t>(j), nvlinks);
    }
  }
  std::vector<int> component(static_cast<std::size_t>(codes.gpus()));
  return boost::connected_components(nvlinks, component.data()) == 1;
}

LinkMatrix link_weights(LinkMatrix codes) {
  const double pcie = joined_by_nvlink(codes) ? 0 : 1.0 / codes.gpus();
  const auto cells = codes.cells();
  std::replace(cells.begin(), cells.end(), kOverPcie, static_cast<float>(pcie));
  return codes;
}

}  // namespace steptime
