// Parameter servers: clients push pieces of buckets, servers add up what all of them push or apply
// each push when it comes, and give values back. When bytes are there a Wire says; what a value is,
// if anything is learnt, a Store.
//
// A server is one thread, which takes requests in the order in which they arrive, or what waits
// from a heap. Answers to pushes and requests to pull carry no bytes; on ordered connections they
// do not overtake what does.
#pragma once
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"
#include "sim/servers/ordered_connections.h"
#include "sim/servers/pieces.h"
#include "sim/servers/request_queue.h"
#include "sim/servers/server_costs.h"
#include "sim/servers/wire.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// Hears how a client's exchanges go.
class Client {
 public:
  virtual ~Client() = default;
  /// It has a bucket's values at `end`; or where only a push was asked for, all servers have
  /// answered it. That may lie ahead.
  virtual void came(std::int32_t bucket, When end) = 0;
  /// Whether the staleness of what it pushes now is to be told.
  virtual bool counts() const { return true; }
  /// The servers have all of a push at `in`, which may lie ahead.
  virtual void push_is_in(std::int32_t /*bucket*/, When /*in*/) {}
};

/// Calls a function with the end of each of its exchanges.
class OnEnd final : public Client {
 public:
  using Ended = std::function<void(std::int32_t bucket, When end)>;
  explicit OnEnd(Ended ended) : ended_(std::move(ended)) {}
  void came(std::int32_t bucket, When end) override { ended_(bucket, end); }

 private:
  Ended ended_;
};

/// The values that servers hold, where something is learnt. Ranges are those of pieces.
class Store {
 public:
  virtual ~Store() = default;
  virtual void apply_all(const Piece& piece) = 0;
  virtual void apply(std::int32_t client, const Piece& piece) = 0;
  virtual void pull(std::int32_t client, const Piece& piece) = 0;
};

/// Draws what servers do; only where somebody looks.
class ServerDrawing {
 public:
  virtual ~ServerDrawing() = default;
  virtual void served(std::int32_t server, const char* what, std::int32_t client,
                      std::int32_t bucket, Time start, Time end) = 0;
  virtual void pushed(const Exchanged& of, Time in) = 0;
  virtual void pulled(const Exchanged& of, Time in) = 0;
};

class Servers : protected Exchanges {
 public:
  /// What clients and servers agree on.
  struct Terms {
    std::int32_t clients = 0;
    std::int32_t servers = 0;
    ServerCosts costs{};
    std::string name = "server";
    /// Whether nothing overtakes on a connection. Its wire then carries pieces one by one.
    bool ordered = false;
    bool takes_from_heap = false;  ///< a thread takes what waits so, and not in its order
  };
  /// All must outlive the servers. Throws RangeError when there is more than fits in memory.
  Servers(World& world, Wire& wire, const Pieces& pieces, Terms terms);
  ~Servers() override = default;
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;
  void set_store(Store* store) { store_ = store; }
  void set_drawing(ServerDrawing* drawing) { drawing_ = drawing; }

  // Of a client, for a bucket, from now on; each goes on at once, and `who` hears of the end.
  /// Pushes; pulls once all servers have answered; hears when the values are there. ps-lite's ZPush
  /// and ZPull behind it.
  void push_then_pull(std::int32_t client, std::int32_t bucket, Client& who) {
    send_push(client, bucket, who, Then::kPull);
  }
  /// One request: the answer carries the values. MXNet's ZPushPull.
  void pushpull(std::int32_t client, std::int32_t bucket, Client& who) {
    send_push(client, bucket, who, Then::kValues);
  }
  /// Pushes, and asks for the values when a push is in; the request queues behind what the
  /// connection still carries, and a server answers it when the sum is ready.
  void push_and_ask(std::int32_t client, std::int32_t bucket, Client& who);
  /// Pushes, and hears that all servers have answered.
  void push(std::int32_t client, std::int32_t bucket, Client& who) {
    send_push(client, bucket, who, Then::kNothing);
  }
  void pull(std::int32_t client, std::int32_t bucket, Client& who);

  std::int64_t messages() const { return messages_; }
  /// How many updates met a piece changed that many times since their client had pulled it.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }
  /// Of the busiest server's thread.
  Duration most_busy() const;

 protected:
  /// What follows when a push is answered.
  enum class Then : std::uint8_t { kPull, kValues, kAsk, kNothing };
  struct Exchange : Exchanged {
    Then then = Then::kNothing;
    std::int32_t pushing = 0;  ///< pieces that are not at their servers
  };
  /// A piece with its state on the server.
  struct Slot {
    const Piece* piece;
    std::uint32_t bucket;
    std::uint32_t version = 0;  ///< updates so far
    Duration handling{};        ///< what the server's thread takes per push and pull
    Duration updating{};        ///< what it takes when the piece changes
  };
  static Exchange& exchange(Exchanged& of) { return static_cast<Exchange&>(of); }

  /// A push is handled by its server's thread from `in` on.
  virtual void received(Exchange& of, std::uint32_t slot, When in) = 0;
  /// Whether a request for the slot has to wait; answer_request() is then called when it has.
  virtual bool waits(Exchange& of, std::uint32_t slot) = 0;
  /// A server answers a push at `end`.
  void answer(Exchange& of, std::uint32_t slot, When end);
  /// It takes a request for the slot at `when`.
  void answer_request(Exchange& of, std::uint32_t slot, When when);
  When serve(std::uint32_t slot, const char* what, const Exchange& of, When when, Duration work);
  void count_staleness(std::uint32_t staleness, std::int64_t updates);
  std::uint32_t& seen(std::int32_t client, std::uint32_t slot) {
    return seen_[static_cast<std::size_t>(client) * slots_.size() + slot];
  }

  World& world_;
  const Terms terms_;
  Store* store_ = nullptr;
  std::vector<Slot> slots_;

 private:
  Exchange* begin(std::int32_t client, std::int32_t bucket, Client& who, Then then);
  void send_push(std::int32_t client, std::int32_t bucket, Client& who, Then then);
  void pushed(Exchanged& any, std::uint32_t piece, When in) override;
  void pulled(Exchanged& any, std::int32_t server, std::int32_t pieces, When in) override;
  std::int32_t server(std::uint32_t slot) const { return slots_[slot].piece->server; }
  Duration latency(const Exchange& of, std::uint32_t slot);
  void answer_with_values(Exchange& of, std::uint32_t slot, When leaves);
  When answer_in(When sent, Duration latency);
  void ask_for(Exchange& of, When when);
  void answer_asked(Exchange& of, std::uint32_t first_slot, std::uint32_t behind);
  void answer_behind(Exchange& of, std::uint32_t slot, When end);
  void push_answered(Exchange& of, std::uint32_t slot);
  void ask_behind(Exchange& of, std::uint32_t slot);
  /// Whether its pushes have a place on their connection, behind which requests queue.
  bool has_place(const Exchange& of) const { return terms_.ordered || of.then == Then::kAsk; }
  void request_is_in(const Request& request);
  void handle(const Request& request);
  void take_requests(std::int32_t server);
  void asked(Exchange& of, std::uint32_t slot);
  When serve_pull(Exchange& of, std::uint32_t slot, When when, bool is_request);
  void end(Exchange& of, When when);

  Wire& wire_;
  const Pieces& pieces_;
  bool works_;  ///< requests keep threads busy
  std::optional<Duration> common_latency_;
  Reason request_;  ///< why a message without bytes takes time
  Reason thread_;
  ServerDrawing* drawing_ = nullptr;
  std::vector<Fifo> threads_;
  std::vector<std::uint32_t> first_slot_;  ///< where each bucket begins, and the end
  std::vector<std::uint32_t> seen_;  ///< version that a client pulled last, per client and slot
  std::deque<Exchange> exchanges_;   ///< under way, or free
  std::vector<Exchange*> free_;
  struct LastAnswer {
    When sent{};
    When in{};
  } last_answer_;                     ///< to a push
  std::vector<When> leave_;           ///< scratch
  OrderedConnections to_servers_;     ///< only where requests queue behind pushes
  OrderedConnections to_clients_;     ///< only where answers do behind values
  std::vector<RequestQueue> queues_;  ///< where servers take requests from a heap
  std::int64_t messages_ = 0;
  std::vector<std::int64_t> staleness_;
};

/// Change the parameters when all clients have pushed, and answer then.
class SynchronousServers : public Servers {
 public:
  SynchronousServers(World& world, Wire& wire, const Pieces& pieces, Terms terms);

 protected:
  /// What all clients have pushed of a slot is added up at `end`.
  virtual void added_up(std::uint32_t slot, When end) { answer_all(slot, end); }
  /// Answers all clients' pushes of a slot at `end`.
  void answer_all(std::uint32_t slot, When end);

 private:
  /// Of a piece, up to its sum.
  struct Round {
    std::int32_t pushed = 0;          ///< pushes that are in
    Held latest{};                    ///< the push that came last, which need not be told of last
    std::vector<Exchange*> askers{};  ///< for the sum, before it is ready
  };
  Exchange*& under_way(std::uint32_t bucket, std::int32_t client) {
    return under_way_[static_cast<std::size_t>(bucket) * static_cast<std::size_t>(terms_.clients) +
                      static_cast<std::size_t>(client)];
  }
  void received(Exchange& of, std::uint32_t slot, When in) override;
  bool waits(Exchange& of, std::uint32_t slot) override;

  std::vector<Round> rounds_;         ///< one for every slot
  std::vector<Exchange*> under_way_;  ///< by bucket and client
};

std::unique_ptr<Servers> synchronous_servers(World& world, Wire& wire, const Pieces& pieces,
                                             Servers::Terms terms);
/// Change them with each push.
std::unique_ptr<Servers> asynchronous_servers(World& world, Wire& wire, const Pieces& pieces,
                                              Servers::Terms terms);

}  // namespace steptime
