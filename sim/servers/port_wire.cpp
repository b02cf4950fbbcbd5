#include "sim/servers/port_wire.h"

#include <algorithm>
#include <utility>

namespace steptime {

PortWire::PortWire(World& world, NodePorts& ports, PortEnds ends, const Pieces& pieces)
    : world_(world),
      ports_(ports),
      ends_(std::move(ends)),
      pieces_(pieces),
      ways_(ends_.all_between_nodes ? 1 : kWays),
      places_(ends_.clients.size() * pieces.size() * ways_, kNone) {
  for (const auto& of_bucket : pieces) {
    for (const Piece& piece : of_bucket)
      transfers_.push_back(ports_.transfer(Way::kNetwork, piece.bytes));
  }
}

std::optional<Duration> PortWire::common_latency() const {
  if (!ends_.all_between_nodes) return std::nullopt;
  return ports_.latency(Way::kNetwork);
}

void PortWire::push(Exchanged& of) {
  const PortEnd from = client_end(of);
  std::array<std::int32_t, kWays> count{};
  std::array<Duration, kWays> transfers{};
  for (std::size_t i = 0; i < pieces(of).size(); ++i) {
    const Way way = NodePorts::way(from, server_end(pieces(of)[i]));
    ++count[static_cast<std::size_t>(way)];
    transfers[static_cast<std::size_t>(way)] += transfer(way, of, i);
  }
  for (std::size_t w = 0; w < kWays; ++w) {
    if (count[w] == 0) continue;
    const auto way = static_cast<Way>(w);
    const auto passage = ports_.leave(way, from, transfers[w], world_.present());
    world_.engine.at(ports_.head(way, passage), Phase::kNormal,
                     [this, of = &of, way, tail = passage.tail] { enter_servers(*of, way, tail); });
  }
}

/// Pieces of one way are told of together: an exchange is not over before the last of them.
void PortWire::enter_servers(Exchanged& of, Way way, Time tail) {
  const auto& pieces = this->pieces(of);
  const PortEnd from = client_end(of);
  const auto arrival = ports_.arriving(way, tail);
  std::array<When, 64> few;
  std::vector<When> many;
  if (pieces.size() > few.size()) many.resize(pieces.size());
  const std::span<When> in = pieces.size() > few.size() ? std::span(many) : std::span(few);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PortEnd to = server_end(pieces[i]);
    if (NodePorts::way(from, to) == way)
      in[i] = ports_.enter(way, to, transfer(way, of, i), arrival);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (NodePorts::way(from, server_end(pieces[i])) == way)
      of.owner->pushed(of, static_cast<std::uint32_t>(i), in[i]);
  }
}

void PortWire::answer(Exchanged& of, std::uint32_t first, std::span<const When> leave) {
  const bool looks_ahead = ends_.all_between_nodes;
  for (std::size_t i = 0; i < leave.size(); ++i) {
    if (looks_ahead || leave[i].time <= world_.now()) {
      leave_server(of, first + i, leave[i]);
    } else {  // others use the port until then
      world_.engine.at(leave[i], Phase::kNormal, [this, of = &of, piece = first + i] {
        leave_server(*of, piece, world_.present());
        have_left(*of);
      });
    }
  }
  have_left(of);
}

/// Takes the server's port.
void PortWire::leave_server(Exchanged& of, std::size_t piece, When at) {
  const PortEnd from = server_end(pieces(of)[piece]);
  const Way way = NodePorts::way(from, client_end(of));
  const Duration transfer = this->transfer(way, of, piece);
  const auto passage = ports_.leave(way, from, transfer, at);
  Leaving& leaving = leaving_[static_cast<std::size_t>(way)];
  ++leaving.pieces;
  leaving.transfer += transfer;
  if (passage.head < leaving.first.head) leaving.first = passage;
  if (passage.tail > leaving.last.tail) leaving.last = passage;
}

/// Of what has left together. With the last piece of a bucket, looks ahead to the client's port.
void PortWire::have_left(Exchanged& of) {
  const std::span<std::uint32_t> ways = places(of);
  auto missing = static_cast<std::int32_t>(pieces(of).size());
  for (std::size_t w = 0; w < ways_; ++w) {
    if (leaving_[w].pieces > 0) add(incoming(of, w), std::exchange(leaving_[w], {}));
    if (ways[w] != kNone) missing -= incoming_[ways[w]].pieces;
  }
  for (std::uint32_t& way : ways) {
    if (way == kNone) continue;
    Incoming& in = incoming_[way];
    const bool lies_ahead = in.head.time > world_.now();
    if ((missing > 0 || !lies_ahead) && !std::exchange(in.holds_head, true))
      world_.engine.hold(in.head);
    if (missing > 0) continue;
    world_.engine.at(lies_ahead ? in.head : world_.present(), Phase::kNormal,
                     [this, place = std::exchange(way, kNone)] { enter_client(place); });
  }
}

PortWire::Incoming& PortWire::incoming(Exchanged& of, std::size_t way) {
  std::uint32_t& place = places(of)[way];
  if (place != kNone) return incoming_[place];
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(incoming_.size()));
    incoming_.emplace_back();
  }
  place = free_.back();
  free_.pop_back();
  return incoming_[place] = {.of = &of, .way = static_cast<Way>(way)};
}

/// Of pieces that left together only the first and the last may lead to anything.
void PortWire::add(Incoming& in, const Leaving& leaving) {
  in.pieces += leaving.pieces;
  in.transfer += leaving.transfer;
  if (leaving.first.head < in.head.time) {
    if (std::exchange(in.holds_head, false)) world_.engine.release({in.head});
    in.head = ports_.head(in.way, leaving.first);
  }
  // What led to it is not held: before its time has passed, the last piece has left, or a later
  // one.
  if (leaving.last.tail > in.tail.time) in.tail = ports_.arrival(in.way, leaving.last).tail;
}

void PortWire::enter_client(std::uint32_t place) {
  const Incoming in = incoming_[place];
  free_.push_back(place);
  if (in.holds_head) world_.engine.release({in.head});
  const When end = ports_.enter(in.way, client_end(*in.of), in.transfer, {in.head, in.tail});
  in.of->owner->pulled(*in.of, Exchanges::kServers, in.pieces, later(world_.present(), end));
}

}  // namespace steptime
