// Pushes and pulls piece by piece: through the ends of what lies before the line and behind it, a
// channel or a host's thread, and over the line, which is ports or links.
#pragma once
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/runtime/world.h"
#include "sim/servers/channel.h"
#include "sim/servers/copy_threads.h"
#include "sim/servers/node_ports.h"
#include "sim/servers/pieces.h"
#include "sim/servers/port_wire.h"
#include "sim/servers/wire.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace steptime {

/// A piece on its way to its server, or back.
struct SentPiece {
  Exchanged* of = nullptr;
  std::uint32_t piece = 0;
  bool is_push = false;
};

inline const Piece& piece_of(const SentPiece& sent, const Pieces& pieces) {
  return pieces[static_cast<std::size_t>(sent.of->bucket)][sent.piece];
}

/// Hears of pieces that are through, at times that may lie ahead.
class PieceLineUser {
 public:
  virtual ~PieceLineUser() = default;
  virtual void came(const SentPiece& sent, When in) = 0;
};

/// What carries pieces one by one.
class PieceLine {
 public:
  virtual ~PieceLine() = default;
  /// From now on.
  virtual void carry(const SentPiece& sent, PieceLineUser& user) = 0;
  virtual Duration latency(std::int32_t client, std::int32_t server) = 0;
};

class PieceWire final : public Wire, private PieceLineUser {
 public:
  using Ends = std::vector<std::unique_ptr<ChannelEnds>>;
  /// The server that a client sends its first piece of a bucket to.
  enum class Begins {
    kWithAnother,  ///< than the client before it, as where a thread for each server sends
    kInOrder       ///< the first one, as ps-lite's workers do (kv_app.h, Send)
  };
  /// `ends`: what is sent goes through the first of them first, what is received last. `world` and
  /// `pieces` must outlive the wire.
  PieceWire(World& world, std::unique_ptr<PieceLine> line, Ends ends, const Pieces& pieces,
            Begins begins = Begins::kWithAnother)
      : world_(world),
        line_(std::move(line)),
        ends_(std::move(ends)),
        pieces_(pieces),
        begins_(begins) {}
  PieceLine& line() { return *line_; }

  void push(Exchanged& of) override;
  void answer(Exchanged& of, std::uint32_t first, std::span<const When> leave) override;
  Duration latency(std::int32_t client, std::int32_t server) override {
    return line_->latency(client, server);
  }

 private:
  Parcel parcel(const SentPiece& sent) const;
  /// It has passed so many of the ends; or so many are left.
  void send(const SentPiece& sent, std::size_t passed);
  void receive(const SentPiece& sent, std::size_t left, When in);
  void came(const SentPiece& sent, When in) override { receive(sent, ends_.size(), in); }

  World& world_;
  std::unique_ptr<PieceLine> line_;
  Ends ends_;
  const Pieces& pieces_;
  Begins begins_;
};

/// Ports at analytic fidelity, which pieces take one after another.
class PortLine final : public PieceLine {
 public:
  PortLine(World& world, NodePorts& ports, PortEnds ends, const Pieces& pieces)
      : world_(world), ports_(ports), ends_(std::move(ends)), pieces_(pieces) {}
  void carry(const SentPiece& sent, PieceLineUser& user) override;
  Duration latency(std::int32_t client, std::int32_t server) override {
    return ports_.latency(ends_.way(client, server));
  }

 private:
  Duration transfer(Way way, const SentPiece& sent) const {
    return ports_.transfer(way, piece_of(sent, pieces_).bytes);
  }
  void enter(const SentPiece& sent, Time tail, PieceLineUser& user);

  World& world_;
  NodePorts& ports_;
  PortEnds ends_;
  const Pieces& pieces_;
};

/// The links that messages of a run share.
struct MessageLinks {
  /// `links` and `between` must outlive the result. `empty`: what a message without bytes takes
  /// besides its links' latencies.
  MessageLinks(Network& links, const Machine& between, Duration empty)
      : network(links), machine(between), channels(between.channels()), overhead(empty) {}
  Network& network;
  const Machine& machine;
  std::vector<Channel> channels;
  Duration overhead;
};

/// Messages on links, which share these with all else on the network. What a client and a host
/// exchange goes one after another, as on a connection.
class MessageLine final : public PieceLine, private MessageSink {
 public:
  struct Ends {
    std::vector<Endpoint> clients;
    std::vector<Endpoint> servers;
  };
  /// All but the ends must outlive the line.
  MessageLine(World& world, MessageLinks& links, Ends ends, const Pieces& pieces);
  /// The one with the lowest rank goes first of what waits for a GPU's threads.
  using Rank = std::function<std::int64_t(const SentPiece&)>;
  /// Messages from a GPU, and from a host to one, take a thread of it. `threads` must outlive the
  /// line.
  void set_copy_threads(CopyThreads& threads, Rank rank) {
    threads_ = &threads;
    rank_ = std::move(rank);
  }
  void carry(const SentPiece& sent, PieceLineUser& user) override;
  Duration latency(std::int32_t client, std::int32_t server) override;

 private:
  struct UnderWay {
    SentPiece sent;
    PieceLineUser* user = nullptr;
    Held begun{};
  };
  void delivered(const Message& message) override;
  Endpoint copying(const SentPiece& sent) const;
  void transmit(std::uint32_t place);

  World& world_;
  MessageLinks& links_;
  const Pieces& pieces_;
  Ends ends_;
  Reason latency_;
  Reason transfer_;
  Reason sharing_;
  CopyThreads* threads_ = nullptr;
  Rank rank_;
  std::vector<UnderWay> under_way_;  ///< or waiting for a thread
  std::vector<std::uint32_t> free_;
  std::vector<ChannelId> path_;
};

}  // namespace steptime
