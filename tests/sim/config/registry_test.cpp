#include "sim/config/registry.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// An interface of the test's own, so that a new model somewhere does not break a test of names.
class Greeting {
 public:
  static constexpr const char* kNoun = "greeting";
  explicit Greeting(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};
using Greetings = Registry<Greeting, const std::string&>;

const Params kParams{{.key = "mark", .kind = Kind::kText, .need = Need::kDefault, .fallback = "!"}};

std::unique_ptr<Greeting> polite(const Config& c, const std::string& name) {
  return std::make_unique<Greeting>("Good day, " + name + c.get<std::string>("mark"));
}

Greetings& greetings() {
  static Greetings& all = [&]() -> Greetings& {
    Greetings::instance().add("polite", "a polite one", kParams, polite);
    Greetings::instance().add("brief", "a brief one", {}, [](const Config&, const std::string&) {
      return std::make_unique<Greeting>("Hi");
    });
    return Greetings::instance();
  }();
  return all;
}

std::string choose(const std::string& json) {
  greetings();
  static const Params params{{.key = "greeting", .kind = Kind::kObject},
                             {.key = "other", .kind = Kind::kObject, .need = Need::kOptional}};
  return Greetings::instance()
      .make(config_of(json, params), "greeting", std::string("Ada"))
      ->text();
}
std::string choose_error(const std::string& json) {
  return message_of<InputError>([&] { choose(json); });
}

TEST(Registry, MakesWhatTheTypeNames) {
  EXPECT_EQ(choose(R"({"greeting": {"type": "polite"}})"), "Good day, Ada!");
  EXPECT_EQ(choose(R"({"greeting": {"type": "polite", "mark": "."}})"), "Good day, Ada.");
  EXPECT_EQ(choose(R"({"greeting": {"type": "brief"}})"), "Hi");
}

TEST(Registry, MakesByNameWithDefaults) {
  EXPECT_EQ(greetings().make_default("polite", "Bob")->text(), "Good day, Bob!");
}

TEST(Registry, ABareNameStandsForItsDefaults) {
  EXPECT_EQ(choose(R"({"greeting": "polite"})"), choose(R"({"greeting": {"type": "polite"}})"));
  EXPECT_EQ(choose_error(R"({"greeting": "rude"})"),
            "x.json: /greeting: unknown \"rude\"; known: brief, polite");
}

TEST(Registry, UnknownNamesListTheKnownOnes) {
  EXPECT_EQ(choose_error(R"({"greeting": {"type": "rude"}})"),
            "x.json: /greeting/type: unknown \"rude\"; known: brief, polite");
}

TEST(Registry, ATypeIsRequiredAndAString) {
  EXPECT_EQ(choose_error("{}"), "x.json: /greeting: required but missing");
  EXPECT_EQ(choose_error(R"({"greeting": {}})"), "x.json: /greeting/type: required but missing");
  EXPECT_EQ(choose_error(R"({"greeting": {"type": 1}})"),
            "x.json: /greeting/type: expected a string, got 1");
  EXPECT_EQ(choose_error(R"({"greeting": 5})"),
            "x.json: /greeting: expected a name or an object {\"type\": ...}, got 5");
}

TEST(Registry, EachImplementationKnowsItsOwnKeysOnly) {
  EXPECT_EQ(choose_error(R"({"greeting": {"type": "brief", "mark": "?"}})"),
            "x.json: /greeting/mark: unknown key; known: type");
}

TEST(Registry, ANameTwiceIsABug) {
  const std::string message =
      message_of<InternalError>([] { greetings().add("brief", "another one", {}, polite); });
  EXPECT_NE(message.find(": is_new does not hold: greeting \"brief\" is registered twice"),
            std::string::npos)
      << message;
  // The first one stands.
  EXPECT_EQ(greetings().items().at("brief").help, "a brief one");
  EXPECT_EQ(choose(R"({"greeting": {"type": "brief"}})"), "Hi");
}

TEST(Registry, OneOfThemIsTheDefault) {
  EXPECT_NE(message_of<InternalError>([] {
              (void)greetings().default_name();
            }).find("no greeting is the default"),
            std::string::npos);
  EXPECT_TRUE(greetings().set_default("brief"));
  EXPECT_EQ(greetings().default_name(), "brief");
  EXPECT_EQ(choose(Json{{"greeting", default_choice("greeting")}}.dump()), "Hi");
  EXPECT_NE(message_of<InternalError>([] {
              greetings().set_default("polite");
            }).find("both \"brief\" and \"polite\" are the default greeting"),
            std::string::npos);
}

TEST(Registry, ListsNamesHelpAndKeysSorted) {
  const auto& items = greetings().items();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items.begin()->first, "brief");
  EXPECT_EQ(items.at("polite").help, "a polite one");
  ASSERT_EQ(items.at("polite").params.size(), 2U);
  EXPECT_EQ(items.at("polite").params[0].key, "type");
  EXPECT_EQ(items.at("polite").params[0].words, std::vector<std::string>{"polite"});
  EXPECT_EQ(items.at("polite").params[1].key, "mark");
}

TEST(Registry, EveryCatalogueIsFoundByItsNoun) {
  const Catalogue& all = greetings();
  EXPECT_EQ(Catalogue::all().at("greeting"), &all);
  EXPECT_EQ(all.noun(), "greeting");
}

}  // namespace
}  // namespace steptime
