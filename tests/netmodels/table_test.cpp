#include "sim/collective/collective.h"
#include "sim/core/error.h"
#include "tests/support/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kUs{1'000'000};

std::unique_ptr<Collective> table(const ScratchFile& file, const std::string& more = "") {
  return make<Collective>(R"({"type": "table", "file": ")" + file.path() + "\"" + more + "}",
                          flat_cluster(2));
}
/// The message without the folder of the scratch file.
std::string table_error(const std::string& rows) {
  const ScratchFile file("t.csv", rows);
  const std::string message = message_of<InputError>([&] { table(file); });
  const auto start = message.find(file.path());
  return start == std::string::npos ? message : "FILE" + message.substr(file.path().size());
}

//  100 B 10 us, 200 B 30 us, 400 B 40 us
const std::string kRows = "bytes,time_us\n100,10\n200,30\n400,40\n";

TEST(Table, IsPiecewiseLinearBetweenItsSizes) {
  const ScratchFile file("t.csv", kRows);
  const auto t = table(file);
  EXPECT_EQ(t->time(Bytes{100}), 10 * kUs);
  EXPECT_EQ(t->time(Bytes{150}), 20 * kUs);
  EXPECT_EQ(t->time(Bytes{200}), 30 * kUs);
  EXPECT_EQ(t->time(Bytes{300}), 35 * kUs);
  EXPECT_EQ(t->time(Bytes{400}), 40 * kUs);
  EXPECT_FALSE(t->linear().has_value());
}

TEST(Table, TheNearestSegmentIsProlongedAndFlagged) {
  const ScratchFile file("t.csv", kRows);
  const auto t = table(file);
  EXPECT_EQ(t->time(Bytes{75}), 5 * kUs);    // 10 - 25 x 0.2
  EXPECT_EQ(t->time(Bytes{10}), 0 * kUs);    // 10 - 90 x 0.2 < 0: no time is negative
  EXPECT_EQ(t->time(Bytes{600}), 50 * kUs);  // 40 + 200 x 0.05
  EXPECT_EQ(t->outside_domain(Bytes{100}), "");
  EXPECT_EQ(t->outside_domain(Bytes{400}), "");
  EXPECT_EQ(t->outside_domain(Bytes{99}), "99 B is outside the measured 100 to 400 B");
  EXPECT_EQ(t->outside_domain(Bytes{401}), "401 B is outside the measured 100 to 400 B");
}

TEST(Table, RefusesWhatItIsToldToRefuse) {
  const ScratchFile file("t.csv", kRows);
  const auto t = table(file, R"(, "extrapolate": "refuse")");
  EXPECT_EQ(t->time(Bytes{400}), 40 * kUs);
  EXPECT_EQ(message_of<InputError>([&] { t->time(Bytes{401}); }),
            file.path() + ": 401 B is outside the measured 100 to 400 B");
}

TEST(Table, AMeasuredTimeThatFallsIsNoise) {
  const ScratchFile file("t.csv", "bytes,time_us\n100,10\n200,8\n400,14\n");
  const auto t = table(file);
  EXPECT_EQ(t->time(Bytes{200}), 10 * kUs);  // the larger of 8 and the 10 before it
  EXPECT_EQ(t->time(Bytes{150}), 10 * kUs);
  EXPECT_EQ(t->time(Bytes{300}), 12 * kUs);
}

// Sizes 100, 200, 300 at 12, 16, 20 us lie on the line 8 us + 0.04 us/B.
TEST(Table, StartupIsTheInterceptOfTheFittedLine) {
  const ScratchFile on_line("t.csv", "100,12\n200,16\n300,20\n");
  EXPECT_EQ(table(on_line)->startup(), 8 * kUs);
  // 100, 200, 300 at 12, 18, 18: mean 16 at 200, slope (-100 x -4 + 100 x 2) / 20000 = 0.03 us/B,
  // intercept 16 - 6 = 10 us.
  const ScratchFile off_line("u.csv", "100,12\n200,18\n300,18\n");
  EXPECT_EQ(table(off_line)->startup(), 10 * kUs);
  // 100, 200 at 10, 30: the line meets 0 B at -10 us, and no startup is negative.
  const ScratchFile steep("v.csv", "100,10\n200,30\n");
  EXPECT_EQ(table(steep)->startup(), 0 * kUs);
}

TEST(Table, CommentsBlankLinesAndCarriageReturnsAreSkipped) {
  const ScratchFile file("t.csv", "# measured\r\nbytes,time_us\r\n\r\n100, 10\r\n 200 ,30\r\n");
  EXPECT_EQ(table(file)->time(Bytes{150}), 20 * kUs);
}

TEST(Table, ErrorsNameFileAndLine) {
  EXPECT_EQ(table_error("bytes,time_us\n100,10\n200\n"),
            "FILE: line 3: expected \"bytes,time_us\", got \"200\"");
  EXPECT_EQ(table_error("100,10\nx,20\n"),
            "FILE: line 2: expected a number that is not negative, got \"x\"");
  EXPECT_EQ(table_error("100,10\n200,-1\n"),
            "FILE: line 2: expected a number that is not negative, got \"-1\"");
  EXPECT_EQ(table_error("100,10\n200,nan\n"),
            "FILE: line 2: expected a number that is not negative, got \"nan\"");
  EXPECT_EQ(table_error("100,10\n200,20,30\n"),
            "FILE: line 2: expected \"bytes,time_us\", got \"200,20,30\"");
  EXPECT_EQ(table_error("# c\n\n100,10\n100,20\n"),
            "FILE: line 4: expected a size above 100, got \"100\"");
  // What is no table is not quoted: it may be any file.
  for (const char* other : {"root:x:0:0\n", "# c\nsecret,1\n", "1,2,3\n", "17\n", "\"a\"b\n"})
    EXPECT_EQ(table_error(other), "FILE: expected a table of \"bytes,time_us\"");
  EXPECT_EQ(table_error("100,10\n"), "FILE: expected at least two rows, got 1");
  EXPECT_EQ(table_error(""), "FILE: expected at least two rows, got 0");
  EXPECT_EQ(message_of<InputError>([] {
              make<Collective>(R"({"type": "table", "file": "/nowhere.csv"})", flat_cluster(2));
            }),
            "x.json: /collective/file: /nowhere.csv: cannot be read: No such file or directory");
}

// In binary floating point left + (right - left) is not always right: here it comes out a
// picosecond above it, so that the end of the first segment would cost more than the flat one
// behind it.
TEST(Table, TheEndOfASegmentIsTheMeasuredTime) {
  const ScratchFile file("t.csv", "1,318935461.5\n2,2617019037.9\n3,2617019037.9\n");
  const auto t = table(file);
  EXPECT_EQ(t->time(Bytes{2}), Duration(2'617'019'037'900'000));
  EXPECT_LE(t->time(Bytes{2}), t->time(Bytes{3}));
}

}  // namespace
}  // namespace steptime
