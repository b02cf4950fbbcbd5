// Fabrics by name, and their routes.
#pragma once
#include "sim/network/fabric.h"

#include <memory>
#include <string>
#include <vector>

namespace steptime {

inline constexpr Duration kPortLatency{1000};
inline constexpr Bandwidth kPortBandwidth{1e9};

/// From the JSON of a "fabric" section.
inline std::unique_ptr<Fabric> make_fabric(const std::string& json, std::int64_t ports) {
  static const Params params{{.key = "fabric", .kind = Kind::kObject, .choice = Fabric::kNoun}};
  const Config config(std::make_shared<Document>(
                          Document{"x.json", parse_json("{\"fabric\": " + json + "}", "x.json")}),
                      params);
  return Fabrics::instance().make(config, "fabric", {ports, kPortLatency, kPortBandwidth});
}

inline std::vector<ChannelId> route(const Fabric& fabric, std::int64_t from, std::int64_t to) {
  std::vector<ChannelId> path;
  fabric.route(from, to, path);
  return path;
}

/// Whether every route between different ports names existing channels, each once, and the fabric
/// counts its channels.
inline bool routes_are_simple(const Fabric& fabric, std::int64_t ports) {
  const std::size_t channels = fabric.channels().size();
  if (fabric.channel_count() != static_cast<std::int64_t>(channels)) return false;
  for (std::int64_t a = 0; a < ports; ++a) {
    for (std::int64_t b = 0; b < ports; ++b) {
      if (a == b) continue;
      std::vector<bool> seen(channels, false);
      for (const ChannelId c : route(fabric, a, b)) {
        if (c >= channels || seen[c]) return false;
        seen[c] = true;
      }
    }
  }
  return true;
}

}  // namespace steptime
