#include "sim/layouts/earliest_rank.h"

#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

Time at(std::int64_t ps) {
  return Time{Duration(ps)};
}

// 5 ps and 2 ps a byte: 25 ps for 10 B. The second call comes at 10, and waits until 25.
TEST(CallLine, CallsGoOneAfterAnother) {
  LinkTimetable timetable(0);
  CallLine line(timetable, nullptr);
  const LinearCollective cost({Duration(5), {2e-12}});
  EXPECT_EQ(line.call(cost, {10}, at(0)).end, at(25));
  const CallLine::Call second = line.call(cost, {10}, at(10));
  EXPECT_EQ(second.end, at(50));
  EXPECT_EQ(second.alone.count(), 25);
  EXPECT_EQ(line.end_of(1), at(25));
  EXPECT_EQ(line.over(), at(50));
  EXPECT_EQ(line.calls(), 2);
}

// Known by its time only: a start-up of 5 ps, and 20 ps on its links: [5, 25).
TEST(CallLine, ItsLinksAreBusyBehindItsStartUp) {
  const GroupLinks links{.between_nodes = {{0}}, .known_by_time = Pairs::kBetweenNodes};
  const Network::Loads loads{{0}};
  for (const std::int64_t since : {4, 25}) {
    LinkTimetable timetable(1);
    CallLine line(timetable, &links);
    LinkTimetable::Line& beside = timetable.add(loads);
    LinkTimetable::Line& within = timetable.add(loads);
    line.call(LinearCollective({Duration(5), {2e-12}}), {10}, at(0));
    beside.take(at(since), Duration(1));
    EXPECT_FALSE(timetable.meet());
    within.take(at(24), Duration(1));
    EXPECT_TRUE(timetable.meet());
  }
}

TEST(CallLine, SaysWhereTimesAreTooLongToCount) {
  LinkTimetable timetable(0);
  CallLine line(timetable, nullptr);
  line.call(LinearCollective({kMostCounted + Duration(1), {}}), {1}, at(0));
  EXPECT_FALSE(line.is_in_range());
}

TEST(CameAt, KeepsWhatIsNotUsedYetHoweverMuch) {
  CameAt came;
  std::int64_t used = 0;
  for (std::int64_t micro_batch = 0; micro_batch < 100; ++micro_batch) {
    EXPECT_FALSE(came.has(micro_batch));
    came.add(at(10 * micro_batch));
    if (micro_batch % 3 == 0) {  // two of three wait
      EXPECT_EQ(came.use(used), at(10 * used));
      ++used;
    }
  }
  for (; used < 100; ++used)
    EXPECT_EQ(came.use(used), at(10 * used));
}

TEST(CameAt, GivesMicroBatchesInTurn) {
  CameAt came;
  came.add(at(1));
  came.add(at(2));
  EXPECT_THROW(came.use(1), InternalError);
}

// One place, two micro-batches of F 10, I 20 and W 10 ps: 80 ps of compute; a micro-batch keeps 7 B
// from the beginning of F to the end of B, so that 1f1b never has two. 100 parameters are weights
// and gradients of 1 B.
TEST(EarliestRank, GoesThroughItsPassesAndHoldsWhatTheyKeep) {
  ModelWork work = work_of_blocks(1, {10, 20, 10}, 100);
  work.layers[0].kept = {7};
  const LayoutPlan plan = plan_of({.micro_batches = 2}, work);
  const StepPasses passes(plan);
  const SharedLinks links(plan);
  LinkTimetable timetable(0);
  EarliestRank rank(plan, links, timetable, passes.chunks[0], passes.order[0], 0, true);
  rank.join(rank, rank);
  std::vector<EarliestRank*> woken;
  rank.gathers_updates();
  rank.go_on(woken);
  EXPECT_TRUE(rank.passes_are_over());
  EXPECT_TRUE(woken.empty());
  rank.sums_gradients();
  rank.ends_step(rank.at());
  const StageTimes times = rank.times();
  EXPECT_EQ(times.end.count(), 80);
  EXPECT_EQ(times.spent[static_cast<std::size_t>(Spent::kCompute)].count(), 80);
  EXPECT_EQ(times.peak, 207);
  EXPECT_EQ(times.left[static_cast<std::size_t>(HeldFor::kActivations)], 0);
}

}  // namespace
}  // namespace steptime
