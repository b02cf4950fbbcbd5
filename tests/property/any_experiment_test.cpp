// Do random experiments that follow from the tables of keys reach every name that a config can
// choose? STEPTIME_DRAWS=<number> in the environment asks for more of them.
#include "tests/support/any_experiment.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::uint32_t draws() {
  constexpr int kInTheSuite = 600;
  const char* given = std::getenv("STEPTIME_DRAWS");
  return static_cast<std::uint32_t>(given != nullptr ? std::atoi(given) : kInTheSuite);
}

struct OutOfReach {
  std::string_view noun;
  std::string_view name;
};
constexpr std::array kNoExperimentHas{
    // No aggregation calls it: groups of layouts name their operations, and `steptime collective`
    // plays it alone.
    OutOfReach{"collective", "all-to-all"},
    // It needs a file that `calibrate fit` writes on a machine; none is shipped.
    OutOfReach{"collective", "profile"}};

/// "FILE: /pointer: message": the pointer.
std::string place_of(const std::string& refusal) {
  const auto first = refusal.find(": ");
  if (first == std::string::npos) return refusal;
  const auto second = refusal.find(": ", first + 2);
  return refusal.substr(first + 2, second == std::string::npos ? second : second - first - 2);
}

TEST(AnyExperiment, BeginsWithExperimentsThatAreMostlyAccepted) {
  constexpr std::uint32_t kDraws = 20;
  for (const std::string& kind : SchemaDraw::kinds()) {
    std::uint32_t accepted = 0;
    std::string refusal;
    for (std::uint32_t i = 0; i < kDraws; ++i) {
      SchemaDraw draw(i, 1);
      if (draw.of_kind(kind))
        ++accepted;
      else
        refusal = draw.refusal();
    }
    EXPECT_GE(4 * accepted, kDraws) << kind << ": " << refusal;
  }
}

TEST(AnyExperiment, ReachesEveryNameThatAConfigCanChoose) {
  const bool shows = std::getenv("STEPTIME_SHOW_REFUSALS") != nullptr;
  NamesReached reached;
  std::map<std::string, int> refusals;
  std::map<std::string, int> dropped;
  std::map<std::string, std::pair<int, double>> kinds;
  int refused = 0;
  for (std::uint32_t i = 0; i < draws(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    SchemaDraw draw(i, 1);
    const SchemaName wanted = reached.rarest();
    std::optional<Json> config;
    try {
      config = draw.with_name(wanted);
    } catch (const std::exception& bug) {
      ADD_FAILURE() << i << ": " << bug.what() << " in " << draw.last().dump();
    }
    for (const auto& [pointer, count] : draw.dropped())
      dropped[pointer] += count;
    std::string why = draw.refusal();
    if (config) {
      try {
        simulate(read_experiment(SchemaDraw::document_of(*config)));
        reached.add(*config);
      } catch (const InputError& refusal) {
        why = refusal.what();
      } catch (const ModelFailure& failure) {
        why = std::string("x: ModelFailure");
      } catch (const std::exception& bug) {
        ADD_FAILURE() << i << ": " << bug.what() << " in " << config->dump();
      }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    auto& kind = kinds[draw.kind()];
    ++kind.first;
    kind.second += took.count();
    if (shows && took.count() > 0.1)
      fmt::print("{} took {:.2f} s: {}\n", i, took.count(), config ? config->dump() : "refused");
    if (why.empty()) continue;
    ++refused;
    ++refusals[place_of(why)];
    reached.add_refusal(wanted);
    if (shows) fmt::print("{} {} {} [{}]: {}\n", i, wanted.noun, wanted.name, draw.kind(), why);
  }
  fmt::print("{} of {} draws were refused\n", refused, draws());
  if (shows) {
    for (const auto& [place, count] : refusals)
      fmt::print("  {:5} {}\n", count, place);
    fmt::print("keys that were dropped:\n");
    for (const auto& [place, count] : dropped)
      fmt::print("  {:5} {}\n", count, place);
    for (const auto& [kind, of] : kinds)
      fmt::print("kind {}: {} in {:.2f} s\n", kind, of.first, of.second);
    for (const SchemaName& name : directed_names())
      fmt::print("  {:5} {} {}\n", reached.times(name), name.noun, name.name);
  }
  EXPECT_LE(2 * refused, static_cast<int>(draws()));
  const int least = static_cast<int>(draws()) / 100;
  for (const SchemaName& name : directed_names()) {
    const bool is_listed = std::any_of(
        kNoExperimentHas.begin(), kNoExperimentHas.end(),
        [&](const auto& each) { return each.noun == name.noun && each.name == name.name; });
    const int count = reached.times(name);
    if (is_listed)
      EXPECT_EQ(count, 0) << name.noun << " " << name.name << " is listed as out of reach";
    else
      EXPECT_GE(count, least) << name.noun << " " << name.name;
  }
}

}  // namespace
}  // namespace steptime
