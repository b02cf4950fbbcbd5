#include "sim/exchange.h"

#include "sim/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {

Exchange::Exchange(const TrainingPlan& plan, Engine& engine, Carrier& carrier, ExchangeUser& user,
                   Learner* learner, Timeline* timeline)
    : plan_(plan),
      engine_(engine),
      carrier_(carrier),
      user_(user),
      learner_(learner),
      clients_(plan.aggregation.clients),
      pull_time_(plan.aggregation.servers.pull_time()),
      threads_(plan.aggregation.servers, plan.names, timeline),
      connections_(static_cast<std::size_t>(clients_),
                   pull_time_ == PullTime::kPushed
                       ? static_cast<std::size_t>(plan.aggregation.servers.count)
                       : 0) {
  for (std::size_t b = 0; b < plan.pieces.size(); ++b) {
    first_slot_.push_back(slots_.size());
    for (const Piece& piece : plan.pieces[b])
      slots_.push_back({&piece, b, 0, 0});
  }
  first_slot_.push_back(slots_.size());
  constexpr double kMostStates = 3e8;
  const auto clients = static_cast<std::size_t>(clients_);
  if (static_cast<double>(clients) * static_cast<double>(slots_.size() + plan.pieces.size()) >
      kMostStates) {
    throw RangeError(fmt::format("{} clients with {} messages each are more than fit in memory",
                                 clients, slots_.size()));
  }
  if (plan.aggregation.servers.count == 0) return;
  open_.resize(clients * plan.pieces.size());
  last_.resize(clients * plan.pieces.size());
  seen_.resize(clients * slots_.size());
  if (timeline != nullptr) sent_.resize(clients * slots_.size());
}

void Exchange::push(std::int32_t c, std::size_t bucket) {
  const std::size_t pieces = plan_.pieces[bucket].size();
  open_[at(c, bucket)] = static_cast<std::int32_t>(pieces);
  last_[at(c, bucket)] = engine_.now();
  if (pieces == 0) return user_.exchanged(c, bucket, engine_.now());
  // Every client begins with another server, as its connections would share its port.
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::size_t s = first_slot_[bucket] + (i + static_cast<std::size_t>(c)) % pieces;
    send(c, static_cast<std::uint32_t>(s), true, engine_.now());
  }
}

/// Sends a piece to its server, or back, at `when`.
void Exchange::send(std::int32_t c, std::uint32_t slot_index, bool is_push, Time when) {
  const Slot& slot = slots_[slot_index];
  ++messages_;
  if (is_push && pull_time_ == PullTime::kPushed) connections_.push(c, slot.piece->server);
  if (!sent_.empty()) sent_[of(c, slot_index)] = when;
  carrier_.send({.client = c,
                 .server = slot.piece->server,
                 .slot = slot_index,
                 .bucket = static_cast<std::uint32_t>(slot.bucket),
                 .bytes = slot.piece->bytes,
                 .is_push = is_push},
                when);
}

void Exchange::arrived(const Parcel& parcel, Time in) {
  if (parcel.is_push) return pushed(parcel.client, parcel.slot, in);
  pulled(parcel.client, parcel.bucket, in);
}

void Exchange::pushed(std::int32_t c, std::uint32_t slot_index, Time in) {
  if (pull_time_ != PullTime::kPushed) return received(c, slot_index, in);
  // What is asked for meanwhile must not wait for it.
  engine_.at(in, Phase::kNormal, [this, c, slot_index] {
    for (const std::uint32_t request : connections_.deliver(c, slots_[slot_index].piece->server)) {
      asked(c, request);
    }
    received(c, slot_index, engine_.now());
  });
}

void Exchange::received(std::int32_t c, std::uint32_t slot_index, Time in) {
  Slot& slot = slots_[slot_index];
  const Piece& piece = *slot.piece;
  const bool changes = !waits_for_all() || ++slot.pushed == clients_;
  Duration work = threads_.handling(piece.bytes);
  if (changes) work += threads_.updating(piece.bytes);
  const Time end = threads_.serve(piece.server, in, {"push", slot.bucket, work});
  const bool early = pull_time_ == PullTime::kPushed;
  if (waits_for_all()) {
    if (early) answer_push(c, slot_index, end);
    if (!changes) return;
    apply_all(slot);
    if (early) {
      for (const std::int32_t asker : std::exchange(slot.waiting, {}))
        send(asker, slot_index, false, serve_pull(asker, slot_index, end));
      return;
    }
    const auto clients = static_cast<std::int32_t>(clients_);
    for (std::int32_t i = 0; i < clients; ++i)  // and every server with another client
      answer_push((piece.server + i) % clients, slot_index, end);
    return;
  }
  count_staleness(slot.version - seen_[of(c, slot_index)], 1);
  ++slot.version;
  if (learner_ != nullptr) {
    for (const ParameterRange& range : piece.ranges)
      learner_->apply(c, range);
  }
  answer_push(c, slot_index, end);
}

/// The gradients of all clients at once.
void Exchange::apply_all(Slot& slot) {
  slot.pushed = 0;
  ++slot.version;
  count_staleness(0, clients_);
  if (learner_ == nullptr) return;
  for (const ParameterRange& range : slot.piece->ranges)
    learner_->apply_all(range);
}

void Exchange::count_staleness(std::uint32_t staleness, std::int64_t updates) {
  constexpr std::uint32_t kMost = 1 << 20;
  staleness = std::min(staleness, kMost);
  if (staleness_.size() <= staleness) staleness_.resize(staleness + 1);
  staleness_[staleness] += updates;
}

void Exchange::answer_push(std::int32_t c, std::uint32_t slot_index, Time end) {
  const Piece& piece = *slots_[slot_index].piece;
  if (plan_.aggregation.servers.fused) {
    return send(c, slot_index, false, serve_pull(c, slot_index, end));
  }
  engine_.at(end + carrier_.latency(c, piece.server), Phase::kNormal, [this, c, slot_index] {
    if (pull_time_ == PullTime::kPushed) return ask_behind(c, slot_index);
    const std::size_t bucket = slots_[slot_index].bucket;
    if (--open_[at(c, bucket)] > 0) return;
    if (pull_time_ == PullTime::kNextStep) return user_.answered(c, bucket);
    ask_for(c, bucket);
  });
}

void Exchange::pull(std::int32_t c, std::size_t bucket) {
  last_[at(c, bucket)] = engine_.now();
  if (plan_.pieces[bucket].empty()) return user_.exchanged(c, bucket, engine_.now());
  ask_for(c, bucket);
}

void Exchange::ask_for(std::int32_t c, std::size_t bucket) {
  open_[at(c, bucket)] = static_cast<std::int32_t>(plan_.pieces[bucket].size());
  for (std::size_t s = first_slot_[bucket]; s < first_slot_[bucket + 1]; ++s) {
    const auto asked = static_cast<std::uint32_t>(s);
    engine_.after(carrier_.latency(c, slots_[s].piece->server), Phase::kNormal,
                  [this, c, asked] { send(c, asked, false, serve_pull(c, asked, engine_.now())); });
  }
}

/// Asks for a piece, behind what the connection still carries.
void Exchange::ask_behind(std::int32_t c, std::uint32_t slot_index) {
  const std::int32_t server = slots_[slot_index].piece->server;
  if (connections_.holds(c, server, slot_index)) return;
  engine_.after(carrier_.latency(c, server), Phase::kNormal,
                [this, c, slot_index] { asked(c, slot_index); });
}

/// A request is at the server.
void Exchange::asked(std::int32_t c, std::uint32_t slot_index) {
  Slot& slot = slots_[slot_index];
  if (waits_for_all() && slot.version == seen_[of(c, slot_index)]) {
    slot.waiting.push_back(c);  // for the sum
  } else {
    send(c, slot_index, false, serve_pull(c, slot_index, engine_.now()));
  }
}

/// Returns when the server's thread has the values ready.
Time Exchange::serve_pull(std::int32_t c, std::uint32_t slot_index, Time when) {
  const Slot& slot = slots_[slot_index];
  seen_[of(c, slot_index)] = slot.version;
  const bool simultaneous =
      plan_.update.kind == Update::Kind::kEsgd && !plan_.update.pull_sees_push;
  if (learner_ != nullptr && !simultaneous) {
    for (const ParameterRange& range : slot.piece->ranges)
      learner_->pull(c, range);
  }
  return threads_.serve(slot.piece->server, when,
                        {"pull", slot.bucket, threads_.handling(slot.piece->bytes),
                         !plan_.aggregation.servers.fused});
}

void Exchange::pulled(std::int32_t c, std::size_t bucket, Time in) {
  Time& last = last_[at(c, bucket)];
  last = std::max(last, in);
  if (--open_[at(c, bucket)] == 0) user_.exchanged(c, bucket, last);
}

}  // namespace steptime
