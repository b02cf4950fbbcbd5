// Does every key act, or does the program say that it does not?
#include "sim/experiment/result_text.h"
#include "tests/support/any_experiment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::uint32_t draws_of_a_key() {
  constexpr int kInTheSuite = 12;
  const char* given = std::getenv("STEPTIME_DRAWS");
  return static_cast<std::uint32_t>(given != nullptr ? std::atoi(given) : kInTheSuite);
}

/// Another value of a key: three times as large, or as small, the other answer, another word.
Json other_value(SchemaDraw& draw, const Param& p, const Json& value, int attempt) {
  const double factor = attempt % 2 == 0 ? 3 : 1. / 3;
  if (p.kind == Kind::kBoolean) return !value.get<bool>();
  if (p.kind == Kind::kNumber && value.is_number() && value != 0)
    return value.get<double>() * factor;
  if (p.kind == Kind::kInteger && value.is_number_integer() && value != 0) {
    const auto n = value.get<std::int64_t>();
    return attempt % 2 == 0 ? n * 3 : attempt == 1 ? n + 1 : std::max<std::int64_t>(n / 3, 1);
  }
  if (p.kind <= Kind::kTimePerByte && value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const std::size_t end = text.find_first_not_of("0123456789.eE");
    const double number = std::stod(text);
    if (number != 0 && end != std::string::npos) {
      const double changed = number * factor;
      return fmt::format("{}{}", changed, text.substr(end));
    }
  }
  for (int i = 0; i < 20; ++i) {
    const Json other = draw.value(p);
    if (other != value) return other;
  }
  return value;
}

/// All figures, without what names the experiment.
std::optional<Json> figures_of(const Json& config, std::string& why) {
  try {
    const Experiment e = read_experiment(SchemaDraw::document_of(config));
    std::vector<SentBucket> buckets;
    const Result result = simulate(e, &buckets);
    Json figures = full_json(result, buckets, config);
    figures.erase("fingerprint");
    figures.erase("config");
    return figures;
  } catch (const InputError& refusal) {
    why = refusal.what();
  } catch (const ModelFailure& failure) {
    why = failure.what();
  } catch (const std::exception& bug) {
    ADD_FAILURE() << bug.what() << " in " << config.dump();
  }
  return std::nullopt;
}

/// A key that acts only in some experiments, and why.
struct SometimesActs {
  std::string_view key;  ///< its table and its name; of a section all keys begin with it
  std::string_view why;
};
constexpr std::array kSometimes{SometimesActs{"@@", "@@"}};

bool is_listed(const std::string& id) {
  return std::any_of(kSometimes.begin(), kSometimes.end(),
                     [&](const SometimesActs& each) { return id == each.key; });
}

/// What a change of a key's value makes of an experiment.
enum class Change { kRefused, kNothing, kActs };

/// `at`: where the key stands, and `value`, when it was changed: what stands there then.
Change change_of(SchemaDraw& draw, const Json& config, const KeyPlace& at, Json& value) {
  std::string why;
  const auto before = figures_of(config, why);
  if (!before) return Change::kRefused;
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Json changed = config;
    Json& place = changed.at(Json::json_pointer(at.pointer));
    const Json was = place;
    place = Json::parse(other_value(draw, *at.param, was, attempt).dump());
    if (place == was) continue;
    const auto after = figures_of(changed, why);
    if (!after) continue;
    value = place;
    return *after == *before ? Change::kNothing : Change::kActs;
  }
  return Change::kRefused;
}

/// All keys but sections, by table and name.
std::set<std::pair<std::string, std::string>> all_keys() {
  std::set<std::pair<std::string, std::string>> keys;
  for (const SchemaRoute& route : schema_routes()) {
    const Param& p = *route.place.param;
    const bool is_section =
        p.kind == Kind::kObject && p.choice.empty() && p.need != Need::kOptional;
    if (!is_section && p.key != "jobs") keys.insert({route.place.table, p.key});
  }
  return keys;
}

// Each key has some experiment, at one of the fidelities, of which another value of it changes a
// figure; and where the program says that it has none at a fidelity, it changes none there.
TEST(EveryKey, ActsOrIsRefused) {
  const bool shows = std::getenv("STEPTIME_SHOW_KEYS") != nullptr;
  const char* only = std::getenv("STEPTIME_KEY");
  std::uint32_t number = 0;
  for (const auto& [table, key] : all_keys()) {
    number += 1000;
    const std::string id = table + " " + key;
    if (is_listed(id) || (only != nullptr && id.find(only) == std::string::npos)) continue;
    bool acts = false;
    std::string last = "no experiment has it";
    for (std::uint32_t i = 0; !acts && i < draws_of_a_key(); ++i) {
      SchemaDraw draw(number + i, 1);
      KeyPlace at;
      std::optional<Json> config = draw.with_key(table, key, 2, at);
      if (!config) continue;
      const std::string own = config->value("run", Json::object()).value("fidelity", "analytic");
      for (const std::string& fidelity :
           {own, std::string(own == "analytic" ? "message" : "analytic")}) {
        if (fidelity != own) (*config)["run"]["fidelity"] = fidelity;
        Json value;
        const Change change = change_of(draw, *config, at, value);
        if (change != Change::kRefused)
          last = fmt::format("{} in {}", value.dump(), config->dump());
        if (change != Change::kActs) continue;
        acts = true;
        const auto idle = keys_of_other_fidelity(SchemaDraw::document_of(*config));
        EXPECT_EQ(std::count(idle.begin(), idle.end(),
                             fmt::format("drawn.json: {}: no effect at {} fidelity", at.pointer,
                                         fidelity)),
                  0)
            << last;
        break;
      }
    }
    if (!acts && shows) fmt::print("idle: {}: {}\n", id, last);
    EXPECT_TRUE(acts) << id << " has no effect: " << last;
  }
}

TEST(EveryKey, ThatActsOnlySometimesHasAReason) {
  constexpr std::size_t kMost = 40;
  EXPECT_LE(kSometimes.size(), kMost);
  const auto keys = all_keys();
  for (const SometimesActs& each : kSometimes) {
    const bool is_known = std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
      return key.first + " " + key.second == each.key;
    });
    EXPECT_TRUE(is_known) << each.key;
  }
}

}  // namespace
}  // namespace steptime
