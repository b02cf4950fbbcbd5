#include "netmodels/programs.h"
#include "tests/support/play.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

double seconds(std::unique_ptr<Program> program, std::int64_t nodes) {
  return static_cast<double>(play(std::move(program), star_cluster(nodes))) / 1e12;
}

TEST(PushPull, IncastEqualsItsClosedForm) {
  // The narrower of the server's port (N parts) and the worker's (S parts) is full all the time:
  // 2 (alpha + max(N M / S, M) beta).
  const std::int64_t m = 12'000'000;
  for (const Rank workers : {1, 2, 3, 16, 64}) {
    for (const Rank servers : {1, 2, 4, 8}) {
      const double part = static_cast<double>(m) / servers;
      const double closed = 2 * (50e-6 + part * std::max(workers, servers) * 800e-12);
      EXPECT_NEAR(seconds(push_pull(workers, servers, {0, m}), workers + servers) / closed, 1, 1e-6)
          << workers << " workers, " << servers << " servers";
    }
  }
}

TEST(PushPull, EqualsMeasuredIncastOfAFlowSimulator) {
  // SimGrid 3.32 S4U, star of 50 us and 1.25 GB/s: N workers push 100 MB to one server and pull it
  // back, in one message or in 160.
  struct Row {
    Rank workers;
    std::int32_t messages;
    double seconds;
  };
  for (const Row& row : {Row{64, 1, 10.2401}, Row{1024, 1, 163.8401}, Row{64, 160, 10.256},
                         Row{1024, 160, 163.856}}) {
    EXPECT_NEAR(
        seconds(push_pull(row.workers, 1, {0, 100'000'000}, row.messages), row.workers + 1) /
            row.seconds,
        1, 1e-6)
        << row.workers << " workers, " << row.messages << " messages";
  }
}

TEST(PushPull, LeavesTheSumOnEveryWorker) {
  for (Rank workers = 1; workers <= 33; workers += 4) {
    for (const Rank servers : {1, 2, 3, 7}) {
      for (const std::int64_t m : {0, 2, 100}) {
        auto start = random_data(workers + servers, m);
        for (Rank s = workers; s < workers + servers; ++s)
          std::fill(start[static_cast<std::size_t>(s)].begin(),
                    start[static_cast<std::size_t>(s)].end(), 0);
        const auto end = carry(one(push_pull(workers, servers, {0, m}, 2)),
                               star_cluster(workers + servers, kGamma), start);
        ASSERT_FALSE(end.empty());
        for (Rank w = 0; w < workers; ++w)
          EXPECT_EQ(end[static_cast<std::size_t>(w)], sum_of(start));
      }
    }
  }
}

TEST(PushPull, ServersAddUpOneMessageAtATime) {
  // 3 workers push 1000 B each at a third of the port: all arrive at alpha + 3000 beta, and are
  // added up one after the other before the pull.
  EXPECT_EQ(play(push_pull(3, 1, {0, 1000}), star_cluster(4, kGamma)),
            message_ps(3000) + 3 * sum_ps(1000) + message_ps(3000));
}

}  // namespace
}  // namespace steptime
