#include "sim/mxnet/mpi_world.h"

#include <algorithm>
#include <utility>

namespace steptime {

MpiWorld::MpiWorld(Engine& clock, std::int32_t ranks, std::int32_t communicators,
                   Listener& listener)
    : clock_(clock),
      ranks_(ranks),
      listener_(listener),
      network_(clock),
      communicators_(static_cast<std::size_t>(communicators)) {
  for (Communicator& communicator : communicators_)
    communicator.calls.resize(static_cast<std::size_t>(ranks));
}

std::int64_t MpiWorld::call(std::int32_t rank, std::int32_t communicator, Subject subject,
                            Cost cost, Time at, Callback returns) {
  const auto r = static_cast<std::size_t>(rank);
  Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  const std::int64_t number = c.calls[r]++;
  const auto place = static_cast<std::size_t>(number - c.ended);
  if (place == c.open.size()) {
    std::uint32_t fresh = 0;
    if (free_collectives_.empty()) {
      fresh = static_cast<std::uint32_t>(collectives_.size());
      collectives_.emplace_back();
    } else {
      fresh = free_collectives_.back();
      free_collectives_.pop_back();
    }
    Collective& collective = collectives_[fresh];
    collective.calls.assign(static_cast<std::size_t>(ranks_), Call{});
    collective.missing = ranks_;
    collective.mismatch = false;
    collective.subject = subject;
    collective.cost = cost;
    collective.begins = at;
    c.open.push_back(fresh);
  }
  Collective& collective = collectives_[c.open[place]];
  if (collective.subject != subject) collective.mismatch = true;
  collective.calls[r] = {subject, returns};
  collective.begins = std::max(collective.begins, at);
  if (--collective.missing == 0 && place == 0) start_next(communicator);
  return number;
}

Time MpiWorld::returns_not_before(std::int32_t communicator, std::int64_t number) const {
  const Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  const auto place = static_cast<std::size_t>(number - c.ended);
  const Collective& collective = collectives_[c.open[place]];
  const Time begins =
      place == 0 && c.runs ? collective.begins : std::max(collective.begins, clock_.now());
  return begins + collective.cost.startup + collective.cost.work;
}

void MpiWorld::start_next(std::int32_t communicator) {
  Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  if (c.runs || c.open.empty()) return;
  Collective& next = collectives_[c.open.front()];
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
  const Collective& next = collectives_[c.open.front()];
  listener_.collective_started(next.subject);
  const Callback ended{[](void* world, std::uint64_t which) {
                         static_cast<MpiWorld*>(world)->end(static_cast<std::int32_t>(which));
                       },
                       this, static_cast<std::uint64_t>(communicator)};
  if (next.subject.key == kBarrier) {  // moves no data
    clock_.after(next.cost.startup, Phase::kComplete, [ended] { ended(); });
  } else {
    network_.start(next.cost.startup, next.cost.work, ended);
  }
}

void MpiWorld::end(std::int32_t communicator) {
  Communicator& c = communicators_[static_cast<std::size_t>(communicator)];
  const std::uint32_t ended = c.open.front();
  c.open.pop_front();
  ++c.ended;
  c.runs = false;
  // The calls move out, because a rank that returns may call again.
  std::vector<Call> calls = std::move(collectives_[ended].calls);
  listener_.collective_ended(collectives_[ended].subject);
  start_next(communicator);
  for (const Call& call : calls)
    call.returns();
  collectives_[ended].calls = std::move(calls);  // keeps the memory
  free_collectives_.push_back(ended);
}

std::vector<MpiWorld::Stuck> MpiWorld::stuck() const {
  std::vector<Stuck> all;
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    const Communicator& c = communicators_[i];
    for (std::size_t place = 0; place < c.open.size(); ++place) {
      const auto& calls = collectives_[c.open[place]].calls;
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
      collectives_[c.open[static_cast<std::size_t>(place)]].calls[static_cast<std::size_t>(rank)];
  if (call.returns.call == nullptr) return std::nullopt;
  return call.subject;
}

}  // namespace steptime
