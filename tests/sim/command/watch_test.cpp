// Closed descriptors, signals that nothing waits for, and exit codes are in main_test.sh, as they
// end the program.
#include "sim/command/watch.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Watch, TellsNothingWhileNothingHappens) {
  const Watch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_FALSE(watch.has_no_output());
  EXPECT_FALSE(*watch.closed());
  EXPECT_FALSE(*watch.interrupted());
}

}  // namespace
}  // namespace steptime
