// Pushes and pulls through ports at analytic fidelity, a bucket as one: its pieces travel side by
// side, as on a connection to each server. What a client pushes to S servers reaches all of them
// with its first byte and is in with its last; what it pulls is in when its port has taken all of
// it. A bucket is therefore one event at the servers and one back, whatever the number of its
// pieces.
#pragma once
#include "sim/runtime/world.h"
#include "sim/servers/node_ports.h"
#include "sim/servers/pieces.h"
#include "sim/servers/wire.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

/// Where clients and servers are.
struct PortEnds {
  std::vector<PortEnd> clients;
  std::vector<PortEnd> servers;
  /// Whether all messages go over the network: servers have nodes of their own.
  bool all_between_nodes = false;

  Way way(std::int32_t client, std::int32_t server) const {
    return NodePorts::way(clients[static_cast<std::size_t>(client)],
                          servers[static_cast<std::size_t>(server)]);
  }
};

class PortWire final : public Wire {
 public:
  /// All but the ends must outlive the wire.
  PortWire(World& world, NodePorts& ports, PortEnds ends, const Pieces& pieces);

  void push(Exchanged& of) override;
  void answer(Exchanged& of, std::uint32_t first, std::span<const When> leave) override;
  Duration latency(std::int32_t client, std::int32_t server) override {
    return ports_.latency(ends_.way(client, server));
  }
  std::optional<Duration> common_latency() const override;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// Pieces of a pull that come the same way: those that have left so far.
  struct Incoming {
    Exchanged* of = nullptr;
    Way way{};
    bool holds_head = false;  ///< what led to it, whose time may pass before the last piece leaves
    std::int32_t pieces = 0;
    Duration transfer{};
    When head{Time::max()};
    When tail{};
  };
  /// Those of them that leave together: the one that is first at the client, and the last.
  struct Leaving {
    std::int32_t pieces = 0;
    Duration transfer{};
    NodePorts::Passage first{.head = Time::max()};
    NodePorts::Passage last{};
  };

  PortEnd client_end(const Exchanged& of) const {
    return ends_.clients[static_cast<std::size_t>(of.client)];
  }
  PortEnd server_end(const Piece& piece) const {
    return ends_.servers[static_cast<std::size_t>(piece.server)];
  }
  const std::vector<Piece>& pieces(const Exchanged& of) const {
    return pieces_[static_cast<std::size_t>(of.bucket)];
  }
  Duration transfer(Way way, const Exchanged& of, std::size_t piece) const {
    return way == Way::kNetwork ? transfers_[of.first_slot + piece]
                                : ports_.transfer(way, pieces(of)[piece].bytes);
  }
  std::span<std::uint32_t> places(const Exchanged& of) {
    const std::size_t bucket =
        static_cast<std::size_t>(of.client) * pieces_.size() + static_cast<std::size_t>(of.bucket);
    return std::span(places_).subspan(bucket * ways_, ways_);
  }
  void enter_servers(Exchanged& of, Way way, Time tail);
  void leave_server(Exchanged& of, std::size_t piece, When at);
  void have_left(Exchanged& of);
  Incoming& incoming(Exchanged& of, std::size_t way);
  void add(Incoming& in, const Leaving& leaving);
  void enter_client(std::uint32_t place);

  World& world_;
  NodePorts& ports_;
  PortEnds ends_;
  const Pieces& pieces_;
  /// How many ways messages may take: one where all go over the network, else kWays.
  std::size_t ways_;
  std::vector<Duration> transfers_;  ///< over the network, by slot
  std::array<Leaving, kWays> leaving_{};
  std::vector<Incoming> incoming_;
  std::vector<std::uint32_t> free_;    ///< places in incoming_
  std::vector<std::uint32_t> places_;  ///< in it, by client, bucket and way; or kNone
};

}  // namespace steptime
