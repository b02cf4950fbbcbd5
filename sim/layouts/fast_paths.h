// Ways in which a step of a layout is computed faster than by every call of its ranks' programs, to
// the same numbers. The programs are the model: a fast path has a condition under which it says
// what they say, and a test that holds it against them. PlayedBy (play.h) turns them off.
#pragma once
#include <array>
#include <string_view>

namespace steptime {

struct LayoutFastPath {
  std::string_view name;
  std::string_view condition;
  std::string_view proof;  ///< the test that compares it with the programs
};

/// The first whose condition holds, from the top.
inline constexpr std::array kLayoutFastPaths{
    LayoutFastPath{"earliest starts",
                   "closed form, without a timeline; exchanges within passes meet no others on "
                   "their links, and no two exchanges at all are ever on one link at once",
                   "tests/property/layouts_test.cpp, EarliestStartsAreThoseOfThePrograms"},
    LayoutFastPath{
        "exchanges as times",
        "closed form; the exchanges of a tensor or a context group meet no others on "
        "their links",
        "tests/property/layouts_test.cpp, ExchangesCalledOneByOneTakeWhatTheyTakeAsTimes"}};

}  // namespace steptime
