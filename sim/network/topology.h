// The inside of a node as a graph: devices, memories, sockets, switches and the links between them.
// Every link is two channels, one per direction: 2 i from its first to its second end, 2 i + 1
// back.
#pragma once
#include "sim/config/config.h"
#include "sim/core/units.h"
#include "sim/network/network.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// Sockets and switches pass messages on; a GPU, a memory or a NIC is only ever an end of a route.
enum class VertexKind : std::uint8_t {
  kGpu,
  kHostMemory,
  kSocket,
  kPcieSwitch,
  kNvlinkSwitch,
  kNic
};
std::string_view name_of(VertexKind kind);

enum class RouteMetric : std::uint8_t {
  kShortest,  ///< least latency, then fewest hops
  kWidest,    ///< greatest bandwidth of the narrowest link; among those, least latency met first
};

class Topology {
 public:
  using Vertex = std::int32_t;
  struct VertexInfo {
    std::string name;
    VertexKind kind{};
  };
  struct LinkInfo {
    Vertex first = 0;
    Vertex second = 0;
    Duration latency{};
    Bandwidth bandwidth{};  ///< per direction, of all parallel links together
    std::int64_t count = 1;
    std::string kind;  ///< "nvlink", "pcie", ...: for people
  };

  Vertex add_vertex(std::string name, VertexKind kind);
  void add_link(LinkInfo link);

  const std::vector<VertexInfo>& vertices() const { return vertices_; }
  const std::vector<LinkInfo>& links() const { return links_; }
  std::vector<Vertex> of_kind(VertexKind kind) const;
  std::vector<Channel> channels() const;

  /// The channels to every vertex, in order; none to the source itself and to those out of reach.
  using Paths = std::vector<std::vector<ChannelId>>;
  /// The paths from each of `sources`.
  std::vector<Paths> routes_from(std::span<const Vertex> sources, RouteMetric metric) const;
  Duration latency(const std::vector<ChannelId>& path) const;
  Bandwidth bandwidth(const std::vector<ChannelId>& path) const;

 private:
  std::vector<VertexInfo> vertices_;
  std::vector<LinkInfo> links_;
};

/// Reads a "node" section.
Topology read_topology(const Config& section);
const Params& topology_params();

}  // namespace steptime
