// TCP between machines: what n connections between the same two carry together,
//
//   min(goodput x line rate, n x connection, host)      goodput = (mtu - 40) / (mtu + 38)
//
// of an Ethernet frame of mtu + 38 B (with preamble and gap) 40 B are headers of IP and TCP.
// `connection`: one is bound by a core; `host`: all are, by the CPU's copies.
//
// A library that opens one connection between two processes (ps-lite, BytePS, gRPC, MPI) gets n =
// 1; collectives get what their library opens (sim/servers/tcp_connections.h), NCCL as many sockets
// per channel as its parameter `sockets` says.
//
// With servers a port carries what the connections of its clients, or to all servers, do together
// (server_port() of sim/servers/aggregation.h).
//
// Scope: as a switch. Collectives of several processes on a host share the connections of two, and
// with servers a single message gets what a port's connections carry together. CPU time is not
// taken from anything else. Parameters: latency [time, GPU to GPU by NCCL], bandwidth [B/s, the
// line rate], mtu [B], connection [B/s], host [B/s]; of the presets all have defaults. Source:
// connections: "A single TCP connection usually cannot run up to 25 Gbps" (bytedance/byteps pull
// 206); Google 3.9 Gbit/s (NVIDIA/nccl issue 209: 31 over 8 connections), Amazon 10 Gbit/s within a
// placement group (EC2 User Guide). 100GbE, hosts: 1.4 to 3.75 GB/s (NVIDIA/nccl issue 209), 1 to 5
// (450), 7.5 (1447). Presets take 20 us, 10 Gbit/s a connection and 30 Gbit/s a host; what is known
// is a range, and they say so.
#include "sim/network/cluster.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace steptime {
namespace {

struct TcpPreset {
  const char* name;
  const char* help;
  const char* bandwidth;  ///< null: that and the rates below are required
  double slowest = 0;     ///< Gbit/s of the hosts that were measured; 0: the line rate is reached
  double fastest = 0;
};

constexpr TcpPreset kTcpPresets[] = {
    {"tcp", "TCP: line rate, and ceilings of a connection and of a host", nullptr},
    {"10gbe", "TCP over 10 Gbit/s Ethernet", "10 Gbps"},
    {"25gbe", "TCP over 25 Gbit/s Ethernet", "25 Gbps", 4, 24},
    {"40gbe", "TCP over 40 Gbit/s Ethernet", "40 Gbps", 4, 38},
    {"100gbe", "TCP over 100 Gbit/s Ethernet", "100 Gbps", 8, 60}};

/// Of one connection: 4 to 20 Gbit/s over the 10 that are taken.
constexpr NetworkKind::Known kOneConnection{.slowest = .4, .fastest = 2};

// B/s, of presets.
constexpr double kTakenConnection = 10e9 / 8;
constexpr double kTakenHost = 30e9 / 8;

/// B/s: up to there hosts reach the line rate.
constexpr double kFastLine = 1.05 * 10e9 / 8;

class Tcp final : public NetworkKind {
 public:
  Tcp(const Config& c, const TcpPreset& preset)
      : latency_(c.get<Duration>("latency")),
        connection_(c.get<Bandwidth>("connection").bytes_per_second) {
    const auto mtu = static_cast<double>(c.get<Bytes>("mtu").count);
    const double line = c.get<Bandwidth>("bandwidth").bytes_per_second;
    const double host = c.get<Bandwidth>("host").bytes_per_second;
    most_ = std::min(line * (mtu - 40) / (mtu + 38), host);
    // Who says what a connection or a host moves knows more than the range; a config that is
    // written out with the defaults does not.
    const bool has_defaults = preset.bandwidth != nullptr;
    if (!has_defaults || connection_ != kTakenConnection || host != kTakenHost) return;
    const double taken = most_ * 8e-9;
    if (preset.slowest == 0) {
      if (line > kFastLine) {
        outside_ = fmt::format("{} at {:.3g} Gbit/s: what its hosts carry is assumed, {:.3g}",
                               preset.help, line * 8e-9, taken);
      }
      return;
    }
    known_ = {std::min(preset.slowest / taken, kOneConnection.slowest),
              std::max(preset.fastest / taken, kOneConnection.fastest)};
    outside_ = fmt::format(
        "{}: hosts were measured at {:g} to {:g} Gbit/s, {:.3g} is taken, {:.3g} of "
        "one connection",
        preset.help, preset.slowest, preset.fastest, taken, std::min(taken, connection_ * 8e-9));
  }
  Link link(std::int64_t) const override { return {latency_, *together(1)}; }
  std::optional<Bandwidth> together(std::int64_t connections) const override {
    return Bandwidth{std::min(most_, static_cast<double>(connections) * connection_)};
  }
  Known known() const override { return known_; }
  std::string outside_domain() const override { return outside_; }

 private:
  Duration latency_;
  double connection_;  ///< B/s
  double most_ = 0;    ///< B/s of all together
  Known known_;
  std::string outside_;
};

Params tcp_params(const TcpPreset& preset) {
  const bool has_defaults = preset.bandwidth != nullptr;
  const auto param = [&](const char* key, Kind kind, const char* help, const char* fallback) {
    Params::value_type p{.key = key, .kind = kind, .help = help, .range = kPositive};
    if (has_defaults) {
      p.need = Need::kDefault;
      p.fallback = fallback;
    }
    return p;
  };
  Params params{
      param("bandwidth", Kind::kBandwidth, "line rate of one port in one direction",
            preset.bandwidth),
      param("latency", Kind::kTime, "of an empty message", "20 us"),
      param("connection", Kind::kBandwidth, "the most that one carries", "10 Gbps"),
      param("host", Kind::kBandwidth, "the most that all connections of a host carry", "30 Gbps")};
  params.push_back({.key = "mtu",
                    .kind = Kind::kBytes,
                    .help = "largest IP packet",
                    .need = Need::kDefault,
                    .fallback = "1500 B",
                    .range = {.low = 576, .high = 65535}});
  return params;
}

const bool kRegistered = [] {
  for (const TcpPreset& preset : kTcpPresets) {
    NetworkKinds::instance().add(
        preset.name, preset.help, tcp_params(preset),
        [&preset](const Config& c) { return std::make_unique<Tcp>(c, preset); });
  }
  return true;
}();

}  // namespace
}  // namespace steptime
