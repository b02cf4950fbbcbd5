// What frameworks can run: none is offered what it has not.
#include "sim/sweeps/frameworks.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Json reducing_by(const std::string& collective, const Json& transport = "mpi") {
  return {{"aggregation", {{"type", "all-reduce"}, {"collective", {{"type", collective}}}}},
          {"transport", transport}};
}

Framework framework(const Json& strategy, const std::string& name, std::int64_t nodes = 4) {
  const std::vector<Framework> all = frameworks(strategy, nodes);
  return *std::find_if(all.begin(), all.end(), [&](const Framework& f) { return f.name == name; });
}

std::vector<std::string> ways_of(const Json& strategy, const std::string& name,
                                 std::int64_t nodes = 4) {
  std::vector<std::string> names;
  for (const GradientWay& way : framework(strategy, name, nodes).ways)
    names.push_back(way.name);
  return names;
}

using Names = std::vector<std::string>;

/// NCCL has no recursive doubling, and DDP no servers.
TEST(Frameworks, DdpHasWhatTheConfigReducesWithAndNccl) {
  EXPECT_EQ(ways_of(reducing_by("ring"), "PyTorch DDP"), (Names{"ring", "nccl"}));
  EXPECT_EQ(ways_of(reducing_by("nccl"), "PyTorch DDP"), Names{"nccl"});
  const Json servers = {{"aggregation", {{"type", "parameter-server"}}}, {"transport", "grpc"}};
  EXPECT_EQ(ways_of(servers, "PyTorch DDP"), (Names{"nccl", "ring"}));
  EXPECT_EQ(ways_of(servers, "Horovod"),
            (Names{"ring", "halving-doubling", "recursive-doubling", "nccl"}));
  EXPECT_EQ(ways_of(servers, "ByteScheduler"), (Names{"parameter-server", "nccl"}));
}

TEST(Frameworks, ServersAreByteSchedulersAndOfSeveralNodes) {
  EXPECT_EQ(ways_of(reducing_by("ring"), "ByteScheduler"),
            (Names{"ring", "nccl", "a server on each node"}));
  EXPECT_EQ(ways_of(reducing_by("ring"), "ByteScheduler", 1), (Names{"ring", "nccl"}));
}

TEST(Frameworks, AnEngineOfMxnetsIsNoOtherFrameworks) {
  for (const Framework& each : frameworks(reducing_by("ring"), 4)) {
    for (const GradientWay& way : each.ways)
      EXPECT_EQ(way.embedding.is_null(), each.name == "any") << each.name;
  }
}

/// The cycle is the coordinator's, and that of the schedule 0.
TEST(Frameworks, HorovodHasItsCoordinatorOverEveryLibrary) {
  const Framework horovod = framework(reducing_by("ring"), "Horovod");
  for (const GradientWay& way : horovod.ways) {
    EXPECT_EQ(way.transport.at("type"), way.name == "nccl" ? "horovod-nccl" : "horovod-mpi")
        << way.name;
  }
  for (const Setting& setting : horovod.settings) {
    EXPECT_EQ(setting.schedule.at("cycle"), "0 s");
    EXPECT_EQ(setting.coordinator.at("type"), "horovod");
  }
}

/// A config of Horovod's: its version and its backend stay, and others run without it.
TEST(Frameworks, CoordinatorsComeAndGo) {
  const Json transport = {{"type", "horovod-mpi"},
                          {"backend", {{"type", "host"}}},
                          {"coordinator", {{"type", "horovod"}, {"version", "0.28.1"}}}};
  const Json strategy = reducing_by("ring", transport);
  EXPECT_EQ(framework(strategy, "PyTorch DDP").ways.front().transport,
            (Json{{"type", "mpi"}, {"backend", {{"type", "host"}}}}));
  const Framework horovod = framework(strategy, "Horovod");
  EXPECT_EQ(horovod.ways.front().transport,
            (Json{{"type", "horovod-mpi"}, {"backend", {{"type", "host"}}}}));
  EXPECT_EQ(horovod.settings.front().coordinator.at("version"), "0.28.1");
  EXPECT_EQ(framework(reducing_by("ring", "baidu"), "PyTorch DDP").ways.front().transport,
            (Json{{"type", "baidu"}, {"coordinator", {{"type", "none"}}}}));
}

TEST(Frameworks, AMeasuredCollectiveStaysAlone) {
  for (const char* name : {"any", "PyTorch DDP", "Horovod", "ByteScheduler"})
    EXPECT_EQ(ways_of(reducing_by("linear"), name), Names{"linear"}) << name;
}

TEST(Frameworks, NumbersOfFewerBytes) {
  const auto names = [](const std::string& framework, const Json& workload) {
    Names all;
    for (const Narrowing& narrowing : narrowings(framework, workload))
      all.push_back(narrowing.name);
    return all;
  };
  const Json table = {{"model", "resnet50"}, {"dtype", "float32"}};
  EXPECT_EQ(names("PyTorch DDP", table), (Names{"gradients in float16", "compute in float16"}));
  EXPECT_EQ(names("ByteScheduler", table), Names{});
  // The gradients of a trace may be sent in fewer bytes; its compute times are what they are.
  EXPECT_EQ(names("Horovod", Json{{"trace", "x"}}), Names{"gradients in float16"});
  // float16 gradients beside products that stay as they are.
  EXPECT_EQ(narrowings("Horovod", table).front().set,
            (Json{{"/workload/dtype", "float16"}, {"/workload/precision", "float32"}}));
  EXPECT_EQ(
      names("Horovod", Json{{"model", "resnet50"}, {"dtype", "float16"}, {"precision", "float16"}}),
      Names{});
}

}  // namespace
}  // namespace steptime
