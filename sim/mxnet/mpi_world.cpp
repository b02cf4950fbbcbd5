#include "sim/mxnet/mpi_world.h"

#include <algorithm>
#include <utility>

namespace steptime {

MpiWorld::MpiWorld(Engine& clock, std::int32_t ranks, std::int32_t communicators, Duration barrier,
                   CollectivesInFlight& collectives, Listener& listener)
    : clock_(clock),
      ranks_(ranks),
      listener_(listener),
      barrier_(barrier),
      collectives_(collectives),
      communicators_(static_cast<std::size_t>(communicators)) {
  for (Communicator& communicator : communicators_)
    communicator.calls.resize(static_cast<std::size_t>(ranks));
}

std::uint64_t MpiWorld::call(std::int32_t rank, std::int32_t communicator, Subject subject, Time at,
                             Callback returns) {
  const auto r = static_cast<std::size_t>(rank);
  Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  const std::int64_t number = c.calls[r]++;
  const auto place = static_cast<std::size_t>(number - c.ended);
  if (place == c.open.size()) {
    std::uint32_t fresh = 0;
    if (free_slots_.empty()) {
      fresh = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      fresh = free_slots_.back();
      free_slots_.pop_back();
    }
    Collective& collective = slots_[fresh];
    collective.calls.assign(static_cast<std::size_t>(ranks_), Call{});
    collective.missing = ranks_;
    collective.mismatch = false;
    collective.subject = subject;
    collective.least = subject.key == kBarrier && !collectives_.has_barrier()
                           ? barrier_
                           : collectives_.least(subject.key);
    collective.begins = at;
    c.open.push_back(fresh);
  }
  Collective& collective = slots_[c.open[place]];
  if (collective.subject != subject) collective.mismatch = true;
  collective.calls[r] = {subject, returns};
  collective.begins = std::max(collective.begins, at);
  if (--collective.missing == 0 && place == 0) start_next(communicator);
  return static_cast<std::uint64_t>(communicator) << kNumberBits |
         static_cast<std::uint64_t>(number);
}

Time MpiWorld::returns_not_before(std::uint64_t call) const {
  const Communicator& c = communicators_[static_cast<std::size_t>(call >> kNumberBits)];
  const std::uint64_t number = call & ((std::uint64_t{1} << kNumberBits) - 1);
  const auto place = static_cast<std::size_t>(number) - static_cast<std::size_t>(c.ended);
  const Collective& collective = slots_[c.open[place]];
  const Time begins =
      place == 0 && c.runs ? collective.begins : std::max(collective.begins, clock_.now());
  return begins + collective.least;
}

void MpiWorld::start_next(std::int32_t communicator) {
  Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  if (c.runs || c.open.empty()) return;
  Collective& next = slots_[c.open.front()];
  if (next.missing > 0 || next.mismatch) return;
  c.runs = true;
  if (next.begins > clock_.now()) {
    clock_.at(next.begins, Phase::kNormal, [this, communicator] { begin(communicator); });
  } else {
    next.begins = clock_.now();
    begin(communicator);
  }
}

void MpiWorld::begin(std::int32_t communicator) {
  const Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  const Collective& next = slots_[c.open.front()];
  listener_.collective_started(next.subject);
  const Callback ended{[](void* world, std::uint64_t which) {
                         static_cast<MpiWorld*>(world)->end(static_cast<std::int32_t>(which));
                       },
                       this, static_cast<std::uint64_t>(communicator)};
  if (next.subject.key == kBarrier && !collectives_.has_barrier())
    clock_.after(barrier_, Phase::kComplete, [ended] { ended(); });
  else
    collectives_.start(next.subject.key, ended);
}

void MpiWorld::end(std::int32_t communicator) {
  Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  const std::uint32_t ended = c.open.front();
  c.open.pop_front();
  ++c.ended;
  c.runs = false;
  // The calls move out, because a rank that returns may call again.
  std::vector<Call> calls = std::move(slots_[ended].calls);
  listener_.collective_ended(slots_[ended].subject);
  start_next(communicator);
  for (const Call& call : calls)
    call.returns();
  slots_[ended].calls = std::move(calls);  // keeps the memory
  free_slots_.push_back(ended);
}

std::vector<MpiWorld::Stuck> MpiWorld::stuck() const {
  std::vector<Stuck> all;
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    const Communicator& c = communicators_[i];
    for (std::size_t place = 0; place < c.open.size(); ++place) {
      const auto& calls = slots_[c.open[place]].calls;
      for (std::size_t rank = 0; rank < calls.size(); ++rank) {
        if (calls[rank].returns.call == nullptr) continue;
        all.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(i),
                       c.ended + static_cast<std::int64_t>(place), calls[rank].subject});
      }
    }
  }
  return all;
}

std::optional<MpiWorld::Subject> MpiWorld::called(std::int32_t communicator, std::int64_t number,
                                                  std::int32_t rank) const {
  const Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  const std::int64_t place = number - c.ended;
  if (place < 0 || place >= static_cast<std::int64_t>(c.open.size())) return std::nullopt;
  const Call& call =
      slots_[c.open[static_cast<std::size_t>(place)]].calls[static_cast<std::size_t>(rank)];
  if (call.returns.call == nullptr) return std::nullopt;
  return call.subject;
}

}  // namespace steptime
