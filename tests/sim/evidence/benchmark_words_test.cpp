#include "sim/evidence/benchmark_words.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(BenchmarkWords, StandBetweenSpaces) {
  EXPECT_EQ(words_of("  8 \t2  float "), (std::vector<std::string_view>{"8", "2", "float"}));
  EXPECT_TRUE(words_of(" \t").empty());
  EXPECT_EQ(without_labels("sum      -1[0]    75.38"), "sum      -1     75.38");
}

TEST(BenchmarkWords, NumbersAreToldFromOtherWords) {
  for (const char* number : {"8", "32768.5", "1e30", "99999999999999999999"})
    EXPECT_TRUE(looks_like_number(number)) << number;
  for (const char* word : {"", "-", "e5", "8MB", "12:00", "[0]", "float"})
    EXPECT_FALSE(looks_like_number(word)) << word;
}

TEST(BenchmarkWords, NameOperationsInManyWays) {
  EXPECT_EQ(named_operation("all_reduce"), "all-reduce");
  EXPECT_EQ(named_operation(" Personalized "), "personalized");
  EXPECT_EQ(named_operation("All-to-All Personalized Exchange"), "all-to-all");
  EXPECT_EQ(named_operation(""), "ping-pong");  // osu_latency
}

TEST(BenchmarkWords, UnitsAreThoseOfTimes) {
  EXPECT_EQ(time_unit("time(ns)"), 1e-3);
  EXPECT_EQ(time_unit("latency_ms"), 1e3);
  EXPECT_EQ(time_unit("avg_time_s"), 1e6);
  EXPECT_EQ(time_unit("bandwidth(MB/s)"), 0);
  EXPECT_EQ(time_unit("time"), 0);
}

}  // namespace
}  // namespace steptime
