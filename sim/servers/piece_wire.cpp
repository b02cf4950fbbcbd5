#include "sim/servers/piece_wire.h"

#include <utility>

namespace steptime {
namespace {

/// Where it comes from and goes to.
template <class Ends>
auto ends_of(const SentPiece& sent, const Pieces& pieces, const Ends& ends) {
  const auto client = ends.clients[static_cast<std::size_t>(sent.of->client)];
  const auto server = ends.servers[static_cast<std::size_t>(piece_of(sent, pieces).server)];
  return sent.is_push ? std::pair(client, server) : std::pair(server, client);
}

}  // namespace

Parcel PieceWire::parcel(const SentPiece& sent) const {
  const Piece& piece = piece_of(sent, pieces_);
  return {.client = sent.of->client,
          .server = piece.server,
          .slot = sent.of->first_slot + sent.piece,
          .bucket = static_cast<std::uint32_t>(sent.of->bucket),
          .bytes = piece.bytes,
          .is_push = sent.is_push};
}

void PieceWire::push(Exchanged& of) {
  const std::size_t count = pieces_[static_cast<std::size_t>(of.bucket)].size();
  const std::size_t first =
      begins_ == Begins::kInOrder ? 0 : static_cast<std::size_t>(of.client) % count;
  for (std::size_t i = 0; i < count; ++i)
    send({&of, static_cast<std::uint32_t>((first + i) % count), true}, 0);
}

void PieceWire::answer(Exchanged& of, std::uint32_t first, std::span<const When> leave) {
  for (std::size_t i = 0; i < leave.size(); ++i) {
    const SentPiece sent{&of, first + static_cast<std::uint32_t>(i), false};
    if (leave[i].time <= world_.now())
      send(sent, 0);
    else
      world_.engine.at(leave[i], Phase::kNormal, [this, sent] { send(sent, 0); });
  }
}

void PieceWire::send(const SentPiece& sent, std::size_t passed) {
  if (passed == ends_.size()) return line_->carry(sent, *this);
  const When leaves = ends_[passed]->send(parcel(sent));
  if (leaves.time <= world_.now()) return send(sent, passed + 1);
  world_.engine.at(leaves, Phase::kNormal, [this, sent, passed] { send(sent, passed + 1); });
}

void PieceWire::receive(const SentPiece& sent, std::size_t left, When in) {
  Exchanged& of = *sent.of;
  if (left == 0) {
    if (sent.is_push) return of.owner->pushed(of, sent.piece, in);
    return of.owner->pulled(of, piece_of(sent, pieces_).server, 1, in);
  }
  const auto take = [this, sent, left] {
    receive(sent, left - 1, ends_[left - 1]->receive(parcel(sent)));
  };
  if (in.time <= world_.now()) return take();
  world_.engine.at(in, Phase::kNormal, take);
}

void PortLine::carry(const SentPiece& sent, PieceLineUser& user) {
  const auto [from, to] = ends_of(sent, pieces_, ends_);
  const Way way = NodePorts::way(from, to);
  const auto passage = ports_.leave(way, from, transfer(way, sent), world_.present());
  world_.engine.at(ports_.head(way, passage), Phase::kNormal,
                   [this, sent, user = &user, tail = passage.tail] { enter(sent, tail, *user); });
}

void PortLine::enter(const SentPiece& sent, Time tail, PieceLineUser& user) {
  const auto [from, to] = ends_of(sent, pieces_, ends_);
  const Way way = NodePorts::way(from, to);
  user.came(sent, ports_.enter(way, to, transfer(way, sent), ports_.arriving(way, tail)));
}

MessageLine::MessageLine(World& world, MessageLinks& links, Ends ends, const Pieces& pieces)
    : world_(world),
      links_(links),
      pieces_(pieces),
      ends_(std::move(ends)),
      latency_(world.engine.reason("latency of a push or pull", "messages on links")),
      transfer_(world.engine.reason("push or pull", "messages on links")),
      sharing_(world.engine.reason("push or pull waits or shares", "messages on links")) {}

Duration MessageLine::latency(std::int32_t client, std::int32_t server) {
  path_.clear();
  links_.machine.route(ends_.clients[static_cast<std::size_t>(client)],
                       ends_.servers[static_cast<std::size_t>(server)], path_);
  Duration sum = links_.overhead;
  for (const ChannelId channel : path_)
    sum += links_.channels[channel].latency;
  return sum;
}

/// The GPU whose thread a message takes, or another end where it takes none.
Endpoint MessageLine::copying(const SentPiece& sent) const {
  const auto [from, to] = ends_of(sent, pieces_, ends_);
  return threads_->has(from) ? from : to;
}

void MessageLine::carry(const SentPiece& sent, PieceLineUser& user) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(under_way_.size()));
    under_way_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  under_way_[place] = {sent, &user};
  if (threads_ != nullptr && !threads_->take(copying(sent), rank_(sent), place)) return;
  transmit(place);
}

void MessageLine::transmit(std::uint32_t place) {
  UnderWay& goes = under_way_[place];
  goes.begun = world_.engine.hold(world_.present());
  const auto [from, to] = ends_of(goes.sent, pieces_, ends_);
  links_.network.send({.sink = this,
                       .from = from,
                       .to = to,
                       .bytes = piece_of(goes.sent, pieces_).bytes.count,
                       .sender = static_cast<std::int32_t>(place)});
}

void MessageLine::delivered(const Message& message) {
  const auto place = static_cast<std::uint32_t>(message.sender);
  const UnderWay over = under_way_[place];
  free_.push_back(place);
  Engine& engine = world_.engine;
  if (engine.keeps_causes()) {  // what it takes on idle links, and what others on them make of it
    const Network::Alone alone = links_.network.alone();
    engine.because(
        engine.until(engine.release(over.begun), engine.now(),
                     Stretches{{latency_, alone.latency}, {transfer_, alone.transfer}, sharing_}));
  }
  if (threads_ != nullptr) {
    if (const auto next = threads_->give_back(copying(over.sent))) transmit(*next);
  }
  engine.at(engine.now(), Phase::kNormal,
            [this, sent = over.sent, user = over.user] { user->came(sent, world_.present()); });
}

}  // namespace steptime
