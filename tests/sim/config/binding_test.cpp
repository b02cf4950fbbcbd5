// Does one declaration give the table of keys, and the reader that fits it?
#include "sim/config/binding.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace steptime {
namespace {

class Paint {
 public:
  static constexpr const char* kNoun = "paint of a binding test";
  std::string name = "oil";
};
const bool kRegistered = Registry<Paint>::instance().add(
    "oil", "dries slowly", {}, [](const Config&) { return std::make_unique<Paint>(); });

enum class Side { kLeft, kRight };
struct Door {
  Duration opens{};
  std::int64_t hinges = 0;
  double weight = 0;
  bool open = false;
  bool locked = false;
  Side side = Side::kLeft;
  std::optional<Bandwidth> people{};
  std::shared_ptr<const Paint> paint{};
  std::string sign{};
  std::int64_t knocks = 0;
};

const Bindings<Door>& door_keys() {
  static const Bindings<Door> keys{
      {&Door::opens, "opens", "for how long", kRequired, kPositive},
      {&Door::hinges, "hinges", "", 3, between(1, 9)},
      {&Door::weight, "weight", "", 1.5},
      {&Door::open, "open", "", true},
      {&Door::locked, "lock", "", "off", one_of("off", "on")},
      {&Door::side, "side", "", "right", one_of("left", "right")},
      {&Door::people, "people", ""},
      {&Door::paint, "paint", "", Json{{"type", "oil"}}},
      {&Door::sign, "sign", "", "push"},
      {{.key = "knocks", .kind = Kind::kText, .need = Need::kDefault, .fallback = "**"},
       [](const Config& config, Door& door) {
         door.knocks = static_cast<std::int64_t>(config.get<std::string>("knocks").size());
       }},
      Bindings<Door>::Binding{{.key = "note", .kind = Kind::kText, .need = Need::kOptional}}};
  return keys;
}

Door door(const std::string& json) {
  return door_keys().read(config_of(json, door_keys().params()));
}

TEST(Bindings, MissingKeysHaveTheirFallbacks) {
  const Door d = door(R"({"opens": "2 s"})");
  EXPECT_EQ(d.opens, Duration(2'000'000'000'000));
  EXPECT_EQ(d.hinges, 3);
  EXPECT_EQ(d.weight, 1.5);
  EXPECT_TRUE(d.open);
  EXPECT_FALSE(d.locked);
  EXPECT_EQ(d.side, Side::kRight);
  EXPECT_FALSE(d.people);
  EXPECT_EQ(d.paint->name, "oil");
  EXPECT_EQ(d.sign, "push");
  EXPECT_EQ(d.knocks, 2);
}

TEST(Bindings, MembersGetWhatIsThere) {
  const Door d = door(
      R"({"opens": "1 s", "hinges": 2, "weight": 4, "open": false, "lock": "on", "side": "left",
          "people": "3 B/s", "paint": {"type": "oil"}, "sign": "pull", "knocks": "***",
          "note": "read by nobody here"})");
  EXPECT_EQ(d.hinges, 2);
  EXPECT_EQ(d.weight, 4);
  EXPECT_FALSE(d.open);
  EXPECT_TRUE(d.locked);
  EXPECT_EQ(d.side, Side::kLeft);
  EXPECT_EQ(d.people->bytes_per_second, 3);
  EXPECT_EQ(d.sign, "pull");
  EXPECT_EQ(d.knocks, 3);
}

// A key without a fallback is required, unless its member may be empty.
TEST(Bindings, TheTableFollowsFromTheMembers) {
  const Params& params = door_keys().params();
  ASSERT_EQ(params.size(), 11U);
  const std::array kinds{Kind::kTime, Kind::kInteger, Kind::kNumber,    Kind::kBoolean,
                         Kind::kText, Kind::kText,    Kind::kBandwidth, Kind::kObject,
                         Kind::kText, Kind::kText,    Kind::kText};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(params[i].kind, kinds[i]) << params[i].key;
    const Need need = i == 0                                 ? Need::kRequired
                      : params[i].key == "people" || i == 10 ? Need::kOptional
                                                             : Need::kDefault;
    EXPECT_EQ(params[i].need, need) << params[i].key;
  }
  EXPECT_EQ(params[0].help, "for how long");
  EXPECT_EQ(params[7].choice, Paint::kNoun);
}

TEST(Bindings, ErrorsAreThoseOfTheTable) {
  const auto error = [](const std::string& json) {
    return message_of<InputError>([&] { door(json); });
  };
  EXPECT_EQ(error("{}"), "x.json: /opens: required but missing");
  EXPECT_EQ(error(R"({"opens": "1 s", "hinges": 10})"),
            "x.json: /hinges: must be at least 1 and at most 9, got 10");
  EXPECT_EQ(error(R"({"opens": "1 s", "side": "top"})"),
            "x.json: /side: unknown \"top\"; known: left, right");
}

TEST(Bindings, AreJoinedAndChosenFrom) {
  constexpr std::array<std::string_view, 2> kSome{"side", "hinges"};
  const Bindings<Door> some = door_keys().only(kSome);
  ASSERT_EQ(some.params().size(), 2U);
  EXPECT_EQ(some.params()[0].key, "hinges");
  constexpr std::array<std::string_view, 1> kSign{"sign"};
  const Bindings<Door> more = door_keys().only(kSign).with(some);
  ASSERT_EQ(more.params().size(), 3U);
  const Door d = more.read(config_of(R"({"sign": "x", "hinges": 4})", more.params()));
  EXPECT_EQ(d.sign, "x");
  EXPECT_EQ(d.hinges, 4);
  EXPECT_EQ(d.side, Side::kRight);
  EXPECT_EQ(d.weight, 0);  // the struct's own
}

}  // namespace
}  // namespace steptime
