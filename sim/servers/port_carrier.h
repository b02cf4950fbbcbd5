// Analytic fidelity: pushes and pulls take the ports of sim/servers/ports.h, and the collectives
// inside a client go through their stages (sim/servers/flights.h).
//
// The parts of a bucket travel side by side, as on a connection to each server: what a client
// pushes to S servers reaches all of them with its first byte and is in with its last; what it
// pulls is in when its port has taken all of it. A bucket is therefore one event at the servers and
// one back, whatever the number of its parts. Where sums go on beyond the nodes, parts travel one
// by one, and where a channel hands them over so.
#pragma once
#include "sim/collective/stage_reasons.h"
#include "sim/events/engine.h"
#include "sim/servers/carrier.h"
#include "sim/servers/flights.h"
#include "sim/servers/ports.h"
#include "sim/servers/training.h"
#include "sim/step/pass_reasons.h"

#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace steptime {

class PortCarrier final : public Carrier {
 public:
  /// `one_by_one`: parts are pushed and answered singly. All must outlive the carrier.
  PortCarrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user, bool one_by_one = false);

  void push(std::span<const Parcel> parts) override;
  void answer(std::span<const Timed> parts) override;
  Duration latency(std::int32_t client, std::int32_t server) override;
  std::optional<Duration> common_latency() const override;
  void all_reduce(std::int32_t client, std::uint32_t message, Bytes bytes, When start,
                  Duration longer) override;
  void broadcast(std::int32_t client, std::size_t bucket, When start) override;

 private:
  static constexpr std::size_t kWays = 3;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// A push under way.
  struct Push {
    std::int32_t client;
    std::uint32_t bucket;
    std::uint32_t first_slot;
    Way way;
    Time tail;
  };
  /// Parts of a pull that come the same way: those that have left so far.
  struct Incoming {
    std::int32_t client = 0;
    std::uint32_t bucket = 0;
    Way way{};
    bool holds_head = false;  ///< what led to it, whose time may pass before the last part leaves
    std::int32_t parts = 0;
    Duration transfer{};
    When head{Time::max()};
    When tail{};
  };
  /// Those of them that leave together: the one that is first at the client, and the one that is
  /// last.
  struct Leaving {
    std::int32_t parts = 0;
    Duration transfer{};
    Passage first{.head = Time::max()};
    Passage last{};
  };

  bool own_nodes() const {
    return plan_.aggregation.servers.placement == ServerGroup::Placement::kOwnNodes;
  }
  /// Of a client's bucket: the first of its places, one for each way.
  std::size_t places(std::int32_t client, std::size_t bucket) const {
    return (static_cast<std::size_t>(client) * plan_.pieces.size() + bucket) * ways_;
  }
  PortEnd client_end(std::int32_t client) const {
    return client_ends_[static_cast<std::size_t>(client)];
  }
  PortEnd server_end(std::int32_t server) const {
    return server_ends_[static_cast<std::size_t>(server)];
  }
  /// From where to where a part travels.
  std::pair<PortEnd, PortEnd> ends_of(const Parcel& part) const {
    const PortEnd client = client_end(part.client);
    const PortEnd server = server_end(part.server);
    return part.is_push ? std::pair(client, server) : std::pair(server, client);
  }
  void place_levels();
  PortEnd place_server(const ServerGroup& servers, std::int32_t server) const;
  Duration transfer(Way way, const Parcel& part) const;
  /// Of what comes with its first byte now.
  Arrival arriving(Way way, Time tail) {
    return ports_.arrival(way, {engine_.present(), engine_.now(), tail});
  }
  void carry(const Parcel& part);
  void deliver(const Parcel& part, Time tail);
  void enter_servers(const Push& push);
  void leave_server(const Parcel& part, When at);
  void have_left(std::int32_t client, std::size_t bucket);
  Incoming& incoming(std::int32_t client, std::size_t bucket, std::size_t way);
  void add(Incoming& in, const Leaving& leaving);
  void enter_client(std::uint32_t place);
  void fly(std::int32_t client, const Collective& collective, Bytes bytes, Callback done);
  void broadcast_next(std::int32_t client);
  void broadcast_over(std::int32_t client);

  const TrainingPlan& plan_;
  Engine& engine_;
  CarrierUser& user_;
  std::int64_t members_;  ///< workers of a client
  bool one_by_one_;
  Ports ports_;
  StageReasons reasons_;
  OverlapReasons overlap_;
  std::vector<PortEnd> client_ends_;
  std::vector<PortEnd> server_ends_;
  std::vector<Duration> transfers_;  ///< over the network, by slot
  std::size_t ways_;                 ///< that messages take: all are over the network, or any
  std::array<Leaving, kWays> leaving_{};
  std::vector<Incoming> incoming_;
  std::vector<std::uint32_t> free_;    ///< places in incoming_
  std::vector<std::uint32_t> places_;  ///< in it, or kNone
  std::vector<Timed> arrivals_;        ///< scratch
  std::deque<Flights> flights_;        ///< of every client; none where a collective is alone
  /// Of every client: buckets whose broadcasts are under way, the first, or wait.
  std::vector<std::deque<std::size_t>> broadcasts_;
};

}  // namespace steptime
