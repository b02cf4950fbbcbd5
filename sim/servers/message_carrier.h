// Message fidelity: pushes, pulls, and the collectives inside clients are messages that share the
// cluster's links. Servers of their own nodes are ports of the fabric; the others are on the hosts
// or GPUs of the workers' nodes. What a client and a host exchange goes one after another, as on a
// connection; GPUs copy as many messages at once as the servers' `copies_at_once` says.
#pragma once
#include "sim/collective/collective_player.h"
#include "sim/collective/stage_reasons.h"
#include "sim/events/engine.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/servers/carrier.h"
#include "sim/servers/connected_routes.h"
#include "sim/servers/training.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

namespace steptime {

/// The machine with the servers' endpoints. Throws InputError.
Machine machine_with_servers(const Cluster& cluster, const Aggregation& aggregation);

class MessageCarrier final : public Carrier, private MessageSink, private CollectiveUser {
 public:
  /// All must outlive the carrier.
  MessageCarrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user);

  void push(std::span<const Parcel> parts) override;
  void answer(std::span<const Timed> parts) override;
  Duration latency(std::int32_t client, std::int32_t server) override;
  std::optional<Duration> common_latency() const override { return std::nullopt; }
  void all_reduce(std::int32_t client, std::uint32_t message, Bytes bytes, When start,
                  Duration longer) override;
  void broadcast(std::int32_t client, std::size_t bucket, When start) override;
  std::vector<LinkUse> links(double seconds, double steps) const override;
  void expect_over() const override;

 private:
  /// A collective inside a client.
  struct Inside {
    std::int32_t client = 0;
    bool broadcasts = false;  ///< else it adds up
    std::uint32_t what = 0;   ///< the bucket, or the message
    Programs programs;
    std::unique_ptr<CollectivePlayer> player;
    Held begun{};
  };
  /// What a GPU has under way, and what waits for that.
  struct Copies {
    struct Waiting {
      std::int64_t rank;  ///< the lowest goes first, and among equals the first that came
      std::uint64_t arrival;
      std::uint32_t parcel;
      bool operator<(const Waiting& other) const {
        return rank != other.rank ? rank > other.rank : arrival > other.arrival;
      }
    };
    std::int64_t under_way = 0;
    std::priority_queue<Waiting> waiting;
  };

  void delivered(const Message& message) override;
  void over(std::int32_t place) override;
  When arrived(Held sent);
  void post(const Parcel& parcel);
  void transmit(std::uint32_t index);
  Copies* copies_of(const Parcel& parcel);
  std::int64_t rank(const Parcel& parcel) const;
  void play(std::int32_t client, bool broadcasts, std::uint32_t what, Bytes bytes);
  void broadcast_next(std::int32_t client);
  bool is_host(std::int32_t client) const { return client >= plan_.aggregation.clients; }
  Endpoint client_end(std::int32_t client) const;
  Endpoint server_end(std::int32_t server) const;

  const TrainingPlan& plan_;
  Engine& engine_;
  CarrierUser& user_;
  std::int64_t members_;  ///< workers of a client
  Machine machine_;
  std::vector<Channel> channels_;
  ConnectedRoutes connections_;
  Network network_;
  Reason latency_;
  Reason transfer_;
  Reason sharing_;
  StageReasons reasons_;
  std::vector<Parcel> parcels_;
  std::vector<Held> sent_;           ///< of the parcels
  std::vector<std::uint32_t> free_;  ///< of the parcels, those not under way
  std::vector<Copies> copies_;       ///< of every worker
  std::uint64_t arrivals_ = 0;
  std::vector<Inside> insides_;  ///< under way, or free
  std::vector<std::int32_t> free_insides_;
  /// Of every client: buckets whose broadcasts are under way, the first, or wait.
  std::vector<std::deque<std::size_t>> broadcasts_;
  std::vector<std::vector<Endpoint>> placements_;
  std::vector<ChannelId> path_;
};

}  // namespace steptime
