// One way of the connections between clients and servers where nothing overtakes, as frames of a
// socket do not: a message without bytes is there when all that was sent before it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steptime {

struct Exchanged;

class OrderedConnections {
 public:
  /// A message without bytes: an answer to a push, or a request to pull.
  struct Frame {
    Exchanged* of = nullptr;
    std::uint32_t slot = 0;
    std::int64_t after = 0;  ///< how many messages with bytes go before it
  };

  void open(std::int32_t clients, std::int32_t servers) {
    servers_ = static_cast<std::size_t>(servers);
    if (lines_.empty()) lines_.resize(static_cast<std::size_t>(clients) * servers_);
  }
  bool is_open() const { return !lines_.empty(); }

  /// A message with bytes is queued.
  void send(std::int32_t client, std::int32_t server) { ++line(client, server).sent; }
  /// As many were queued so far.
  std::int64_t sent(std::int32_t client, std::int32_t server) const {
    return is_open() ? lines_[place(client, server)].sent : 0;
  }
  /// Whether a frame, whose own way is over, is there; else came() tells when.
  bool is_there(std::int32_t client, std::int32_t server, const Frame& frame) {
    if (!is_open()) return true;
    Line& line = this->line(client, server);
    if (line.in < frame.after) line.waiting.push_back(frame);
    return line.in >= frame.after;
  }
  /// The next message with bytes is there, and calls `there` with each frame that waited for it.
  template <class There>
  void came(std::int32_t client, std::int32_t server, There there) {
    Line& line = this->line(client, server);
    ++line.in;
    while (!line.waiting.empty() && line.waiting.front().after <= line.in) {
      const Frame frame = line.waiting.front();
      line.waiting.erase(line.waiting.begin());
      there(frame);
    }
  }

 private:
  struct Line {
    std::int64_t sent = 0;
    std::int64_t in = 0;
    std::vector<Frame> waiting{};
  };
  std::size_t place(std::int32_t client, std::int32_t server) const {
    return static_cast<std::size_t>(client) * servers_ + static_cast<std::size_t>(server);
  }
  Line& line(std::int32_t client, std::int32_t server) { return lines_[place(client, server)]; }

  std::size_t servers_ = 0;
  std::vector<Line> lines_;  ///< by client and server
};

}  // namespace steptime
