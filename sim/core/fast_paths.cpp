#include "sim/core/fast_paths.h"

#include <array>

namespace steptime {
namespace {

constexpr std::array kFastPaths{
    FastPathRow{FastPath::kOneStep, "a recurrence over the buckets of one step",
                "ranks are alike, each step begins with nothing under way, and collectives go one "
                "after another in a known order",
                "Step.TheClosedFormIsTheSimulation"},
    FastPathRow{FastPath::kRoundsInStep, "a sum over the rounds of a collective's messages",
                "all ranks are in the same round, and no two messages of one share a link",
                "SymmetricPath.EqualsTheGeneralPath"},
    FastPathRow{
        FastPath::kCollectivesAlone,
        "a collective's time by itself, its messages played once for every size",
        "no collective meets another one, or anything else, on a link, as where they go one "
        "after another, and no link changes its rate",
        "SameSystem.RingsOneAfterAnotherTakeTheSameAtBothFidelities"},
    FastPathRow{FastPath::kOneRankForAll, "one rank in the place of all", "ranks are alike",
                "Embedding.OneRankStandsForAll"},
    FastPathRow{
        FastPath::kEarliestStarts, "a recurrence over the passes of a pipeline",
        "exchanges within passes meet no others on their links, no two exchanges at all are "
        "ever on one link at once, none slows down what is computed beside it, and nothing is "
        "drawn",
        "Layouts.EarliestStartsAreThoseOfThePrograms"},
    FastPathRow{FastPath::kPeriodsLeftOut, "a period of a pipeline's passes in the place of many",
                "all ranks have done three times what they did a period before, to the picosecond, "
                "nothing is under way longer, and nothing is drawn, sent in messages, or slowed "
                "down by what travels beside it",
                "Layouts.PeriodsThatAreLeftOutAreAsThoseBefore"}};

thread_local int without = 0;

}  // namespace

std::span<const FastPathRow> fast_paths() {
  return kFastPaths;
}

bool takes(FastPath /*path*/, bool is_exact) {
  return is_exact && without == 0;
}

WithoutFastPaths::WithoutFastPaths() {
  ++without;
}

WithoutFastPaths::~WithoutFastPaths() {
  --without;
}

}  // namespace steptime
