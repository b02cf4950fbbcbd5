#include "calibration/rounds.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

/// What a program reads from its command line.
struct Parsed {
  explicit Parsed(const std::vector<std::string>& args) : options(described) {
    po::store(po::command_line_parser(args).options(described).run(), values);
    po::notify(values);
  }
  po::options_description described;
  MeasureOptions options;
  po::variables_map values;
};

// 4, then times 2, until the last size, which is there whatever the factor.
TEST(Rounds, SizesGrowByAFactorUpToTheLast) {
  EXPECT_EQ(size_grid(4, 20, 2), (std::vector<std::int64_t>{4, 8, 16, 20}));
  EXPECT_EQ(size_grid(5, 5, 2), (std::vector<std::int64_t>{8}));
  // 4 sqrt 2 = 5.7, rounded to whole values of 4 B: 4, 4 (left out), 8, 12 (11.3), 16.
  EXPECT_EQ(size_grid(4, 16, 1.41421356), (std::vector<std::int64_t>{4, 8, 12, 16}));
  EXPECT_EQ(Parsed({"-o", "x", "-b", "1K", "-e", "4 KiB"}).options.sizes(),
            (std::vector<std::int64_t>{1024, 2048, 4096}));
}

TEST(Rounds, RefuseWhatCannotBeMeasured) {
  const auto sizes = [](const std::vector<std::string>& args) {
    return message_of<InputError>([&] { (void)Parsed(args).options.sizes(); });
  };
  EXPECT_EQ(sizes({"-o", "x", "-b", "many"}),
            "-b: expected a size such as 4, 64K or \"25 MiB\", got \"many\"");
  EXPECT_EQ(sizes({"-o", "x", "-b", "8", "-e", "4"}),
            "-b, -e: expected 4 B to 4 GiB, got 8 to 4 B");
  EXPECT_EQ(sizes({"-o", "x", "-f", "1"}), "-f: expected more than 1, got 1");
  EXPECT_EQ(message_of<InputError>([] {
              Parsed({"-o", "x", "--rounds", "1"}).options.check();
            }),
            "--rounds: expected 2 to 10000, got 1");
}

// Three rounds of two operations, each with a call before its sizes: of its five calls the first
// round counts none, the second one 7, 8 and 10. Times tell the calls apart.
TEST(Rounds, TakeTurnsAndLeaveTheFirstOut) {
  double calls = 0;
  const auto next = [&](std::int64_t) { return ++calls; };
  const std::vector<TimedOperation> all{{"sum", 2, next}, {"launch", 1, next, false}};
  const std::vector<std::int64_t> sizes{4, 8};
  const MeasuredRounds measured = measure_rounds(
      all, sizes, Parsed({"-o", "x", "--rounds", "2"}).options, [] { return false; }, {});
  ASSERT_EQ(measured.series.size(), 2U);
  EXPECT_EQ(measured.series[0].ranks, 2);
  ASSERT_EQ(measured.series[0].sizes.size(), 2U);
  EXPECT_EQ(measured.series[0].sizes[0].seconds, (std::vector<double>{7, 12}));
  EXPECT_EQ(measured.series[0].sizes[1].seconds, (std::vector<double>{8, 13}));
  ASSERT_EQ(measured.series[1].sizes.size(), 1U);
  EXPECT_EQ(measured.series[1].sizes[0].bytes, 0);
  EXPECT_EQ(measured.series[1].sizes[0].seconds, (std::vector<double>{10, 15}));
}

TEST(Rounds, EndInTimeOnceThereAreTwo) {
  const std::vector<TimedOperation> all{{"sum", 2, [](std::int64_t) { return 1.0; }}};
  const std::vector<std::int64_t> sizes{4};
  const Parsed parsed({"-o", "x", "--rounds", "9"});
  const auto measured =
      measure_rounds(all, sizes, parsed.options, [] { return true; }, {}).series.front();
  EXPECT_EQ(measured.sizes.front().seconds.size(), 2U);
  EXPECT_EQ(message_of<InputError>([&] {
              measure_rounds(all, sizes, Parsed({"-o", "x", "--only", "copy"}).options,
                             [] { return true; }, {});
            }),
            "--only: unknown \"copy\"; known: sum");
}

}  // namespace
}  // namespace steptime
