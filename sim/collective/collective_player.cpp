#include "sim/collective/collective_player.h"

#include "sim/collective/collective.h"
#include "sim/core/error.h"

#include <algorithm>
#include <typeinfo>

#include <boost/core/demangle.hpp>
#include <fmt/format.h>

namespace steptime {

Duration reduction_time(std::int64_t bytes, TimePerByte reduction) {
  if (reduction.seconds_per_byte == 0) return {};
  return transfer_time(static_cast<double>(bytes) * reduction.seconds_per_byte, 1);
}

ProgramPlayer::ProgramPlayer(Network& network, const Program& program, TimePerByte reduction,
                             std::span<const Endpoint> placement, DataObserver* observer,
                             bool tells_parts)
    : network_(network),
      program_(program),
      reduction_(program.reduction().value_or(reduction)),
      placement_(placement),
      observer_(observer),
      states_(static_cast<std::size_t>(program.ranks())),
      led_(tells_parts ? states_.size() : 0),
      buffered_(program.buffered()) {
  for (Rank r = 0; r < program.ranks(); ++r)
    states_[static_cast<std::size_t>(r)].steps = program.steps(r);
}

void ProgramPlayer::start_at(Time time) {
  network_.engine().at(time, Phase::kNormal, [this] {
    start_ = end_ = network_.now();
    for (Rank r = 0; r < program_.ranks(); ++r)
      come_to(r, 0);
  });
}

void ProgramPlayer::come_to(Rank rank, std::int32_t step) {
  State& state = states_[static_cast<std::size_t>(rank)];
  for (;; ++step) {
    state.step = step;
    if (step == state.steps) {
      ++ranks_over_;
      if (tells_parts() && network_.now() >= end_) parts_ = led_here(rank);
      end_ = std::max(end_, network_.now());
      if (user_ != nullptr && is_over())
        network_.engine().at(end_, Phase::kComplete,
                             [user = user_, who = name_] { user->over(who); });
      return;
    }
    const Op op = program_.op(rank, step);
    state.open = op.send.count + op.recv.count;
    state.reduces = op.reduce;
    state.behind = op.behind;
    if (op.work > Duration{}) work(rank, op.work, led_here(rank));
    if (state.open == 0 && state.works <= state.behind) continue;
    for (Rank k = 0; k < op.send.count; ++k) {
      const Rank to = op.send.peer(k);
      if (buffered_ || states_[static_cast<std::size_t>(to)].step == op.send.step)
        transfer(rank, to, op.send.slice_of(k));
    }
    for (Rank k = 0; k < op.recv.count; ++k) {
      const Rank from = op.recv.peer(k);
      if (buffered_) {
        if (take_early(from, rank, op.recv.step))
          receive(from, rank, op.recv.slice_of(k).bytes, led_here(rank));
        continue;
      }
      if (states_[static_cast<std::size_t>(from)].step == op.recv.step)
        transfer(from, rank, op.recv.slice_of(k));
    }
    return;
  }
}

void ProgramPlayer::transfer(Rank from, Rank to, Slice slice) {
  if (observer_ != nullptr) observer_->started(from, to, slice);
  network_.send({.sink = this,
                 .from = place(from),
                 .to = place(to),
                 .bytes = slice.bytes,
                 .sender = from,
                 .receiver = to});
}

/// The slice that `to` receives from `from` in its present step.
Slice ProgramPlayer::incoming(Rank from, Rank to) const {
  const Op op = program_.op(to, states_[static_cast<std::size_t>(to)].step);
  return op.recv.slice_of((from - op.recv.first) / op.recv.stride);
}

/// Whether the receiver has come to the step of what the sender sends.
bool ProgramPlayer::is_awaited(Rank from, Rank to) const {
  const State& receiver = states_[static_cast<std::size_t>(to)];
  const State& sender = states_[static_cast<std::size_t>(from)];
  return receiver.step == program_.op(from, sender.step).send.step;
}

bool ProgramPlayer::take_early(Rank from, Rank to, std::int32_t step) {
  const auto found = std::find(early_.begin(), early_.end(), Early{from, to, step});
  if (found == early_.end()) return false;
  early_.erase(found);
  return true;
}

/// To the next step, if the present one is over.
void ProgramPlayer::go_on(Rank rank, const PlayedParts& because) {
  const State& state = states_[static_cast<std::size_t>(rank)];
  if (state.open != 0 || state.works > state.behind) return;
  if (tells_parts()) led_[static_cast<std::size_t>(rank)].here = because;
  come_to(rank, state.step + 1);
}

inline void ProgramPlayer::end_one(Rank rank, const PlayedParts& because) {
  --states_[static_cast<std::size_t>(rank)].open;
  go_on(rank, because);
}

void ProgramPlayer::work(Rank rank, Duration length, const PlayedParts& since) {
  State& state = states_[static_cast<std::size_t>(rank)];
  if (tells_parts() && state.works == 0) led_[static_cast<std::size_t>(rank)].works = since;
  ++state.works;
  network_.occupy_device(place(rank), length, *this, rank);
}

void ProgramPlayer::device_done(std::int32_t who) {
  --states_[static_cast<std::size_t>(who)].works;
  if (!tells_parts()) return go_on(who, {});
  go_on(who, led_[static_cast<std::size_t>(who)].works.after_sums(network_.now() - start_));
}

const PlayedParts& ProgramPlayer::led_here(Rank rank) const {
  static constexpr PlayedParts kNothing;
  return tells_parts() ? led_[static_cast<std::size_t>(rank)].here : kNothing;
}

/// What led to the delivery of a message, now: it went when the later of its ranks had come to it,
/// which is still there; a buffered one did not wait for its receiver.
PlayedParts ProgramPlayer::led_by(const Message& message) const {
  if (!tells_parts()) return {};
  const PlayedParts& sender = led_here(message.sender);
  const PlayedParts& receiver = led_here(message.receiver);
  const PlayedParts& went = buffered_ || sender.whole() >= receiver.whole() ? sender : receiver;
  const Network::Alone alone = network_.alone();
  return went.after_message(alone.latency, alone.transfer, network_.now() - start_);
}

inline void ProgramPlayer::receive(Rank from, Rank to, std::int64_t bytes,
                                   const PlayedParts& because) {
  const bool reduces = states_[static_cast<std::size_t>(to)].reduces;
  if (observer_ != nullptr) observer_->delivered(from, to, incoming(from, to), reduces);
  // One device adds up what arrives, in the order of arrival.
  if (reduces && reduction_.seconds_per_byte > 0)
    work(to, reduction_time(bytes, reduction_), because);
  end_one(to, because);
}

void ProgramPlayer::delivered(const Message& message) {
  const PlayedParts because = led_by(message);
  if (buffered_ && !is_awaited(message.sender, message.receiver)) {
    const std::int32_t step = states_[static_cast<std::size_t>(message.sender)].step;
    early_.push_back({message.sender, message.receiver, step});
  } else {
    receive(message.sender, message.receiver, message.bytes, because);
  }
  end_one(message.sender, because);
}

std::string ProgramPlayer::waiting() const {
  const auto state = [this](Rank rank) { return states_[static_cast<std::size_t>(rank)]; };
  const auto find = [&](Rank rank, const Side& side, const char* does) -> std::string {
    for (Rank k = 0; k < side.count; ++k) {
      const State peer = state(side.peer(k));
      if (peer.step == side.step && peer.step < peer.steps) continue;
      return fmt::format(
          "rank {} of {} waits in its step {} to {} rank {} in that one's step {}, "
          "which {}",
          rank, program_.ranks(), state(rank).step, does, side.peer(k), side.step,
          peer.step == peer.steps ? std::string("has ended")
                                  : fmt::format("is in step {}", peer.step));
    }
    return "";
  };
  for (Rank rank = 0; rank < program_.ranks(); ++rank) {
    if (state(rank).step == state(rank).steps) continue;
    const Op op = program_.op(rank, state(rank).step);
    if (std::string text = find(rank, op.recv, "receive from"); !text.empty()) return text;
    if (std::string text = find(rank, op.send, "send to"); !text.empty()) return text;
  }
  return "its ranks wait for each other";
}

CollectivePlayer::CollectivePlayer(Network& network, const Programs& programs,
                                   TimePerByte reduction, std::span<const Endpoint> placement,
                                   DataObserver* observer, bool tells_parts) {
  for (const auto& program : programs) {
    players_.push_back(std::make_unique<ProgramPlayer>(network, *program, reduction, placement,
                                                       observer, tells_parts));
  }
}

void CollectivePlayer::start_at(Time time) {
  for (const auto& player : players_)
    player->start_at(time);
}

void CollectivePlayer::tell(CollectiveUser& user, std::int32_t who) {
  user_ = &user;
  name_ = who;
  for (const auto& player : players_)
    player->tell(*this, 0);
}

void CollectivePlayer::over(std::int32_t) {
  if (++programs_over_ == players_.size()) user_->over(name_);
}

void CollectivePlayer::expect_over(const Collective* collective) const {
  for (const auto& player : players_) {
    if (player->is_over()) continue;
    const std::string name =
        collective == nullptr ? "a collective" : boost::core::demangle(typeid(*collective).name());
    throw InternalError(
        fmt::format("{}: {}: no such message is ever sent", name, player->waiting()));
  }
}

bool CollectivePlayer::is_over() const {
  return std::all_of(players_.begin(), players_.end(), [](const auto& p) { return p->is_over(); });
}

const PlayedParts& CollectivePlayer::parts() const {
  const auto last =
      std::max_element(players_.begin(), players_.end(),
                       [](const auto& a, const auto& b) { return a->end() < b->end(); });
  return (*last)->parts();
}

Time CollectivePlayer::end() const {
  Time end{};
  for (const auto& player : players_)
    end = std::max(end, player->end());
  return end;
}

}  // namespace steptime
