// Does an experiment's step have the kind that its parts say?
#include "sim/experiment/kind_of_step.h"

#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string kind_of(const char* text) {
  const Experiment e =
      read_experiment(std::make_shared<Document>(Document{"test.json", Json::parse(text)}));
  return joined(*e.workload_kind, *e.exchange_kind, e.schedule_word).text();
}

TEST(KindOfStep, IsSaidByTheParts) {
  EXPECT_EQ(kind_of(R"({"name": "a",
    "workload": {"model": "torch/resnet50", "device": "v100", "batch": 32},
    "cluster": {"preset": "dgx-1-v100", "nodes": 2},
    "strategy": {"transport": "nccl", "schedule": "fixed-buckets"}})"),
            "PyTorch 2, eager kernels, Volta, NCCL 2.5, infiniband at 96 Gbit/s, all-reduce, "
            "fixed-buckets, ResNet, several nodes");
  EXPECT_EQ(kind_of(R"({"name": "a",
    "workload": {"model": "tf/vgg16", "device": "k80", "batch": 32, "compute_time": "1 s"},
    "cluster": {"preset": "p2.16xlarge", "gpus_per_node": 8},
    "strategy": {"transport": "grpc",
                 "aggregation": {"type": "parameter-server", "servers": 1,
                                 "placement": "with-workers"}}})"),
            "TensorFlow 1, measured compute, Kepler, grpc, pcie at 80 Gbit/s, parameter-server, "
            "wfbp, VGG, AlexNet, one node");
}

/// The network of a preset that is a file stands there, beside the experiment.
TEST(KindOfStep, HasTheNetworkOfAPresetThatIsAFile) {
  const TinyFolder folder;
  folder.write("my.json",
               R"({"format": "steptime-cluster", "version": 1, "help": "", "sources": {},
    "cluster": {"nodes": 2, "network": {"type": "rdma", "latency": "3 us",
                                        "bandwidth": "100 Gbps"}}})");
  const auto fabric = [&](const std::string& patch) {
    const Experiment e = read_experiment(load_document(folder.experiment(patch), {}));
    return (*e.exchange_kind)[Attribute::kFabric].text();
  };
  EXPECT_EQ(fabric(R"({"cluster": {"preset": "./my.json", "nodes": null, "network": null}})"),
            "infiniband");
  // Its own network stands above the file's.
  EXPECT_EQ(fabric(R"({"cluster": {"preset": "./my.json", "nodes": null}})"), "switch");
}

TEST(KindOfStep, HalfPrecisionOfPyTorchIsAutocastUnlessSaidOtherwise) {
  const auto compute = [](const std::string& more) {
    const Json config = Json::parse(R"({"name": "a", "workload": {"model": "torch/resnet50",
      "device": "v100", "batch": 32)" +
                                    more + R"(}, "cluster": {"preset": "dgx-1-v100"}})");
    const Experiment e = read_experiment(std::make_shared<Document>(Document{"t", config}));
    return (*e.workload_kind)[Attribute::kCompute];
  };
  EXPECT_EQ(compute(""), "eager");
  EXPECT_EQ(compute(R"(, "precision": "float16")"), "autocast");
  EXPECT_EQ(compute(R"(, "precision": "float16", "kernels": "tuned")"), "tuned");
  EXPECT_EQ(compute(R"(, "framework": "mxnet", "precision": "float16")"), "tuned");
  EXPECT_EQ(compute(R"(, "compute_time": "50 ms")"), "measured");
}

TEST(KindOfStep, KernelsAreCheckedWhereTimesAreMeasured) {
  EXPECT_EQ(message_of<InputError>([] {
              kind_of(R"({"name": "a", "workload": {"model": "torch/resnet50", "device": "v100",
                "batch": 32, "compute_time": "50 ms", "kernels": "tunned"},
                "cluster": {"preset": "dgx-1-v100"}})");
            }),
            "test.json: /workload/kernels: unknown \"tunned\" (did you mean \"tuned\"?); known: "
            "tuned, fused, eager, autocast");
}

TEST(KindOfStep, AShapeIsNotMeasured) {
  const Experiment e = read_experiment(std::make_shared<Document>(Document{
      "t", Json::parse(R"({"name": "a", "workload": {"model": "llama-2-7b", "device": "a100",
        "batch": 1, "sequence": 4096, "dtype": "bfloat16"}, "cluster": {"preset": "dgx-a100"},
        "strategy": {"layout": {"tensor": 8}}})")}));
  EXPECT_EQ((*e.workload_kind)[Attribute::kCompute], "bfloat16");
}

// What a layout is cut by and who shares states; its stack stands for a framework, the type of its
// products for how compute times are known.
TEST(KindOfStep, ALayoutIsKnownByItsCutStackAndRecipe) {
  const Experiment e = read_experiment(std::make_shared<Document>(Document{
      "t", Json::parse(R"({"name": "a", "workload": {"model": "llama-2-7b", "device": "h100",
        "batch": 1, "sequence": 4096, "precision": "bfloat16", "products": "float8"},
        "cluster": {"preset": "dgx-h100", "nodes": 2},
        "strategy": {"stack": "megatron-core", "layout": {"tensor": 4, "pipeline": 2},
                     "states": {"type": "zero", "stage": 1}}})")}));
  const KindOfStep kind = joined(*e.workload_kind, *e.exchange_kind, e.schedule_word);
  EXPECT_TRUE(kind.is_layout());
  EXPECT_EQ(kind[Attribute::kSchedule], "layout, tensor, pipeline, shared states");
  EXPECT_EQ(kind[Attribute::kFramework], "megatron-core");
  EXPECT_EQ(kind[Attribute::kCompute], "float8");
  EXPECT_EQ(kind[Attribute::kGpu], "Hopper");
  EXPECT_EQ(kind[Attribute::kModel], "transformer");
  EXPECT_EQ(kind[Attribute::kNodes], "several");
}

TEST(KindOfStep, ReleasesOfNcclAreOfThreeFamilies) {
  const auto library = [](const std::string& collective, const char* preset) {
    const Json config = Json::parse(
        R"({"name": "a", "workload": {"model": "torch/resnet50", "device": "v100", "batch": 32},
            "cluster": {"preset": ")" +
        std::string(preset) + R"("}, "strategy": {"aggregation": {"type": "all-reduce",
            "collective": )" +
        collective + "}}}");
    const Experiment e = read_experiment(std::make_shared<Document>(Document{"t", config}));
    return (*e.exchange_kind)[Attribute::kLibrary];
  };
  EXPECT_EQ(library(R"({"type": "nccl", "version": "2.4.8"})", "dgx-1-v100"), "NCCL 2.3");
  EXPECT_EQ(library(R"({"type": "nccl", "version": "2.18.3"})", "dgx-1-v100"), "NCCL 2.5");
  EXPECT_EQ(library(R"({"type": "nccl", "version": "2.19.3"})", "dgx-1-v100"), "NCCL 2.19");
  EXPECT_EQ(library(R"("nccl")", "dgx-1-v100"), "NCCL 2.5");
  EXPECT_EQ(library(R"("nccl")", "dgx-h100"), "NCCL 2.19");
  EXPECT_EQ(library(R"("double-binary-tree")", "dgx-1-v100"), "double-binary-tree");
}

TEST(KindOfStep, ReleasesOfNcclThatEstimateAlikeAreOne) {
  const Cluster cluster;
  const auto rules = [&](const char* version) {
    return nccl_rules(Json{{"type", "nccl"}, {"version", version}}, cluster);
  };
  EXPECT_EQ(rules("2.3.7"), "NCCL 2.3");
  EXPECT_EQ(rules("2.6.4"), "NCCL 2.5");
  EXPECT_EQ(rules("2.17.1"), "NCCL 2.12");
  EXPECT_EQ(rules("2.20.5"), "NCCL 2.19");
  EXPECT_EQ(rules("2.30.3"), "NCCL 2.27");
  EXPECT_EQ(nccl_rules("nccl", cluster), "NCCL 2.12");
}

// 10 and 20 Gbit/s are within a factor of two, 10 and 21 are not.
TEST(KindOfStep, RatesAreSharedWithinAFactorOfTwo) {
  KindOfStep a;
  a[Attribute::kFabric] = "tcp";
  a.rate = 10e9 / 8;
  KindOfStep b = a;
  b.rate = 20e9 / 8;
  EXPECT_EQ(a.differs_from(b), 0U);
  b.rate = 21e9 / 8;
  EXPECT_EQ(a.differs_from(b), 1U << static_cast<unsigned>(Attribute::kFabric));
  b = a;
  b[Attribute::kModel] = "BERT";
  EXPECT_EQ(a.differs_from(b), 1U << static_cast<unsigned>(Attribute::kModel));
}

}  // namespace
}  // namespace steptime
