// The carrier of a training run, and one whose pushes and pulls go through a channel before and
// after the wire.
#pragma once
#include "sim/servers/carrier.h"
#include "sim/servers/channel.h"
#include "sim/servers/training.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace steptime {

/// Ports or messages, as the plan plays them, and its transport's channel where that does anything.
/// All must outlive the carrier. Throws InputError.
std::unique_ptr<Carrier> make_carrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user);

class ChannelCarrier final : public Carrier, private CarrierUser {
 public:
  /// `make_wire` makes the carrier below, which tells its user of every part by itself. Messages
  /// with the servers before `first_server` do not take the channel.
  ChannelCarrier(Engine& engine, std::unique_ptr<ChannelEnds> ends, std::int32_t first_server,
                 CarrierUser& user,
                 const std::function<std::unique_ptr<Carrier>(CarrierUser&)>& make_wire)
      : engine_(engine),
        ends_(std::move(ends)),
        first_server_(first_server),
        user_(user),
        wire_(make_wire(*this)) {}

  void push(std::span<const Parcel> parts) override;
  void answer(std::span<const Timed> parts) override;
  Duration latency(std::int32_t client, std::int32_t server) override {
    return wire_->latency(client, server);
  }
  std::optional<Duration> common_latency() const override { return wire_->common_latency(); }
  std::vector<LinkUse> links(double seconds, double steps) const override {
    return wire_->links(seconds, steps);
  }
  void expect_over() const override { wire_->expect_over(); }
  void all_reduce(std::int32_t client, std::uint32_t message, Bytes bytes, When start,
                  Duration longer) override {
    wire_->all_reduce(client, message, bytes, start, longer);
  }
  void broadcast(std::int32_t client, std::size_t bucket, When start) override {
    wire_->broadcast(client, bucket, start);
  }

 private:
  void pushed(std::span<const Timed> parts) override;
  void pulled(std::int32_t client, std::size_t bucket, std::int32_t parts, When in) override {
    user_.pulled(client, bucket, parts, in);
  }
  void part_pulled(const Timed& timed) override;
  void reduced(std::int32_t client, std::uint32_t message) override {
    user_.reduced(client, message);
  }
  void broadcasted(std::int32_t client, std::size_t bucket, When end) override {
    user_.broadcasted(client, bucket, end);
  }
  bool takes(const Parcel& part) const { return part.server >= first_server_; }
  void send(const Parcel& part);
  /// Calls `then` at `when`, which may be now.
  template <class Then>
  void at(When when, Then then) {
    if (when.time <= engine_.now()) return then();
    engine_.at(when, Phase::kNormal, then);
  }

  Engine& engine_;
  std::unique_ptr<ChannelEnds> ends_;
  std::int32_t first_server_;
  CarrierUser& user_;
  std::unique_ptr<Carrier> wire_;
};

}  // namespace steptime
