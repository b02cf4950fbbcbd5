#include "sim/servers/servers.h"

#include "sim/core/error.h"
#include "sim/core/limits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {

Servers::Servers(World& world, Wire& wire, const Pieces& pieces, Terms terms)
    : world_(world),
      terms_(std::move(terms)),
      wire_(wire),
      pieces_(pieces),
      works_(terms_.costs.any()),
      common_latency_(wire.common_latency()),
      request_(world.engine.reason("latency of requests and answers", "network")),
      thread_(world.engine.reason("requests and updates", terms_.name + " thread")),
      threads_(static_cast<std::size_t>(terms_.servers)) {
  const ServerCosts& costs = terms_.costs;
  for (std::size_t b = 0; b < pieces.size(); ++b) {
    first_slot_.push_back(static_cast<std::uint32_t>(slots_.size()));
    for (const Piece& piece : pieces[b]) {
      slots_.push_back({.piece = &piece,
                        .bucket = static_cast<std::uint32_t>(b),
                        .handling = costs.handling(piece.bytes),
                        .updating = costs.updating(piece.bytes)});
    }
  }
  first_slot_.push_back(static_cast<std::uint32_t>(slots_.size()));
  const auto clients = static_cast<std::size_t>(terms_.clients);
  constexpr std::size_t kOfConnection = 20;  // as large as so many numbers
  const std::size_t connections = terms_.ordered ? kOfConnection * threads_.size() : 0;
  if (static_cast<double>(clients) *
          static_cast<double>(slots_.size() + pieces.size() + connections) >
      kMostStates) {
    throw RangeError(fmt::format("{} clients with {} messages each are more than fit in memory",
                                 clients, slots_.size()));
  }
  seen_.resize(clients * slots_.size());
  if (terms_.takes_from_heap) queues_.resize(threads_.size());
  if (!terms_.ordered) return;
  to_servers_.open(terms_.clients, terms_.servers);
  to_clients_.open(terms_.clients, terms_.servers);
}

/// Null where the bucket has no piece: the client is told.
Servers::Exchange* Servers::begin(std::int32_t client, std::int32_t bucket, Client& who,
                                  Then then) {
  const auto b = static_cast<std::size_t>(bucket);
  if (pieces_[b].empty()) {
    who.came(bucket, world_.present());
    return nullptr;
  }
  if (free_.empty()) free_.push_back(&exchanges_.emplace_back());
  Exchange* const of = free_.back();
  free_.pop_back();
  *of = {{.owner = this,
          .last = world_.present(),
          .client = client,
          .bucket = bucket,
          .first_slot = first_slot_[b],
          .missing = static_cast<std::int32_t>(pieces_[b].size()),
          .asker = &who,
          .push_sent = world_.now(),
          .pull_sent = Time::max()},
         then,
         static_cast<std::int32_t>(pieces_[b].size())};
  return of;
}

void Servers::send_push(std::int32_t client, std::int32_t bucket, Client& who, Then then) {
  Exchange* const of = begin(client, bucket, who, then);
  if (of == nullptr) return who.push_is_in(bucket, world_.present());
  messages_ += of->missing;
  if (has_place(*of)) {
    for (const Piece& piece : pieces_[static_cast<std::size_t>(bucket)])
      to_servers_.send(client, piece.server);
  }
  wire_.push(*of);
}

void Servers::push_and_ask(std::int32_t client, std::int32_t bucket, Client& who) {
  to_servers_.open(terms_.clients, terms_.servers);
  send_push(client, bucket, who, Then::kAsk);
}

void Servers::pull(std::int32_t client, std::int32_t bucket, Client& who) {
  if (Exchange* const of = begin(client, bucket, who, Then::kValues); of != nullptr)
    ask_for(*of, world_.present());
}

void Servers::end(Exchange& of, When when) {
  free_.push_back(&of);
  of.asker->came(of.bucket, when);
}

void Servers::pushed(Exchanged& any, std::uint32_t piece, When in) {
  Exchange& of = exchange(any);
  if (drawing_ != nullptr) drawing_->pushed(of, in.time);
  if (--of.pushing == 0) of.asker->push_is_in(of.bucket, in);
  const std::uint32_t slot = of.first_slot + piece;
  if (has_place(of)) {
    world_.engine.at(in, Phase::kNormal, [this, &of, slot, client = of.client] {
      // BytePS adds up in other threads than it answers in: a request waits for no sum before it.
      const bool first = of.then != Then::kAsk;
      if (first) request_is_in({&of, slot, true});
      to_servers_.came(client, server(slot), [this](const OrderedConnections::Frame& behind) {
        request_is_in({behind.of, behind.slot, false});
      });
      if (!first) request_is_in({&of, slot, true});
    });
    return;
  }
  if (queues_.empty() && (!works_ || in.time <= world_.now())) return received(of, slot, in);
  // What is asked for meanwhile goes before it.
  world_.engine.at(in, Phase::kNormal, [this, &of, slot] { request_is_in({&of, slot, true}); });
}

/// Of a push or a request to pull, now.
void Servers::request_is_in(const Request& request) {
  if (queues_.empty()) return handle(request);
  const std::int32_t server = this->server(request.slot);
  if (queues_[static_cast<std::size_t>(server)].add(request)) take_requests(server);
}

void Servers::handle(const Request& request) {
  Exchange& of = exchange(*request.of);
  if (request.is_push) return received(of, request.slot, world_.present());
  asked(of, request.slot);
}

/// Its thread has taken a request, and takes others when it is through with that.
void Servers::take_requests(std::int32_t server) {
  const auto place = static_cast<std::size_t>(server);
  while (const auto request = queues_[place].next()) {
    handle(*request);
    if (threads_[place].free().time > world_.now()) {
      world_.engine.at(threads_[place].free(), Phase::kComplete, [this, server, place] {
        queues_[place].end_one();
        take_requests(server);
      });
      return;
    }
    queues_[place].end_one();
  }
}

When Servers::serve(std::uint32_t slot, const char* what, const Exchange& of, When when,
                    Duration work) {
  if (!works_) return when;
  Fifo& thread = threads_[static_cast<std::size_t>(slots_[slot].piece->server)];
  const Fifo::Served served = thread.reserve(world_.engine, when, work, thread_);
  if (drawing_ != nullptr && work > Duration{})
    drawing_->served(slots_[slot].piece->server, what, of.client, of.bucket, served.start.time,
                     served.end.time);
  return served.end;
}

void Servers::answer(Exchange& of, std::uint32_t slot, When end) {
  if (of.then == Then::kValues) {
    const When leaves = serve_pull(of, slot, end, false);
    return answer_with_values(of, slot, leaves);
  }
  if (has_place(of)) return answer_behind(of, slot, end);
  const Duration latency = this->latency(of, slot);
  if (common_latency_) {
    of.last = later(of.last, end);
  } else if (of.last.time < end.time + latency) {
    of.last = later(of.last, answer_in(end, latency));
  }
  if (--of.missing > 0) return;
  const When last = common_latency_ ? answer_in(of.last, latency) : of.last;
  if (of.then == Then::kPull) return ask_for(of, last);
  world_.engine.at(last, Phase::kNormal, [this, &of] { this->end(of, world_.present()); });
}

/// Answers a push at `end`, behind the values that its connection carries then.
void Servers::answer_behind(Exchange& of, std::uint32_t slot, When end) {
  const std::int64_t after = to_clients_.sent(of.client, server(slot));
  world_.engine.at(world_.engine.until(end, latency(of, slot), request_), Phase::kNormal,
                   [this, &of, slot, after] {
                     if (to_clients_.is_there(of.client, server(slot), {&of, slot, after}))
                       push_answered(of, slot);
                   });
}

/// A client hears of the answer now.
void Servers::push_answered(Exchange& of, std::uint32_t slot) {
  if (of.then == Then::kAsk) return ask_behind(of, slot);
  if (--of.missing > 0) return;
  if (of.then == Then::kPull) return ask_for(of, world_.present());
  end(of, world_.present());
}

void Servers::answer_with_values(Exchange& of, std::uint32_t slot, When leaves) {
  ++messages_;
  if (to_clients_.is_open()) to_clients_.send(of.client, server(slot));
  of.pull_sent = std::min(of.pull_sent, leaves.time);
  wire_.answer(of, slot - of.first_slot, {&leaves, 1});
}

Duration Servers::latency(const Exchange& of, std::uint32_t slot) {
  if (common_latency_) return *common_latency_;
  return wire_.latency(of.client, slots_[slot].piece->server);
}

/// When an answer without bytes is at its client: as a rule many leave at one time.
When Servers::answer_in(When sent, Duration latency) {
  const bool same = last_answer_.sent == sent && last_answer_.in.time == sent.time + latency;
  if (!same) last_answer_ = {sent, world_.engine.until(sent, latency, request_)};
  return last_answer_.in;
}

/// Asks for a bucket at `when`: where it does not matter in which order requests are taken, those
/// that arrive together are one event.
void Servers::ask_for(Exchange& of, When when) {
  const auto bucket = static_cast<std::size_t>(of.bucket);
  of.missing = static_cast<std::int32_t>(pieces_[bucket].size());
  const std::uint32_t end = first_slot_[bucket + 1];
  if (terms_.ordered || !queues_.empty()) {
    const auto ask = [this, &of, end] {
      for (std::uint32_t s = first_slot_[static_cast<std::size_t>(of.bucket)]; s < end; ++s)
        ask_behind(of, s);
    };
    if (when.time <= world_.now()) return ask();
    world_.engine.at(when, Phase::kNormal, ask);
    return;
  }
  for (std::uint32_t s = first_slot_[bucket]; s < end;) {
    const Duration latency = this->latency(of, s);
    const std::uint32_t first = s;
    while (++s < end && this->latency(of, s) == latency) {
    }
    world_.engine.at(world_.engine.until(when, latency, request_), Phase::kNormal,
                     [this, &of, first, behind = s] { answer_asked(of, first, behind); });
  }
}

/// Requests for neighbouring pieces are at their servers.
void Servers::answer_asked(Exchange& of, std::uint32_t first_slot, std::uint32_t behind) {
  messages_ += behind - first_slot;
  leave_.resize(behind - first_slot);
  for (std::uint32_t s = first_slot; s < behind; ++s) {
    leave_[s - first_slot] = serve_pull(of, s, world_.present(), true);
    of.pull_sent = std::min(of.pull_sent, leave_[s - first_slot].time);
  }
  wire_.answer(of, first_slot - of.first_slot, leave_);
}

/// Asks for a piece, behind what the connection still carries.
void Servers::ask_behind(Exchange& of, std::uint32_t slot) {
  const std::int64_t after = to_servers_.sent(of.client, server(slot));
  world_.engine.at(world_.engine.until(world_.present(), latency(of, slot), request_),
                   Phase::kNormal, [this, &of, slot, after] {
                     if (to_servers_.is_there(of.client, server(slot), {&of, slot, after}))
                       request_is_in({&of, slot, false});
                   });
}

/// The server comes to a request.
void Servers::asked(Exchange& of, std::uint32_t slot) {
  if (!waits(of, slot)) answer_request(of, slot, world_.present());
}

void Servers::answer_request(Exchange& of, std::uint32_t slot, When when) {
  answer_with_values(of, slot, serve_pull(of, slot, when, true));
}

/// Returns when the server's thread has the values ready.
When Servers::serve_pull(Exchange& of, std::uint32_t slot, When when, bool is_request) {
  seen(of.client, slot) = slots_[slot].version;
  if (store_ != nullptr) store_->pull(of.client, *slots_[slot].piece);
  const Duration request = is_request ? terms_.costs.request : Duration{};
  return serve(slot, "pull", of, when, slots_[slot].handling + request);
}

void Servers::pulled(Exchanged& any, std::int32_t server, std::int32_t pieces, When in) {
  Exchange& of = exchange(any);
  if (drawing_ != nullptr) drawing_->pulled(of, in.time);
  if (to_clients_.is_open()) {
    world_.engine.at(in, Phase::kNormal, [this, server, client = of.client] {
      to_clients_.came(client, server, [this](const OrderedConnections::Frame& behind) {
        push_answered(exchange(*behind.of), behind.slot);
      });
    });
  }
  of.last = later(of.last, in);
  if ((of.missing -= pieces) == 0) end(of, of.last);
}

void Servers::count_staleness(std::uint32_t staleness, std::int64_t updates) {
  constexpr std::uint32_t kMost = 1 << 20;
  if (staleness >= staleness_.size()) [[unlikely]] {
    staleness = std::min(staleness, kMost);
    staleness_.resize(std::max<std::size_t>(staleness_.size(), staleness + 1));
  }
  staleness_[staleness] += updates;
}

Duration Servers::most_busy() const {
  Duration most{};
  for (const Fifo& thread : threads_)
    most = std::max(most, thread.busy());
  return most;
}

SynchronousServers::SynchronousServers(World& world, Wire& wire, const Pieces& pieces, Terms terms)
    : Servers(world, wire, pieces, std::move(terms)),
      rounds_(slots_.size()),
      under_way_(pieces.size() * static_cast<std::size_t>(terms_.clients)) {}

void SynchronousServers::received(Exchange& of, std::uint32_t s, When in) {
  Slot& slot = slots_[s];
  Round& round = rounds_[s];
  under_way(slot.bucket, of.client) = &of;
  const bool changes = ++round.pushed == terms_.clients;
  if (of.then != Then::kAsk) {
    Engine& engine = world_.engine;
    if (in.time > round.latest.when.time) {
      engine.release(round.latest);
      round.latest = engine.hold(in);
    }
    if (changes) in = engine.release(std::exchange(round.latest, {}));
  }
  Duration work = slot.handling + terms_.costs.request;
  if (changes) work += slot.updating;
  const When end = serve(s, "push", of, in, work);
  if (of.then == Then::kAsk) answer(of, s, end);
  if (!changes) return;
  round.pushed = 0;
  ++slot.version;
  count_staleness(0, terms_.clients);
  if (store_ != nullptr) store_->apply_all(*slot.piece);
  if (of.then == Then::kAsk) {
    for (Exchange* const asker : std::exchange(round.askers, {}))
      answer_request(*asker, s, end);
    return;
  }
  added_up(s, end);
}

void SynchronousServers::answer_all(std::uint32_t s, When end) {
  const Slot& slot = slots_[s];
  for (std::int32_t i = 0; i < terms_.clients; ++i)  // every server begins with another client
    answer(*under_way(slot.bucket, (slot.piece->server + i) % terms_.clients), s, end);
}

bool SynchronousServers::waits(Exchange& of, std::uint32_t s) {
  if (of.then != Then::kAsk || slots_[s].version != seen(of.client, s)) return false;
  rounds_[s].askers.push_back(&of);
  return true;
}

namespace {

class AsynchronousServers final : public Servers {
 public:
  using Servers::Servers;

 private:
  void received(Exchange& of, std::uint32_t s, When in) override {
    Slot& slot = slots_[s];
    const When end = serve(s, "push", of, in, slot.handling + slot.updating + terms_.costs.request);
    if (of.asker->counts()) count_staleness(slot.version - seen(of.client, s), 1);
    ++slot.version;
    if (store_ != nullptr) store_->apply(of.client, *slot.piece);
    answer(of, s, end);
  }
  bool waits(Exchange&, std::uint32_t) override { return false; }
};

}  // namespace

std::unique_ptr<Servers> synchronous_servers(World& world, Wire& wire, const Pieces& pieces,
                                             Servers::Terms terms) {
  return std::make_unique<SynchronousServers>(world, wire, pieces, std::move(terms));
}

std::unique_ptr<Servers> asynchronous_servers(World& world, Wire& wire, const Pieces& pieces,
                                              Servers::Terms terms) {
  return std::make_unique<AsynchronousServers>(world, wire, pieces, std::move(terms));
}

}  // namespace steptime
