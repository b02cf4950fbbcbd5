// The routes of a machine with a connection between each client and each endpoint of servers, each
// way: what follows on the same connection waits until what went before has left, as on a TCP
// connection of ps-lite or a queue pair. Messages of different connections share links.
#pragma once
#include "sim/core/error.h"
#include "sim/core/limits.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"

#include <cstdint>
#include <vector>

namespace steptime {

class ConnectedRoutes final : public Routes {
 public:
  /// The endpoints of clients: `count` of them, from `first` on, each `stride` behind the last.
  struct Clients {
    Endpoint first = 0;
    std::int64_t count = 0;
    std::int64_t stride = 1;
  };
  /// Servers are the machine's endpoints from `first_server` on, and may be clients, too. `machine`
  /// must outlive the routes.
  ConnectedRoutes(const Machine& machine, Clients clients, Endpoint first_server)
      : machine_(machine),
        clients_(clients),
        first_server_(first_server),
        servers_(machine.endpoints() - first_server),
        first_channel_(machine.channel_count()) {}

  /// Throws PlacedError when they are more than can be held.
  std::vector<Channel> channels() const override {
    check_links(static_cast<double>(first_channel_) +
                2.0 * static_cast<double>(clients_.count) * static_cast<double>(servers_));
    std::vector<Channel> channels = machine_.channels();
    STEPTIME_CHECK(static_cast<std::int64_t>(channels.size()) == first_channel_,
                   "a machine has more or fewer channels than it says");
    channels.resize(channels.size() + static_cast<std::size_t>(2 * clients_.count * servers_),
                    {.bandwidth = kUnlimited, .fifo = true});
    return channels;
  }
  Endpoint endpoints() const override { return machine_.endpoints(); }

  void route(Endpoint from, Endpoint to, std::vector<ChannelId>& path) const override {
    const std::int64_t way = is_client(from) && is_server(to)   ? index(from, to)
                             : is_server(from) && is_client(to) ? index(to, from) + 1
                                                                : -1;
    if (way >= 0 && from != to) path.push_back(static_cast<ChannelId>(first_channel_ + way));
    machine_.route(from, to, path);
  }

 private:
  static constexpr Bandwidth kUnlimited{1e15};
  bool is_server(Endpoint end) const { return end >= first_server_; }
  bool is_client(Endpoint end) const {
    const std::int64_t behind = end - clients_.first;
    return behind >= 0 && behind < clients_.count * clients_.stride &&
           behind % clients_.stride == 0;
  }
  std::int64_t index(Endpoint client, Endpoint server) const {
    const std::int64_t nth = (client - clients_.first) / clients_.stride;
    return 2 * (nth * servers_ + (server - first_server_));
  }

  const Machine& machine_;
  Clients clients_;
  Endpoint first_server_;
  std::int64_t servers_;
  std::int64_t first_channel_;
};

}  // namespace steptime
