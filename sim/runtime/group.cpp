#include "sim/runtime/group.h"

#include "sim/core/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {

Group::Group(World& world, Name name, std::size_t members, std::unique_ptr<Medium> medium,
             std::int64_t streams)
    : world_(world), streams_(streams), calls_(members), over_(*this, world, name) {
  add(std::move(medium));
}

std::size_t Group::add(std::unique_ptr<Medium> medium) {
  mediums_.push_back(std::move(medium));
  return mediums_.size() - 1;
}

void Group::launch(std::size_t member, Bytes bytes, std::size_t medium) {
  const auto number = launch(member, {.bytes = bytes, .medium = medium}, world_.now(), {});
  STEPTIME_CHECK(at(static_cast<std::int64_t>(number)).others.empty(),
                 "the members of a group call different collectives");
}

std::uint64_t Group::launch(std::size_t member, Subject subject, Time when, Callback returns) {
  const std::int64_t number = calls_[member]++;
  if (static_cast<std::size_t>(number - first_) >= open_.size()) {
    if (open_.full()) open_.set_capacity(2 * open_.capacity() + 4);
    open_.push_back({.subject = subject});
    if (returns.call != nullptr) {
      open_.back().least = mediums_[subject.medium]->least(subject.bytes);
      open_.back().returns.resize(calls_.size());
    }
  }
  Call& call = at(number);
  if (call.subject != subject) call.others.emplace_back(member, subject);
  if (returns.call != nullptr) call.returns[member] = returns;
  call.begins = std::max(call.begins, when);
  if (++call.come == calls_.size()) start_next();
  return static_cast<std::uint64_t>(number);
}

Time Group::returns_not_before(std::uint64_t number) const {
  const auto call = static_cast<std::int64_t>(number);
  const Call& of = at(call);
  return (call < started_ ? of.begins : std::max(of.begins, world_.now())) + of.least;
}

Task Group::call(std::size_t member, Bytes bytes) {
  launch(member, bytes);
  co_await over(member);
}

void Group::start_next() {
  while (under_way_ < streams_ && started_ < first_ + static_cast<std::int64_t>(open_.size())) {
    Call& next = open_[static_cast<std::size_t>(started_ - first_)];
    if (next.come < calls_.size() || !next.others.empty()) return;
    ++under_way_;
    const std::int64_t number = started_++;
    if (next.begins > world_.engine.now()) {
      world_.engine.at(next.begins, Phase::kNormal, [this, number] { begin(number); });
    } else {
      next.begins = world_.engine.now();
      begin(number);
    }
  }
}

void Group::begin(std::int64_t number) {
  const auto [bytes, unused, medium] = at(number).subject;
  if (watch_ != nullptr) watch_->began(number, bytes);
  mediums_[medium]->start(
      bytes, {[](void* self, std::uint64_t which) { static_cast<Group*>(self)->end(which); }, this,
              static_cast<std::uint64_t>(number)});
}

void Group::end(std::uint64_t number) {
  --under_way_;
  const auto call = static_cast<std::int64_t>(number);
  Call& ended = at(call);
  ended.is_over = true;
  const Bytes bytes = ended.subject.bytes;
  const Time start = ended.begins;
  const std::vector<Callback> returns = std::move(ended.returns);
  start_next();  // a device starts what waits for the stream without asking anyone
  if (watch_ != nullptr) watch_->ended(call, bytes, start);
  while (!open_.empty() && open_.front().is_over) {
    open_.pop_front();
    ++first_;
  }
  over_.add();
  for (const Callback& back : returns) {
    if (back.call != nullptr) back();
  }
}

std::vector<Group::Open> Group::open() const {
  std::vector<Open> all;
  for (std::int64_t call = first_; call < first_ + static_cast<std::int64_t>(open_.size());
       ++call) {
    for (std::size_t member = 0; member < calls_.size(); ++member) {
      if (const auto subject = called(call, member)) all.push_back({member, call, *subject});
    }
  }
  return all;
}

std::optional<Group::Subject> Group::called(std::int64_t call, std::size_t member) const {
  if (call < first_ || call >= calls_[member] || at(call).is_over) return std::nullopt;
  for (const auto& [other, subject] : at(call).others) {
    if (other == member) return subject;
  }
  return at(call).subject;
}

std::string Group::Over::tell(std::int64_t needs) const {
  std::string text = fmt::format("{}: call {} lacks members", name().text(), needs);
  constexpr int kMost = 8;
  int named = 0;
  for (std::size_t m = 0; m < group_.calls_.size(); ++m) {
    if (group_.calls_[m] >= needs) continue;
    if (++named > kMost) return text + " and others";
    text += fmt::format(" {}", m);
  }
  return named == 0 ? fmt::format("{}: call {}", name().text(), needs) : text;
}

}  // namespace steptime
