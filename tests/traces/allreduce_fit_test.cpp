// Do least-squares lines through the logged all-reduce messages have the numbers that
// traces/README.md gives?
#include "sim/config/data_dir.h"
#include "sim/config/json.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Message {
  double bytes;
  double us;
};

/// The rows of a file of traces/k80/allreduce/.
std::vector<Message> read_messages(const std::string& name) {
  std::istringstream in(read_file((data_dir() / "traces/k80/allreduce" / name).string()));
  std::string line;
  while (std::getline(in, line) && line.starts_with('#')) {
  }
  EXPECT_EQ(line, "bytes,time_us") << name;
  std::vector<Message> messages;
  char comma = 0;
  for (Message m{}; in >> m.bytes >> comma >> m.us;)
    messages.push_back(m);
  EXPECT_TRUE(in.eof()) << name;
  return messages;
}

struct Line {
  double a_us;
  double b_us_per_byte;
};

/// Ordinary least squares: b = sum (x - X)(y - Y) / sum (x - X)^2, a = Y - b X with the means X, Y.
Line fit(const std::vector<Message>& messages) {
  const auto n = static_cast<double>(messages.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const Message& m : messages) {
    x += m.bytes / n;
    y += m.us / n;
  }
  for (const Message& m : messages) {
    xx += (m.bytes - x) * (m.bytes - x);
    xy += (m.bytes - x) * (m.us - y);
  }
  return {y - xy / xx * x, xy / xx};
}

TEST(AllreduceFit, MessagesOfTrainingOnTwoNodes) {
  const auto messages = read_messages("layerwise_2.csv");
  EXPECT_EQ(messages.size(), 256U);
  EXPECT_NEAR(fit(messages).a_us, 490.609, 5e-4);
  EXPECT_NEAR(fit(messages).b_us_per_byte, 1.824137e-3, 5e-10);
}

TEST(AllreduceFit, MessagesOfTrainingOnFourNodes) {
  const auto messages = read_messages("layerwise_4.csv");
  EXPECT_EQ(messages.size(), 192U);
  EXPECT_NEAR(fit(messages).a_us, 1115.139, 5e-4);
  EXPECT_NEAR(fit(messages).b_us_per_byte, 2.849226e-3, 5e-10);
}

TEST(AllreduceFit, MessagesOfTrainingOnEightNodes) {
  const auto messages = read_messages("layerwise_8.csv");
  EXPECT_EQ(messages.size(), 128U);
  EXPECT_NEAR(fit(messages).a_us, 1672.901, 5e-4);
  EXPECT_NEAR(fit(messages).b_us_per_byte, 3.886964e-3, 5e-10);
}

/// 266 sizes: 11 powers of two from 4 B to 4 KiB, then the other 255 multiples of 4 KiB to 1 MiB.
TEST(AllreduceFit, BenchmarkSizesIncrease) {
  for (const std::string name : {"osu_2.csv", "osu_4.csv", "osu_8.csv"}) {
    const auto messages = read_messages(name);
    ASSERT_EQ(messages.size(), 266U) << name;
    EXPECT_EQ(messages.front().bytes, 4) << name;
    EXPECT_EQ(messages.back().bytes, 1048576) << name;
    for (std::size_t i = 1; i < messages.size(); ++i)
      EXPECT_LT(messages[i - 1].bytes, messages[i].bytes) << name;
  }
}

}  // namespace
}  // namespace steptime
