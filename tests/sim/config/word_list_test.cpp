#include "sim/config/word_list.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// 30 names of 100 characters, with commas: five are 508 characters and do not fit into 480.
TEST(WordList, WhatIsTooMuchForALineIsCounted) {
  EXPECT_EQ(listed(std::vector<std::string>{"float32", "float16", "csv"}), "float32, float16, csv");
  EXPECT_EQ(listed({}), "");
  const std::vector<std::string> known(30, std::string(100, 'a'));
  const std::string text = listed(known);
  EXPECT_EQ(text.size(), 4 * 100 + 3 * 2 + std::string(" and 26 more").size());
  EXPECT_TRUE(text.ends_with("a and 26 more")) << text;
}

}  // namespace
}  // namespace steptime
