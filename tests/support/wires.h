// Routes written down by hand.
#pragma once
#include "sim/network/network.h"

#include <map>
#include <utility>
#include <vector>

namespace steptime {

class Wires final : public Routes {
 public:
  Wires(Endpoint endpoints, std::vector<Channel> channels)
      : endpoints_(endpoints), channels_(std::move(channels)) {}
  void set(Endpoint from, Endpoint to, std::vector<ChannelId> path) {
    paths_[{from, to}] = std::move(path);
  }
  std::vector<Channel> channels() const override { return channels_; }
  Endpoint endpoints() const override { return endpoints_; }
  void route(Endpoint from, Endpoint to, std::vector<ChannelId>& path) const override {
    const auto found = paths_.find({from, to});
    if (found != paths_.end()) path.insert(path.end(), found->second.begin(), found->second.end());
  }

 private:
  Endpoint endpoints_;
  std::vector<Channel> channels_;
  std::map<std::pair<Endpoint, Endpoint>, std::vector<ChannelId>> paths_;
};

/// Notes what is delivered, and when.
class Mailbox final : public MessageSink {
 public:
  explicit Mailbox(Network& network) : network_(network) {}
  void send(Endpoint from, Endpoint to, std::int64_t size, std::int32_t name = 0) {
    network_.send({this, from, to, size, name, 0});
  }
  /// Sends at a later time; messages that are sent so are named by their number, from 0.
  void send_at(Time time, Endpoint from, Endpoint to, std::int64_t size) {
    const Message message{this, from, to, size, planned_++, 0};
    network_.engine().at(time, Phase::kNormal,
                         [network = &network_, message] { network->send(message); });
  }
  void delivered(const Message& message) override {
    at[message.sender] = since_start(network_.now()).count();
    bytes += message.bytes;
  }

  std::map<std::int32_t, std::int64_t> at;  ///< ps, by name
  std::int64_t bytes = 0;

 private:
  Network& network_;
  std::int32_t planned_ = 0;
};

}  // namespace steptime
