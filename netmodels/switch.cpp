// A non-blocking switch: every pair of endpoints has the full bandwidth of a port, whatever the
// others do.
//
// Scope: full duplex, cut-through, no contention inside the switch. A bandwidth that is a line rate
// of 25 Gbit/s or more is no measured one: no host moves that much, see "rdma" and "tcp".
// Parameters: latency [s, end to end], bandwidth [B/s, of one port in one direction].
#include "sim/network/cluster.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>

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

constexpr double kLineRates[] = {25, 40, 50, 56, 100, 200, 400, 800};  ///< Gbit/s

class Switch final : public NetworkKind {
 public:
  explicit Switch(const Config& c)
      : link_{c.get<Duration>("latency"), c.get<Bandwidth>("bandwidth")} {
    const double gbits = link_.bandwidth.bytes_per_second * 8e-9;
    const bool is_line_rate =
        std::ranges::any_of(kLineRates, [&](double r) { return std::abs(gbits / r - 1) < 1e-6; });
    if (!is_line_rate) return;
    outside_ = fmt::format(
        "network at its line rate of {:g} Gbit/s, which no host was measured to reach", gbits);
  }
  Link link(std::int64_t) const override { return link_; }
  std::string outside_domain() const override { return outside_; }

 private:
  Link link_;
  std::string outside_;
};

const bool kRegistered = NetworkKinds::instance().add(
    "switch", "non-blocking switch: latency + size / bandwidth between any two", kParams,
    [](const Config& c) { return std::make_unique<Switch>(c); });

}  // namespace
}  // namespace steptime
