#include "sim/servers/exchange.h"

#include "sim/core/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {

Exchange::Exchange(const TrainingPlan& plan, Engine& engine, ParcelCarrier& carrier,
                   ExchangeUser& user, Learner* learner, Timeline* timeline,
                   const std::string& actor)
    : plan_(plan),
      engine_(engine),
      carrier_(carrier),
      user_(user),
      learner_(learner),
      clients_(plan.aggregation.clients),
      waits_for_all_(plan.update == nullptr || plan.update->waits_for_all()),
      pull_time_(plan.aggregation.servers.pull_time()),
      common_latency_(carrier.common_latency()),
      request_(engine.reason("latency of requests and answers", "network")),
      threads_(engine, plan.aggregation.servers, plan.names, timeline, actor),
      connections_(static_cast<std::size_t>(clients_),
                   pull_time_ == PullTime::kPushed
                       ? static_cast<std::size_t>(plan.aggregation.servers.count)
                       : 0) {
  for (std::size_t b = 0; b < plan.pieces.size(); ++b) {
    first_slot_.push_back(static_cast<std::uint32_t>(slots_.size()));
    for (const Piece& piece : plan.pieces[b]) {
      slots_.push_back({.piece = &piece,
                        .bucket = static_cast<std::uint32_t>(b),
                        .version = 0,
                        .pushed = 0,
                        .handling = threads_.handling(piece.bytes),
                        .updating = threads_.updating(piece.bytes)});
    }
  }
  first_slot_.push_back(static_cast<std::uint32_t>(slots_.size()));
  const auto clients = static_cast<std::size_t>(clients_);
  if (static_cast<double>(clients) * static_cast<double>(slots_.size() + plan.pieces.size()) >
      kMostStates) {
    throw RangeError(fmt::format("{} clients with {} messages each are more than fit in memory",
                                 clients, slots_.size()));
  }
  if (plan.aggregation.servers.count == 0) return;
  open_.resize(clients * plan.pieces.size());
  seen_.resize(clients * slots_.size());
  if (timeline != nullptr) sent_.resize(clients * plan.pieces.size());
}

/// Field by field: a parcel that is made elsewhere and copied costs a stalled load.
void Exchange::fill(Parcel& parcel, std::int32_t c, std::uint32_t slot_index, bool is_push) const {
  const Slot& slot = slots_[slot_index];
  parcel.client = c;
  parcel.server = slot.piece->server;
  parcel.slot = slot_index;
  parcel.bucket = slot.bucket;
  parcel.bytes = slot.piece->bytes;
  parcel.is_push = is_push;
}

void Exchange::push(std::int32_t c, std::size_t bucket) {
  const std::size_t pieces = plan_.pieces[bucket].size();
  open_[at(c, bucket)] = {engine_.present(), static_cast<std::uint32_t>(pieces)};
  if (pieces == 0) return user_.exchanged(c, bucket, engine_.present());
  if (!sent_.empty()) sent_[at(c, bucket)] = {.push = engine_.now()};
  messages_ += static_cast<std::int64_t>(pieces);
  const std::uint32_t first = first_slot_[bucket];
  parts_.resize(pieces);
  for (std::uint32_t s = first; s < first_slot_[bucket + 1]; ++s) {
    if (pull_time_ == PullTime::kPushed) connections_.push(c, slots_[s].piece->server);
    fill(parts_[s - first], c, s, true);
  }
  carrier_.push(parts_);
}

/// Sends a piece back at `when`.
void Exchange::answer(std::int32_t c, std::uint32_t slot_index, When when) {
  ++messages_;
  if (!sent_.empty()) {
    Time& sent = sent_[at(c, slots_[slot_index].bucket)].pull;
    if (when.time < sent) sent = when.time;
  }
  Timed timed;
  fill(timed.parcel, c, slot_index, false);
  timed.at.time = when.time;
  timed.at.cause = when.cause;
  carrier_.answer({&timed, 1});
}

/// Requests for neighbouring pieces are at their servers.
void Exchange::answer_all(std::int32_t c, std::uint32_t first_slot, std::uint32_t behind) {
  messages_ += behind - first_slot;
  answers_.resize(behind - first_slot);
  for (std::uint32_t s = first_slot; s < behind; ++s) {
    Timed& each = answers_[s - first_slot];
    fill(each.parcel, c, s, false);
    each.at = serve_pull(c, s, engine_.present());
  }
  if (!sent_.empty()) {
    Time& sent = sent_[at(c, slots_[first_slot].bucket)].pull;
    for (const Timed& each : answers_)
      sent = std::min(sent, each.at.time);
  }
  carrier_.answer(answers_);
}

void Exchange::pushed(std::span<const Timed> parts) {
  for (const auto& [part, in] : parts) {
    // What is asked for meanwhile goes before it.
    const bool waits =
        pull_time_ == PullTime::kPushed || (threads_.work() && in.time > engine_.now());
    if (!waits) {
      received(part.client, part.slot, in);
      continue;
    }
    engine_.at(in, Phase::kNormal, [this, c = part.client, slot_index = part.slot] {
      if (pull_time_ == PullTime::kPushed) {
        for (const std::uint32_t asks : connections_.deliver(c, slots_[slot_index].piece->server))
          asked(c, asks);
      }
      received(c, slot_index, engine_.present());
    });
  }
}

void Exchange::received(std::int32_t c, std::uint32_t slot_index, When in) {
  Slot& slot = slots_[slot_index];
  const Piece& piece = *slot.piece;
  const bool changes = !waits_for_all_ || ++slot.pushed == clients_;
  Duration work = slot.handling;
  if (changes) work += slot.updating;
  When end =
      threads_.serve(piece.server, in, {"push", slot.bucket, work, true, flow(c, slot.bucket)});
  const bool early = pull_time_ == PullTime::kPushed;
  if (waits_for_all_) {
    if (early) answer_push(c, slot_index, end);
    end = latest_of(slot, end, changes);
    if (!changes) return;
    apply_all(slot);
    if (early) {
      for (const std::int32_t asker : std::exchange(slot.waiting, {}))
        answer(asker, slot_index, serve_pull(asker, slot_index, end));
      return;
    }
    if (!user_.holds_answers(slot_index, end)) answer_pushes(slot_index, end);
    return;
  }
  if (user_.counts(c)) count_staleness(slot.version - seen_[of(c, slot_index)], 1);
  ++slot.version;
  if (learner_ != nullptr) {
    for (const ParameterRange& range : piece.ranges)
      learner_->apply(c, range);
  }
  answer_push(c, slot_index, end);
}

/// The latest end of a piece's pushes so far, of which the present one is the last or not. A
/// carrier that tells pushes ahead of time need not tell them in the order in which they come.
When Exchange::latest_of(Slot& slot, When end, bool is_last) {
  if (end.time > slot.latest.when.time) {
    engine_.release(slot.latest);
    slot.latest = engine_.hold(end);
  }
  return is_last ? engine_.release(std::exchange(slot.latest, {})) : slot.latest.when;
}

void Exchange::answer_pushes(std::uint32_t slot_index, When end) {
  const auto clients = static_cast<std::int32_t>(clients_);
  for (std::int32_t i = 0; i < clients; ++i)  // every server begins with another client
    answer_push((slots_[slot_index].piece->server + i) % clients, slot_index, end);
}

/// The pushes of all clients at once.
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
  if (staleness >= staleness_.size()) [[unlikely]] {
    staleness = std::min(staleness, kMost);
    staleness_.resize(std::max<std::size_t>(staleness_.size(), staleness + 1));
  }
  staleness_[staleness] += updates;
}

void Exchange::answer_push(std::int32_t c, std::uint32_t slot_index, When end) {
  const Slot& slot = slots_[slot_index];
  if (plan_.aggregation.servers.fused) {
    return answer(c, slot_index, serve_pull(c, slot_index, end));
  }
  const Duration latency = this->latency(c, slot_index);
  if (pull_time_ == PullTime::kPushed) {
    engine_.at(engine_.until(end, latency, request_), Phase::kNormal,
               [this, c, slot_index] { ask_behind(c, slot_index); });
    return;
  }
  Open& open = open_[at(c, slot.bucket)];
  if (common_latency_)
    open.reach(end);
  else if (open.last.time < end.time + latency)
    open.reach(answer_in(end, latency));
  if (!open.came(1)) return;
  const When last = common_latency_ ? answer_in(open.last, latency) : open.last;
  if (pull_time_ == PullTime::kAnswered) return ask_for(c, slot.bucket, last);
  engine_.at(last, Phase::kNormal, [this, c, bucket = slot.bucket] { user_.answered(c, bucket); });
}

/// When an answer without bytes is at its client: as a rule many leave at one time.
When Exchange::answer_in(When sent, Duration latency) {
  const bool same = last_answer_.sent == sent && last_answer_.in.time == sent.time + latency;
  if (!same) last_answer_ = {sent, engine_.until(sent, latency, request_)};
  return last_answer_.in;
}

void Exchange::pull(std::int32_t c, std::size_t bucket) {
  open_[at(c, bucket)] = {engine_.present(), 0};
  if (plan_.pieces[bucket].empty()) return user_.exchanged(c, bucket, engine_.present());
  if (!sent_.empty()) sent_[at(c, bucket)] = {};
  ask_for(c, bucket, engine_.present());
}

/// Asks for a bucket at `when`: the requests that arrive together are one event.
void Exchange::ask_for(std::int32_t c, std::size_t bucket, When when) {
  open_[at(c, bucket)].missing += static_cast<std::uint32_t>(plan_.pieces[bucket].size());
  const std::uint32_t end = first_slot_[bucket + 1];
  for (std::uint32_t s = first_slot_[bucket]; s < end;) {
    const Duration latency = this->latency(c, s);
    const std::uint32_t first = s;
    while (++s < end && this->latency(c, s) == latency) {
    }
    engine_.at(engine_.until(when, latency, request_), Phase::kNormal,
               [this, c, first, behind = s] { answer_all(c, first, behind); });
  }
}

/// Asks for a piece, behind what the connection still carries.
void Exchange::ask_behind(std::int32_t c, std::uint32_t slot_index) {
  if (connections_.holds(c, slots_[slot_index].piece->server, slot_index)) return;
  engine_.at(engine_.until(engine_.present(), latency(c, slot_index), request_), Phase::kNormal,
             [this, c, slot_index] { asked(c, slot_index); });
}

/// A request is at the server.
void Exchange::asked(std::int32_t c, std::uint32_t slot_index) {
  Slot& slot = slots_[slot_index];
  if (waits_for_all_ && slot.version == seen_[of(c, slot_index)]) {
    slot.waiting.push_back(c);  // for the sum
  } else {
    answer(c, slot_index, serve_pull(c, slot_index, engine_.present()));
  }
}

/// Returns when the server's thread has the values ready.
When Exchange::serve_pull(std::int32_t c, std::uint32_t slot_index, When when) {
  const Slot& slot = slots_[slot_index];
  seen_[of(c, slot_index)] = slot.version;
  if (learner_ != nullptr) {
    for (const ParameterRange& range : slot.piece->ranges)
      learner_->pull(c, range);
  }
  return threads_.serve(
      slot.piece->server, when,
      {"pull", slot.bucket, slot.handling, !plan_.aggregation.servers.fused, flow(c, slot.bucket)});
}

void Exchange::pulled(std::int32_t c, std::size_t bucket, std::int32_t parts, When in) {
  Open& open = open_[at(c, bucket)];
  open.reach(in);
  if (open.came(static_cast<std::size_t>(parts))) user_.exchanged(c, bucket, open.last);
}

}  // namespace steptime
