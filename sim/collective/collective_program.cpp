#include "sim/collective/collective_program.h"

#include "sim/core/error.h"

#include <utility>

namespace steptime {
namespace {

/// A rank's place in a stage; local < 0: it has none.
struct Place {
  Rank base = 0;  ///< the first rank of the group that the place is in
  Rank local = -1;
};

Place place_of(const Sequence::Stage& stage, Rank rank) {
  const Rank size = stage.program->ranks();
  const Rank shifted = rank - stage.first;
  if (shifted < 0) return {};
  // Groups either lie side by side (stride 1) or are a single strided one.
  const Rank group = stage.groups == 1 ? 0 : shifted / stage.group_stride;
  const Rank inside = shifted - group * stage.group_stride;
  if (group >= stage.groups || inside % stage.stride != 0 || inside / stage.stride >= size)
    return {};
  return {stage.first + group * stage.group_stride, inside / stage.stride};
}

}  // namespace

Sequence::Sequence(Rank ranks, std::vector<Stage> stages)
    : ranks_(ranks), stages_(std::move(stages)) {
  for (const Stage& stage : stages_) {
    STEPTIME_CHECK(stage.groups == 1 || stage.stride == 1, "groups must lie side by side");
  }
}

std::int32_t Sequence::steps_before(Rank rank, std::size_t stage) const {
  std::int32_t steps = 0;
  for (std::size_t s = 0; s < stage; ++s) {
    const Place place = place_of(stages_[s], rank);
    if (place.local >= 0) steps += stages_[s].program->steps(place.local);
  }
  return steps;
}

std::int32_t Sequence::steps(Rank rank) const {
  return steps_before(rank, stages_.size());
}

Op Sequence::op(Rank rank, std::int32_t step) const {
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    const Place place = place_of(stage, rank);
    if (place.local < 0) continue;
    const std::int32_t steps = stage.program->steps(place.local);
    if (step >= steps) {
      step -= steps;
      continue;
    }
    Op op = stage.program->op(place.local, step);
    const auto place_side = [&](Side& side) {
      if (side.count == 0) return;
      side.first = place.base + side.first * stage.stride;
      side.stride *= stage.stride;
      // All peers of a side come to it in the same step, and so have the same past.
      side.step += steps_before(side.first, s);
    };
    place_side(op.send);
    place_side(op.recv);
    return op;
  }
  STEPTIME_CHECK(false, "a rank was asked for a step beyond its last");
  return {};
}

double Sequence::messages() const {
  double sum = 0;
  for (const Stage& stage : stages_)
    sum += static_cast<double>(stage.groups) * stage.program->messages();
  return sum;
}

std::optional<Rounds> Sequence::rounds() const {
  Rounds all;
  for (const Stage& stage : stages_) {
    const auto rounds = stage.program->rounds();
    if (!rounds) return std::nullopt;
    for (Round round : *rounds) {
      if (stage.where != Pairs::kAny) round.where = stage.where;
      all.push_back(round);
    }
  }
  return all;
}

}  // namespace steptime
