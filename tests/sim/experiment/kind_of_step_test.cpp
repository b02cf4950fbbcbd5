// Does an experiment's step have the kind that its parts say?
#include "sim/experiment/kind_of_step.h"

#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string kind_of(const char* text) {
  const Experiment e =
      read_experiment(std::make_shared<Document>(Document{"test.json", Json::parse(text)}));
  return joined(*e.workload_kind, *e.exchange_kind, *e.schedule_word).text();
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
