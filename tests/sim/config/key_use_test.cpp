#include "sim/config/key_use.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const Param& key(const Params& params, const std::string& name) {
  for (const Param& p : params) {
    if (p.key == name) return p;
  }
  throw std::out_of_range(name);
}

/// Of the keys of an object of this table.
std::string why(const Params& params, const char* object, const char* name) {
  const auto found = idle(key(params, name), params, parse_json(object, "x.json"));
  return found ? found->beside.front() + ": " + found->why : "";
}

const Params kTable{{.key = "mode",
                     .kind = Kind::kText,
                     .need = Need::kDefault,
                     .fallback = "a",
                     .words = {"a", "b", "c"}},
                    {.key = "of_b", .kind = Kind::kInteger, .need = Need::kOptional},
                    {.key = "but_of_a", .kind = Kind::kInteger, .need = Need::kOptional},
                    {.key = "in_messages", .kind = Kind::kInteger, .need = Need::kOptional}};
const bool kUses = acts_beside("of_b", "mode", {"b"}) && idle_beside("but_of_a", "mode", {"a"}) &&
                   acts_at("message", "in_messages", "mode", {"c"});

TEST(KeyUse, TellsWhatLeavesAKeyWithoutEffect) {
  EXPECT_EQ(why(kTable, R"({"mode": "c"})", "of_b"),
            R"(mode: no effect beside "mode": "c"; expected "b" there)");
  EXPECT_EQ(why(kTable, R"({"mode": "b"})", "of_b"), "");
  EXPECT_EQ(why(kTable, R"({})", "but_of_a"), R"(mode: no effect beside "mode": "a")");
  EXPECT_EQ(why(kTable, R"({"mode": "c"})", "but_of_a"), "");
  EXPECT_EQ(why(kTable, R"({})", "mode"), "");
}

// A second file adds "c" to what "of_c" acts beside; a table without "mode" says nothing of it.
TEST(KeyUse, HoldsWhereBothKeysAre) {
  Params other{{.key = "of_c", .kind = Kind::kInteger, .need = Need::kOptional}};
  ASSERT_TRUE(acts_beside("of_c", "mode", {"b"}) && acts_beside("of_c", "mode", {"c"}));
  EXPECT_EQ(why(other, "{}", "of_c"), "");
  other.push_back(kTable.front());
  EXPECT_EQ(why(other, "{}", "of_c"),
            R"(mode: no effect beside "mode": "a"; expected "b" or "c" there)");
  EXPECT_EQ(why(other, R"({"mode": "c"})", "of_c"), "");
}

// Either of two keys gives it an effect.
TEST(KeyUse, IsIdleBesideAllOfThem) {
  const Params params{
      {.key = "factor_of", .kind = Kind::kNumber, .need = Need::kOptional},
      {.key = "some", .kind = Kind::kNumber, .need = Need::kDefault, .fallback = 0},
      {.key = "all", .kind = Kind::kBoolean, .need = Need::kDefault, .fallback = false}};
  ASSERT_TRUE(idle_beside("factor_of", "some", {0}) && idle_beside("factor_of", "all", {false}));
  EXPECT_EQ(why(params, "{}", "factor_of"), R"(some: no effect beside "some": 0)");
  EXPECT_EQ(why(params, R"({"some": 2})", "factor_of"), "");
  EXPECT_EQ(why(params, R"({"all": true})", "factor_of"), "");
}

TEST(KeyUse, AKeyWithoutValueIsNull) {
  Params params{{.key = "recipe", .kind = Kind::kText, .need = Need::kOptional},
                {.key = "of_recipe", .kind = Kind::kText, .need = Need::kOptional}};
  ASSERT_TRUE(idle_beside("of_recipe", "recipe", {nullptr}));
  EXPECT_EQ(why(params, "{}", "of_recipe"), R"(recipe: no effect without "recipe")");
  EXPECT_EQ(why(params, R"({"recipe": "x"})", "of_recipe"), "");
}

TEST(KeyUse, KnowsTheOnlyFidelity) {
  const Param& param = key(kTable, "in_messages");
  EXPECT_EQ(only_fidelity(param, kTable, Json::object()), "message");
  EXPECT_EQ(only_fidelity(param, kTable, Json{{"mode", "c"}}), "");
  EXPECT_EQ(only_fidelity(key(kTable, "of_b"), kTable, Json::object()), "");
}

}  // namespace
}  // namespace steptime
