#include "sim/command/progress_line.h"

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

TEST(ProgressLine, SaysHowFarAndHowLongAndGoesAway) {
  std::ostringstream out;
  std::ostringstream err;
  const Terminal terminal{.out = out, .err = err, .shows_progress = true};
  {
    ProgressLine line(terminal);
    line.show(0.1);  // too soon
    EXPECT_EQ(err.str(), "");
    std::this_thread::sleep_for(milliseconds(110));
    line.show(0.999, "7/8 points, ");
    EXPECT_EQ(err.str(), "\r\033[K7/8 points, 100 %, 0 s left");
  }
  EXPECT_TRUE(err.str().ends_with("\r\033[K"));
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressLine, SaysNothingToAFile) {
  std::ostringstream out;
  std::ostringstream err;
  const Terminal terminal{.out = out, .err = err, .shows_progress = false};
  {
    ProgressLine line(terminal);
    std::this_thread::sleep_for(milliseconds(110));
    line.show(0.5);
  }
  EXPECT_EQ(err.str(), "");
}

TEST(ProgressLine, TheListenerEndsWhatIsInterrupted) {
  std::ostringstream out;
  std::ostringstream err;
  std::atomic<bool> interrupted{false};
  const Terminal terminal{
      .out = out, .err = err, .shows_progress = true, .interrupted = &interrupted};
  ProgressLine line(terminal);
  const OnProgress listener = line.listener();
  const OnProgress silent = until_interrupted(terminal);
  std::this_thread::sleep_for(milliseconds(110));
  silent(0.5);
  EXPECT_EQ(err.str(), "");
  listener(0.999);
  EXPECT_EQ(err.str(), "\r\033[K100 %, 0 s left");
  interrupted = true;
  EXPECT_THROW(listener(0.999), Interrupted);
  EXPECT_THROW(silent(0.999), Interrupted);
}

}  // namespace
}  // namespace steptime
