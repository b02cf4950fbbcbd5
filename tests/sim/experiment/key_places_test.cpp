#include "sim/experiment/key_places.h"

#include "sim/core/error.h"
#include "tests/support/simulated.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// What is said of the tiny experiment with a patch, from its pointer on; "": it is accepted.
std::string refusal(const std::string& patch) {
  const TinyFolder folder;
  try {
    const auto document = load_document(folder.experiment(patch), {});
    read_experiment(document);
    check_keys_act(document);
  } catch (const InputError& e) {
    const std::string text = e.what();
    return text.substr(text.find(": /") + 2);
  }
  return "";
}

std::string servers(const std::string& keys) {
  return R"({"strategy": {"aggregation": {"type": "parameter-server", "servers": 1,
                                          "collective": null, )" +
         keys + "}}}";
}

TEST(KeyPlaces, FindsKeysOfSectionsAndOfWhatIsChosen) {
  std::map<std::string, std::string> tables;
  const Json config = parse_json(
      R"({"cluster": {"messages": {}}, "strategy": {"schedule": "fixed-buckets"}})", "x.json");
  for_each_key(config, [&](const KeyPlace& place, const Json&, const Json& value) {
    tables[place.pointer] = place.table + " " + value.dump();
  });
  EXPECT_EQ(tables.at("/cluster/messages/ports"), R"(/cluster/messages "fair")");
  EXPECT_EQ(tables.at("/strategy/schedule/capacity"), R"(schedule fixed-buckets "25 MiB")");
  EXPECT_EQ(tables.at("/strategy/transport/channel"), R"(transport mpi {"type":"wire"})");
  EXPECT_EQ(tables.at("/workload"), " null");
  EXPECT_FALSE(tables.contains("/workload/trace"));  // there is no such section
}

TEST(KeyPlaces, RefusesAKeyWithoutEffect) {
  EXPECT_EQ(refusal(servers(R"("pull_order": "forward")")),
            R"(/strategy/aggregation/pull_order: no effect beside "requests": "push-pull"; )"
            R"(expected "next-step" there)");
  EXPECT_EQ(refusal(servers(R"("pull_order": "forward", "requests": "next-step")")), "");
  EXPECT_EQ(refusal(R"({"run": {"variation": {"slow_speed": 0.5}}})"),
            R"(/run/variation/slow_speed: no effect beside "slow_chance": 0)");
  EXPECT_EQ(refusal(R"({"run": {"fidelity": "message", "slow_links": {"factor": 2}}, )"
                    R"("strategy": {"aggregation": {"collective": "ring"}}})"),
            R"(/run/slow_links/factor: no effect beside "nodes": a list)");
}

// A result's `config` has all defaults written out, and can be run again.
TEST(KeyPlaces, AcceptsADefaultThatIsWrittenOut) {
  EXPECT_EQ(refusal(servers(R"("pull_order": "random")")), "");
}

// One of the sweep's points has the request that the order is about.
TEST(KeyPlaces, AcceptsWhatItsSweepGivesAnEffect) {
  Json patch = parse_json(servers(R"("pull_order": "forward")"), "x.json");
  patch["sweep"] = {{"/strategy/aggregation/requests", {"push-pull", "next-step"}}};
  EXPECT_EQ(refusal(patch.dump()), "");
}

TEST(KeyPlaces, NamesThePlaceInAJob) {
  const Json collective{{"type", "mpi-opt"}, {"queries", 4}};
  const Json job{
      {"nodes", {0, 1}},
      {"strategy", {{"aggregation", {{"type", "all-reduce"}, {"collective", collective}}}}}};
  const Json patch{{"run", {{"fidelity", "message"}}}, {"jobs", Json::array({job})}};
  EXPECT_EQ(refusal(patch.dump()),
            R"(/jobs/0/strategy/aggregation/collective/queries: no effect beside )"
            R"("pointer_cache": true)");
}

// Exit code 0, and one line for each key on stderr, of `run` and of `check`.
TEST(KeyPlaces, RunAndCheckNameKeysOfTheOtherFidelity) {
  const TinyFolder folder;
  const std::string config = folder.experiment(
      R"({"cluster": {"messages": {"ports": "fifo", "eager_limit": "4 kB", "switching":
          "cut-through"}}, "strategy": {"aggregation": {"collective": {"type": "ring", "a": null,
          "b": null}}}})");
  const std::string lines = config + ": /cluster/messages/ports: no effect at analytic fidelity\n" +
                            config +
                            ": /cluster/messages/eager_limit: no effect at analytic fidelity\n";
  for (const char* verb : {"run", "check"}) {
    const Outcome analytic = steptime({verb, config});
    EXPECT_EQ(analytic.exit, 0);
    EXPECT_EQ(analytic.err.substr(0, lines.size()), lines) << verb;
    const Outcome message = steptime({verb, config, "--set", "/run/fidelity=message"});
    EXPECT_EQ(message.exit, 0);
    EXPECT_EQ(message.err.find("no effect"), std::string::npos) << message.err;
  }
}

TEST(KeyPlaces, NamesKeysThatMessagesDoNotLookAt) {
  const TinyFolder folder;
  const std::string config = folder.experiment(
      R"({"strategy": {"aggregation": {"collective": {"type": "multi-ring", "links": "own",
          "a": null, "b": null}}}, "run": {"fidelity": "message"}})");
  EXPECT_EQ(keys_of_other_fidelity(load_document(config, {})),
            std::vector<std::string>{config + ": /strategy/aggregation/collective/links: "
                                              "no effect at message fidelity"});
}

}  // namespace
}  // namespace steptime
