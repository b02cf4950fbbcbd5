#include "sim/training/servers_of_hosts.h"

#include "sim/events/rank_timeline.h"

#include <functional>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// The threads through which hosts send to servers and receive from them, one each.
class HostThreads final : public ChannelEnds {
 public:
  using Draw = std::function<void(const Parcel&, const Fifo::Served&)>;
  HostThreads(Engine& engine, std::int64_t hosts, Bandwidth rate, Draw draw)
      : engine_(engine),
        rate_(rate),
        reason_(engine.reason("requests and updates", "host thread")),
        draw_(std::move(draw)),
        threads_(static_cast<std::size_t>(hosts)) {}
  When send(const Parcel& message) override {
    return message.is_push ? handled(message) : engine_.present();
  }
  When receive(const Parcel& message) override {
    return message.is_push ? engine_.present() : handled(message);
  }

 private:
  When handled(const Parcel& message) {
    const Duration work =
        from_seconds(static_cast<double>(message.bytes.count) / rate_.bytes_per_second);
    Fifo& thread = threads_[static_cast<std::size_t>(message.client)];
    const Fifo::Served served = thread.reserve(engine_, engine_.present(), work, reason_);
    if (draw_) draw_(message, served);
    return served.end;
  }

  Engine& engine_;
  Bandwidth rate_;
  Reason reason_;
  Draw draw_;
  std::vector<Fifo> threads_;
};

}  // namespace

/// The servers, and what hosts exchange with them.
class ServersOfHosts::Drawing final : public ServerDrawing {
 public:
  Drawing(const TrainingPlan& plan, Timeline* timeline, std::vector<std::string> names)
      : names_(std::move(names)),
        hosts_(actors(timeline, "host", plan.cluster.nodes)),
        servers_(actors(timeline, "server", plan.aggregation.beyond->servers.count)) {}

  void served(std::int32_t server, const char* what, std::int32_t, std::int32_t bucket, Time start,
              Time end) override {
    servers_[static_cast<std::size_t>(server)].add(
        "thread", fmt::format("{} {}", what, name(bucket)), start, end);
  }
  void pushed(const Exchanged& of, Time in) override {
    add(of.client, "push", of.bucket, of.push_sent, in);
  }
  void pulled(const Exchanged& of, Time in) override {
    add(of.client, "pull", of.bucket, of.pull_sent, in);
  }
  void add(std::int32_t host, const char* lane, std::int32_t bucket, Time start, Time end) {
    hosts_[static_cast<std::size_t>(host)].add(lane, name(bucket), start, end, {.bucket = bucket});
  }
  void handled(const Parcel& message, const Fifo::Served& served) {
    const auto bucket = static_cast<std::int32_t>(message.bucket);
    hosts_[static_cast<std::size_t>(message.client)].add(
        "thread", fmt::format("{} {}", message.is_push ? "send" : "receive", name(bucket)),
        served.start.time, served.end.time);
  }

 private:
  const std::string& name(std::int32_t bucket) const {
    return names_[static_cast<std::size_t>(bucket)];
  }
  std::vector<std::string> names_;
  std::vector<RankTimeline> hosts_;
  std::vector<RankTimeline> servers_;
};

ServersOfHosts::ServersOfHosts(World& world, const TrainingPlan& plan, Roads& roads,
                               Timeline* timeline, std::vector<std::string> names) {
  const ServersBeyond& beyond = *plan.aggregation.beyond;
  if (timeline != nullptr) drawing_ = std::make_unique<Drawing>(plan, timeline, std::move(names));
  PieceWire::Ends ends;
  if (beyond.client_rate) {
    HostThreads::Draw draw;
    if (drawing_ != nullptr) {
      draw = [this](const Parcel& message, const Fifo::Served& served) {
        drawing_->handled(message, served);
      };
    }
    ends.push_back(std::make_unique<HostThreads>(world.engine, plan.cluster.nodes,
                                                 *beyond.client_rate, std::move(draw)));
  }
  if (auto channel = roads.channel()) ends.push_back(std::move(channel));
  wire_ = std::make_unique<PieceWire>(world, roads.line_beyond(), std::move(ends),
                                      plan.pieces_beyond, PieceWire::Begins::kInOrder);
  servers_ = servers_for(plan)(world, *wire_, plan.pieces_beyond,
                               {.clients = static_cast<std::int32_t>(plan.cluster.nodes),
                                .servers = static_cast<std::int32_t>(beyond.servers.count),
                                .costs = beyond.servers.costs(),
                                .ordered = plan.transport->channel->is_ordered(),
                                .takes_from_heap = beyond.servers.takes_from_heap});
  servers_->set_drawing(drawing_.get());
}

ServersOfHosts::~ServersOfHosts() = default;

void ServersOfHosts::draw(std::int32_t host, const char* lane, std::int32_t bucket, Time start,
                          Time end) {
  if (drawing_ != nullptr) drawing_->add(host, lane, bucket, start, end);
}

}  // namespace steptime
