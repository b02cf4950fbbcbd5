// A non-blocking switch: every pair of endpoints has the full bandwidth of a port, whatever the
// others do.
//
// Scope: full duplex, cut-through, no contention inside the switch.
// Parameters: latency [s, end to end], bandwidth [B/s, of one port in one direction].
#include "sim/network/cluster.h"

#include <cstdint>
#include <memory>

namespace steptime {
namespace {

const Params kParams{{.key = "latency",
                      .kind = Kind::kTime,
                      .help = "alpha, per message from end to end",
                      .range = kNotNegative},
                     {.key = "bandwidth",
                      .kind = Kind::kBandwidth,
                      .help = "1 / beta, of one port in one direction",
                      .range = kPositive}};

class Switch final : public NetworkKind {
 public:
  explicit Switch(const Config& c)
      : link_{c.get<Duration>("latency"), c.get<Bandwidth>("bandwidth")} {}
  Link link(std::int64_t) const override { return link_; }

 private:
  Link link_;
};

const bool kRegistered = NetworkKinds::instance().add(
    "switch", "non-blocking switch: latency + size / bandwidth between any two", kParams,
    [](const Config& c) { return std::make_unique<Switch>(c); });

}  // namespace
}  // namespace steptime
