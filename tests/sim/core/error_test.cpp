#include "sim/core/error.h"

#include "tests/support/messages.h"

#include <stdexcept>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// The user's fault and Steptime's own end the program with different codes: no handler of one may
// catch the other.
static_assert(!std::is_base_of_v<InputError, InternalError>);
static_assert(!std::is_base_of_v<InternalError, InputError>);
static_assert(std::is_base_of_v<std::runtime_error, InputError>);
static_assert(std::is_base_of_v<std::logic_error, InternalError>);

// The contract with whoever calls the program from a script.
static_assert(static_cast<int>(Exit::kOk) == 0);
static_assert(static_cast<int>(Exit::kComparisonFailed) == 1);
static_assert(static_cast<int>(Exit::kBadInput) == 2);
static_assert(static_cast<int>(Exit::kModelFails) == 3);
static_assert(static_cast<int>(Exit::kSweepHasFailures) == 4);
static_assert(static_cast<int>(Exit::kOutsideDomain) == 5);
static_assert(static_cast<int>(Exit::kBug) == 70);
static_assert(static_cast<int>(Exit::kInterrupted) == 130);

TEST(Error, CheckNamesTheConditionAndThePlace) {
  const int line = __LINE__ + 1;
  const auto failing = [] { STEPTIME_CHECK(1 + 1 == 3, "arithmetic"); };
  EXPECT_EQ(message_of<InternalError>(failing), std::string(__FILE__) + ":" + std::to_string(line) +
                                                    ": 1 + 1 == 3 does not hold: arithmetic");
}

TEST(Error, CheckThatHoldsDoesNothingAndDoesNotFormat) {
  int formatted = 0;
  const auto detail = [&] {
    ++formatted;
    return std::string("expensive");
  };
  STEPTIME_CHECK(true, detail());
  EXPECT_EQ(formatted, 0);
  EXPECT_EQ(message_of<InternalError>([&] { STEPTIME_CHECK(false, detail()); }).substr(0, 3),
            std::string(__FILE__).substr(0, 3));
  EXPECT_EQ(formatted, 1);
}

TEST(Error, CheckIsOneStatement) {
  bool reached_else = false;
  if (false)
    STEPTIME_CHECK(true, "");
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
}

}  // namespace
}  // namespace steptime
