#include "netmodels/programs.h"
#include "sim/config/json.h"
#include "tests/support/play.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::int64_t ceil_of(std::int64_t bytes, std::int64_t parts) {
  return bytes / parts + (bytes % parts != 0 ? 1 : 0);
}

TEST(RingProgram, WithoutContentionCostsItsClosedForm) {
  // Some segment is as long as the longest in every step and is passed on without a stop, so that
  // the time is 2 (N - 1)(alpha + ceil(M / N) beta) + (N - 1) ceil(M / N) gamma, to the picosecond:
  // on the star, 800 ps and 1000 ps are whole numbers. An empty segment costs its alpha.
  for (Rank n = 2; n <= 33; ++n) {
    for (const std::int64_t m : kSizes) {
      const std::int64_t segment = ceil_of(m, n);
      EXPECT_EQ(play(ring_all_reduce(n, {0, m}), star_cluster(n)),
                2 * (n - 1) * message_ps(segment))
          << n << " ranks, " << m << " B";
      EXPECT_EQ(play(ring_all_reduce(n, {0, m}), star_cluster(n, kGamma)),
                2 * (n - 1) * message_ps(segment) + (n - 1) * sum_ps(segment))
          << n << " ranks, " << m << " B";
    }
  }
}

/// Step by step: a transfer starts when both of its ends have ended their last step, and a step
/// ends when what was sent has arrived and what was received has been added up.
std::int64_t recurrence(Rank n, std::int64_t m, std::int64_t slow_rank, std::int64_t slow_factor) {
  std::vector<std::int64_t> segment(static_cast<std::size_t>(n), m / n);
  for (std::int64_t i = 0; i < m % n; ++i)
    ++segment[static_cast<std::size_t>(i)];
  std::vector<std::int64_t> end(static_cast<std::size_t>(n), 0);
  for (Rank step = 0; step < 2 * (n - 1); ++step) {
    std::vector<std::int64_t> next(end.size(), 0);
    for (Rank r = 0; r < n; ++r) {
      const Rank to = (r + 1) % n;
      const bool reduces = step < n - 1;
      const Rank which = reduces ? (r - step + n) % n : (r + 1 - (step - n + 1) + n) % n;
      const std::int64_t bytes = segment[static_cast<std::size_t>(which)];
      const std::int64_t start =
          std::max(end[static_cast<std::size_t>(r)], end[static_cast<std::size_t>(to)]);
      const std::int64_t arrival =
          start + kLatencyPs + bytes * kPsPerByte * (r == slow_rank ? slow_factor : 1);
      auto& sender = next[static_cast<std::size_t>(r)];
      auto& receiver = next[static_cast<std::size_t>(to)];
      sender = std::max(sender, arrival);
      receiver = std::max(receiver, arrival + (reduces ? sum_ps(bytes) : 0));
    }
    end = next;
  }
  return *std::max_element(end.begin(), end.end());
}

TEST(RingProgram, EqualsAPerRankRecurrence) {
  for (Rank n = 2; n <= 33; ++n) {
    for (const std::int64_t m : kSizes) {
      EXPECT_EQ(play(ring_all_reduce(n, {0, m}), star_cluster(n, kGamma)), recurrence(n, m, -1, 1))
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(RingProgram, EqualsTheRecurrenceWithOneSlowLink) {
  for (const Rank n : {2, 3, 8, 17, 33}) {
    for (const std::int64_t m : kSizes) {
      Machine machine(star_cluster(n));
      machine.set_bandwidth(0, {1.25e9 / 4});  // the way out of rank 0
      EXPECT_EQ(played_time(one(ring_all_reduce(n, {0, m})), machine, kGamma, {}).count(),
                recurrence(n, m, 0, 4))
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(RingProgram, LeavesTheSumOnEveryRank) {
  for (Rank n = 2; n <= 33; ++n) {
    for (const std::int64_t m : {0, 1, 5, 97, 1000 + 7 * n})
      EXPECT_TRUE(all_reduces(one(ring_all_reduce(n, {0, m})), n, m, star_cluster(n)))
          << n << ' ' << m;
  }
}

TEST(RingProgram, SeveralRingsShareTheData) {
  // Stride s (coprime with 8) makes rank r send to r + s.
  Programs programs;
  programs.push_back(ring_all_reduce(8, {0, 500}));
  programs.push_back(ring_all_reduce(8, {500, 501}, 3));
  programs.push_back(ring_all_reduce(8, {1001, 77}, 7));
  EXPECT_TRUE(all_reduces(programs, 8, 1078, star_cluster(8, kGamma)));
}

TEST(RingProgram, ReduceScatterAndAllGatherAreItsHalves) {
  const Rank n = 5;
  const std::int64_t m = 23;
  const auto start = random_data(n, m);
  const auto sum = sum_of(start);
  const auto scattered = carry(one(ring_reduce_scatter(n, {0, m})), star_cluster(n), start);
  ASSERT_FALSE(scattered.empty());
  for (Rank r = 0; r < n; ++r) {
    const Slice part = part_of({0, m}, (r + 1) % n, n);
    for (std::int64_t i = part.offset; i < part.offset + part.bytes; ++i)
      EXPECT_EQ(scattered[static_cast<std::size_t>(r)][static_cast<std::size_t>(i)],
                sum[static_cast<std::size_t>(i)]);
  }
  const auto gathered = carry(one(ring_all_gather(n, {0, m})), star_cluster(n), scattered);
  ASSERT_FALSE(gathered.empty());
  for (const auto& values : gathered)
    EXPECT_EQ(values, sum);
}

/// `transfers` are what the ranks do in their step `step`, and all that they do.
void expect_transfers(const Program& program, std::int32_t step, const Json& transfers,
                      std::int64_t length, bool reduces) {
  const Rank n = program.ranks();
  ASSERT_EQ(transfers.size(), static_cast<std::size_t>(n));
  for (const Json& transfer : transfers) {
    const Rank from = transfer.at(0);
    const Rank to = transfer.at(1);
    const Op sent = program.op(from, step);
    const Op received = program.op(to, step);
    EXPECT_EQ(sent.send.first, to);
    EXPECT_EQ(received.recv.first, from);
    EXPECT_EQ(sent.send.count, 1);
    EXPECT_EQ(received.recv.count, 1);
    EXPECT_EQ(sent.send.slice, part_of({0, length}, transfer.at(2), n));
    EXPECT_EQ(sent.send.slice.bytes, transfer.at(3));
    EXPECT_EQ(received.recv.slice, sent.send.slice);
    EXPECT_EQ(received.reduce, reduces);
  }
}

TEST(RingProgram, SendsTheSegmentsOfBaiduAllreduce) {
  const std::string file = STEPTIME_SOURCE_DIR "/tests/netmodels/ring_cases.json";
  const Json cases = parse_json(read_file(file), file).at("cases");
  EXPECT_EQ(cases.size(), 5U);
  for (const Json& each : cases) {
    const Rank n = each.at("n");
    const std::int64_t length = each.at("length");
    SCOPED_TRACE(std::to_string(n) + " ranks, " + std::to_string(length) + " elements");
    for (Rank i = 0; i < n; ++i) {
      EXPECT_EQ(part_of({0, length}, i, n).bytes,
                each.at("segment_sizes").at(static_cast<std::size_t>(i)));
    }
    const auto whole = ring_all_reduce(n, {0, length});
    const auto scatter = ring_reduce_scatter(n, {0, length});
    const auto gather = ring_all_gather(n, {0, length});
    EXPECT_EQ(each.at("steps").size(), static_cast<std::size_t>(whole->steps(0)));
    for (std::int32_t step = 0; step < whole->steps(0); ++step) {
      const Json& one = each.at("steps").at(static_cast<std::size_t>(step));
      const bool reduces = one.at("phase") == "reduce-scatter";
      EXPECT_EQ(reduces, step < n - 1);
      expect_transfers(*whole, step, one.at("transfers"), length, reduces);
      expect_transfers(reduces ? *scatter : *gather, one.at("step"), one.at("transfers"), length,
                       reduces);
    }
  }
}

}  // namespace
}  // namespace steptime
