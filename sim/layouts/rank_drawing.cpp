#include "sim/layouts/rank_drawing.h"

#include <array>
#include <string>

#include <fmt/format.h>

namespace steptime {

std::string_view name_of(PassKind kind) {
  switch (kind) {
    case PassKind::kForward:
      return "forward";
    case PassKind::kBackward:
      return "backward";
    case PassKind::kInputGradient:
      return "input gradients";
    default:
      return "weight gradients";
  }
}

RankDrawing::RankDrawing(const World& world, Timeline* timeline, std::int32_t place)
    : world_(world),
      timeline_(timeline != nullptr && timeline->shows_rank(place) ? timeline : nullptr),
      spans_(timeline, place) {
  if (timeline_ != nullptr)
    memory_ = timeline_->add_counter("memory", fmt::format("rank {}", place), "GB");
}

void RankDrawing::pass(Pass pass, Time start) {
  if (!is_on()) return;
  spans_.add("compute", fmt::format("{} {}", name_of(pass.kind), pass.micro_batch), start,
             world_.now(),
             {.tensors = fmt::format("micro-batch {}, chunk {}", pass.micro_batch, pass.chunk)});
}

void RankDrawing::exchange(std::string_view lane, std::string_view name, Bytes bytes, Time start) {
  if (is_on()) spans_.add(lane, std::string(name), start, world_.now(), {.bytes = bytes.count});
}

void RankDrawing::watch(Group& group, GroupKind kind) {
  if (!is_on()) return;
  watches_.push_back(std::make_unique<Collectives>(*this, group, kind));
  group.watch(watches_.back().get());
}

void RankDrawing::Collectives::ended(std::int64_t call, Bytes bytes, Time start) {
  // In the order of GroupCosts::all().
  constexpr std::array<std::string_view, 5> kWays{"all-reduce", "reduce-scatter", "all-gather",
                                                  "all-to-all", "send"};
  drawing_.exchange(name_of(kind_), kWays[group_.subject(call).medium], bytes, start);
}

void RankDrawing::holds(std::int64_t bytes, Time since) {
  if (timeline_ != nullptr) timeline_->add_value(memory_, since, static_cast<double>(bytes) * 1e-9);
}

}  // namespace steptime
