// Connections between clients and servers, each of which delivers in order: a request to pull
// arrives behind the pushes that were sent before it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steptime {

class Connections {
 public:
  Connections(std::size_t clients, std::size_t servers)
      : servers_(servers), lines_(clients * servers) {}

  /// A push leaves.
  void push(std::int32_t client, std::int32_t server) { ++line(client, server).sent; }

  /// Whether a request that leaves now has pushes before it. It is then one of those that
  /// `deliver` returns.
  bool holds(std::int32_t client, std::int32_t server, std::uint32_t request) {
    Line& l = line(client, server);
    if (l.in == l.sent) return false;
    l.requests.push_back({request, l.sent});
    return true;
  }

  /// A push is in; returns the requests right behind it, in the order in which they were sent.
  std::vector<std::uint32_t> deliver(std::int32_t client, std::int32_t server) {
    Line& l = line(client, server);
    ++l.in;
    const auto later = std::find_if(l.requests.begin(), l.requests.end(),
                                    [&](const Request& r) { return r.after > l.in; });
    std::vector<std::uint32_t> in;
    for (auto r = l.requests.begin(); r != later; ++r)
      in.push_back(r->id);
    l.requests.erase(l.requests.begin(), later);
    return in;
  }

 private:
  struct Request {
    std::uint32_t id;
    std::int64_t after;  ///< how many pushes go before it
  };
  struct Line {
    std::int64_t sent = 0;  ///< pushes so far
    std::int64_t in = 0;    ///< of these at the server
    std::vector<Request> requests{};
  };
  Line& line(std::int32_t client, std::int32_t server) {
    return lines_[static_cast<std::size_t>(client) * servers_ + static_cast<std::size_t>(server)];
  }

  std::size_t servers_;
  std::vector<Line> lines_;
};

}  // namespace steptime
