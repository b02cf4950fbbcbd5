// Do the keys of a stack stand beneath those of a config, each with its source?
#include "sim/experiment/stack.h"

#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/read_experiment.h"
#include "tests/support/messages.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::shared_ptr<const Document> document(const std::string& text) {
  return std::make_shared<Document>(Document{"x.json", parse_json(text, "x.json")});
}

TEST(Stack, ItsKeysStandBeneathThoseOfTheConfig) {
  const auto stated = document(R"({"workload": {"attention": "flash-attention-1"},
                                   "strategy": {"layout": {}, "stack": "megatron-2021"}})");
  const Json full = with_stack(stated)->root;
  EXPECT_EQ(full["workload"]["attention"], "flash-attention-1");
  EXPECT_EQ(full["workload"]["dtype"], "float16");
  EXPECT_EQ(full["strategy"]["beside_compute"], Json::array());
  EXPECT_EQ(full["strategy"]["stack"], "megatron-2021");
}

TEST(Stack, WithoutOneADocumentStaysItself) {
  const auto stated = document(R"({"workload": {}, "strategy": {}})");
  EXPECT_EQ(with_stack(stated), stated);
}

TEST(Stack, AnUnknownNameIsRefused) {
  std::string error;
  try {
    with_stack(document(R"({"workload": {}, "strategy": {"stack": "megatron"}})"));
  } catch (const InputError& e) {
    error = e.what();
  }
  EXPECT_EQ(error.substr(0, 24), "x.json: /strategy/stack:");
}

TEST(Stack, IsOfALayout) {
  EXPECT_EQ(message_of<InputError>([] {
              with_stack(document(R"({"workload": {}, "strategy": {"stack": "fsdp2"}})"));
            }),
            "x.json: /strategy/stack: expected a \"layout\" beside it, whose software it says");
}

// Reading one checks that each value has a source.
TEST(Stack, EachShippedOneReadsAndKnowsItsKeys) {
  for (const std::string& name : software_stacks()) {
    const Json full =
        with_stack(
            document(R"({"workload": {}, "strategy": {"layout": {}, "stack": ")" + name + R"("}})"))
            ->root;
    for (const auto& [key, unused] : full["workload"].items()) {
      const Params& known = workload_params();
      EXPECT_TRUE(std::any_of(known.begin(), known.end(),
                              [&key = key](const Param& p) { return p.key == key; }))
          << name << " " << key;
    }
    for (const auto& [key, unused] : full["strategy"].items()) {
      const Params& known = strategy_params();
      EXPECT_TRUE(std::any_of(known.begin(), known.end(),
                              [&key = key](const Param& p) { return p.key == key; }))
          << name << " " << key;
    }
  }
}

// What a result shows of a config that names a stack is a config without one that says the same.
TEST(Stack, ConfigInAResultShowsAll) {
  const Json config = parse_json(R"({"name": "x",
    "workload": {"model": "gpt-7.5b", "device": "a100", "batch": 1, "global_batch": 8,
                 "sequence": 2048, "precision": "float16"},
    "cluster": {"preset": "dgx-a100"},
    "strategy": {"stack": "megatron-2021", "layout": {"tensor": 8}}})",
                                 "x.json");
  const Json full = resolved(config);
  EXPECT_EQ(full["workload"]["attention"], "unfused");
  EXPECT_EQ(full["workload"]["dtype"], "float16");
}

}  // namespace
}  // namespace steptime
