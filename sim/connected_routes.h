// The routes of a machine with a connection between each client and each endpoint of servers, each
// way: what follows on the same connection waits until what went before has left, as on a TCP
// connection of ps-lite or a queue pair. Messages of different connections share links.
#pragma once
#include "sim/machine.h"
#include "sim/transport.h"
#include "sim/work.h"

#include <cstdint>
#include <vector>

namespace steptime {

class ConnectedRoutes final : public Routes {
 public:
  /// A client's end is its first worker, endpoint `client * members`, of no client with 0 clients;
  /// server ends are the machine's endpoints from `first_server` on. `machine` must outlive the
  /// routes.
  ConnectedRoutes(const Machine& machine, std::int64_t clients, std::int64_t members,
                  Endpoint first_server)
      : machine_(machine),
        clients_(clients),
        members_(members),
        first_server_(first_server),
        servers_(machine.endpoints() - first_server),
        first_channel_(machine.channel_count()) {}

  /// Throws PlacedError when they are more than can be held.
  std::vector<Channel> channels() const override {
    check_links(static_cast<double>(first_channel_) +
                2.0 * static_cast<double>(clients_) * static_cast<double>(servers_));
    std::vector<Channel> channels = machine_.channels();
    channels.resize(channels.size() + static_cast<std::size_t>(2 * clients_ * servers_),
                    {.bandwidth = kUnlimited, .fifo = true});
    return channels;
  }
  Endpoint endpoints() const override { return machine_.endpoints(); }

  void route(Endpoint from, Endpoint to, std::vector<ChannelId>& path) const override {
    const std::int64_t way = is_client(from) && is_server(to)   ? index(from, to)
                             : is_server(from) && is_client(to) ? index(to, from) + 1
                                                                : -1;
    if (way >= 0) path.push_back(static_cast<ChannelId>(first_channel_ + way));
    machine_.route(from, to, path);
  }

 private:
  static constexpr Bandwidth kUnlimited{1e15};
  bool is_server(Endpoint end) const { return end >= first_server_; }
  bool is_client(Endpoint end) const { return end < clients_ * members_ && end % members_ == 0; }
  std::int64_t index(Endpoint client, Endpoint server) const {
    return 2 * (client / members_ * servers_ + (server - first_server_));
  }

  const Machine& machine_;
  std::int64_t clients_;
  std::int64_t members_;
  Endpoint first_server_;
  std::int64_t servers_;
  std::int64_t first_channel_;
};

}  // namespace steptime
