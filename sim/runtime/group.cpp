#include "sim/runtime/group.h"

#include "sim/core/error.h"

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
  const std::int64_t number = calls_[member]++;
  const auto place = static_cast<std::size_t>(number - first_);
  if (place >= open_.size()) open_.push_back({.bytes = bytes, .medium = medium});
  Call& call = open_[place];
  STEPTIME_CHECK(call.bytes == bytes && call.medium == medium,
                 "the members of a group call different collectives");
  if (++call.come == calls_.size()) start_next();
}

Task Group::call(std::size_t member, Bytes bytes, std::size_t medium) {
  launch(member, bytes, medium);
  co_await over(member);
}

void Group::start_next() {
  while (under_way_ < streams_ && started_ < first_ + static_cast<std::int64_t>(open_.size())) {
    Call& next = open_[static_cast<std::size_t>(started_ - first_)];
    if (next.come < calls_.size()) return;
    ++under_way_;
    next.start = world_.now();
    const std::int64_t number = started_++;
    const Duration longer = watch_ == nullptr ? Duration{} : watch_->began(number, next.bytes);
    mediums_[next.medium]->start(
        next.bytes, longer,
        {[](void* self, std::uint64_t which) { static_cast<Group*>(self)->end(which); }, this,
         static_cast<std::uint64_t>(number)});
  }
}

void Group::end(std::uint64_t number) {
  --under_way_;
  const auto call = static_cast<std::int64_t>(number);
  Call& ended = open_[static_cast<std::size_t>(call - first_)];
  ended.is_over = true;
  const Bytes bytes = ended.bytes;
  const Time start = ended.start;
  if (watch_ != nullptr) watch_->left(call);
  start_next();  // a device starts what waits for the stream without asking anyone
  if (watch_ != nullptr) watch_->ended(call, bytes, start);
  while (!open_.empty() && open_.front().is_over) {
    open_.pop_front();
    ++first_;
  }
  over_.add();
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
