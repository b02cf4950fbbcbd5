// Do least-squares lines through the logged all-reduce messages have the numbers that
// traces/README.md gives?
#include "sim/config/data_dir.h"
#include "sim/evidence/measurements.h"

#include <string>
#include <utility>
#include <vector>

#include <boost/math/statistics/linear_regression.hpp>
#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Messages {
  std::vector<double> bytes;
  std::vector<double> us;
};

/// The rows of a file of traces/k80/allreduce/.
Messages read_messages(const std::string& name) {
  Messages messages;
  for (const Measurement& m :
       read_measurements((data_dir() / "traces/k80/allreduce" / name).string())) {
    messages.bytes.push_back(static_cast<double>(m.bytes));
    messages.us.push_back(m.time_us);
  }
  return messages;
}

/// The line a + b M of least squares, in us and us/B.
std::pair<double, double> fit(const Messages& messages) {
  return boost::math::statistics::simple_ordinary_least_squares(messages.bytes, messages.us);
}

TEST(AllreduceFit, MessagesOfTrainingOnTwoNodes) {
  const auto messages = read_messages("layerwise_2.csv");
  EXPECT_EQ(messages.bytes.size(), 256U);
  EXPECT_NEAR(fit(messages).first, 490.609, 5e-4);
  EXPECT_NEAR(fit(messages).second, 1.824137e-3, 5e-10);
}

TEST(AllreduceFit, MessagesOfTrainingOnFourNodes) {
  const auto messages = read_messages("layerwise_4.csv");
  EXPECT_EQ(messages.bytes.size(), 192U);
  EXPECT_NEAR(fit(messages).first, 1115.139, 5e-4);
  EXPECT_NEAR(fit(messages).second, 2.849226e-3, 5e-10);
}

TEST(AllreduceFit, MessagesOfTrainingOnEightNodes) {
  const auto messages = read_messages("layerwise_8.csv");
  EXPECT_EQ(messages.bytes.size(), 128U);
  EXPECT_NEAR(fit(messages).first, 1672.901, 5e-4);
  EXPECT_NEAR(fit(messages).second, 3.886964e-3, 5e-10);
}

/// 266 sizes: 11 powers of two from 4 B to 4 KiB, then the other 255 multiples of 4 KiB to 1 MiB.
TEST(AllreduceFit, BenchmarkSizesIncrease) {
  for (const std::string name : {"osu_2.csv", "osu_4.csv", "osu_8.csv"}) {
    const auto messages = read_messages(name);
    ASSERT_EQ(messages.bytes.size(), 266U) << name;
    EXPECT_EQ(messages.bytes.front(), 4) << name;
    EXPECT_EQ(messages.bytes.back(), 1048576) << name;
    for (std::size_t i = 1; i < messages.bytes.size(); ++i)
      EXPECT_LT(messages.bytes[i - 1], messages.bytes[i]) << name;
  }
}

}  // namespace
}  // namespace steptime
