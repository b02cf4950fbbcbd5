// Are the shipped layer tables those of the published models, and is a broken one refused?
#include "models/layer_table.h"

#include "sim/config/data_dir.h"
#include "sim/config/json.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr std::string_view kFc =
    R"({"name": "fc", "kind": "fully-connected", "macs": 6, "input": 3, "output": 2,
        "tensors": [{"name": "fc.w", "params": 6}, {"name": "fc.b", "params": 2}]})";

std::string table_text(std::string_view layers, std::string_view input = "[3, 2, 1]",
                       std::string_view aliases = "[\"tiny\"]") {
  return fmt::format(R"({{"format": "steptime-model", "version": 1, "name": "test/tiny",
    "aliases": {}, "input": {}, "provenance": {{"source": "s", "licence": "l", "date": "d"}},
    "layers": {}}})",
                     aliases, input, layers);
}

std::string error_of(const std::string& text) {
  return message_of<InputError>([&] { parse_layer_table(text, "x.json"); });
}

// An input of three values that the layer before keeps, and of three others one.
TEST(LayerTable, SaysWhatALayerKeeps) {
  const auto keeps = [](const char* text) {
    return parse_layer_table(
               table_text(fmt::format(
                   R"([{{"name": "k", "kind": "activation", "input": 3, "output": 3{}}}])", text)),
               "x.json")
        .layers[0]
        .keeps;
  };
  EXPECT_EQ(keeps(""), std::nullopt);
  EXPECT_EQ(keeps(R"(, "keeps": 0)"), 0);
  EXPECT_EQ(keeps(R"(, "keeps": 1)"), 1);
  EXPECT_EQ(message_of<InputError>([&] { keeps(R"(, "keeps": -1)"); }),
            "x.json: /layers/0/keeps: must be at least 0 and at most 1000000000000, got -1");
}

// An addition of other values of the norm's size, and an activation, alone or after it; a pooling
// and what comes after it are no part, nor is an addition after something else.
TEST(LayerTable, ANormsKernelMayAddAndActivate) {
  const auto layer = [](LayerKind kind, std::int64_t input, std::int64_t output) {
    return TableLayer{.name = "l", .kind = kind, .input = input, .output = output};
  };
  const TableLayer norm = layer(LayerKind::kBatchNorm, 8, 8);
  const TableLayer add = layer(LayerKind::kAdd, 16, 8);
  const TableLayer activation = layer(LayerKind::kActivation, 8, 8);
  const TableLayer pooling = layer(LayerKind::kPooling, 8, 8);
  const auto after = [](std::vector<TableLayer> layers, std::size_t at = 0) {
    const AfterNorm found = after_norm_at({.layers = std::move(layers)}, at);
    return std::pair(found.layers, found.added);
  };
  using Found = std::pair<std::size_t, std::int64_t>;
  EXPECT_EQ(after({norm, add, activation}), Found(2, 8));
  EXPECT_EQ(after({norm, add, norm}), Found(1, 8));
  EXPECT_EQ(after({norm, activation, activation}), Found(1, 0));
  EXPECT_EQ(after({norm, pooling, activation}), Found(0, 0));
  EXPECT_EQ(after({norm, layer(LayerKind::kActivation, 4, 4)}), Found(0, 0));
  EXPECT_EQ(after({pooling, add, activation}), Found(0, 0));
  EXPECT_EQ(after({norm}, 1), Found(0, 0));
}

TEST(LayerTable, HoldsWhatTheFileSays) {
  const LayerTable table = parse_layer_table(
      table_text(fmt::format(
          R"([{}, {{"name": "out", "kind": "softmax", "input": 2, "output": 2}}])", kFc)),
      "x.json");
  EXPECT_EQ(table.name, "test/tiny");
  EXPECT_EQ(table.aliases, std::vector<std::string>{"tiny"});
  EXPECT_EQ(table.input, 6);  // 3 * 2 * 1
  EXPECT_EQ(table.provenance.at("licence"), "l");
  ASSERT_EQ(table.layers.size(), 2u);
  EXPECT_EQ(table.layers[0].kind, LayerKind::kFullyConnected);
  EXPECT_EQ(table.layers[0].macs, 6);
  EXPECT_EQ(table.layers[0].input, 3);
  EXPECT_EQ(table.layers[0].output, 2);
  EXPECT_EQ(table.layers[0].weights(), 6);  // the larger of 6 weights and 2 biases
  ASSERT_EQ(table.layers[0].tensors.size(), 2u);
  EXPECT_EQ(table.layers[0].tensors[1].name, "fc.b");
  EXPECT_EQ(table.layers[1].kind, LayerKind::kSoftmax);
  EXPECT_EQ(table.layers[1].macs, 0);
  EXPECT_EQ(table.layers[1].weights(), 0);
}

TEST(LayerTable, RefusesALayerOfAnUnknownKind) {
  EXPECT_EQ(
      error_of(table_text(R"([{"name": "a", "kind": "conv", "input": 1, "output": 1}])")),
      "x.json: /layers/0/kind: unknown \"conv\"; known: activation, add, batch-norm, concat, "
      "convolution, depthwise-convolution, dropout, embedding, fully-connected, layer-norm, lrn, "
      "matrix-product, pooling, softmax");
}

TEST(LayerTable, RefusesWorkWithoutWeightsAndWeightsWithoutWork) {
  EXPECT_EQ(
      error_of(table_text(R"([{"name": "a", "kind": "convolution", "input": 1, "output": 1}])")),
      "x.json: /layers/0/macs: required but missing, as the layer is a convolution");
  EXPECT_EQ(error_of(table_text(
                R"([{"name": "a", "kind": "convolution", "macs": 1, "input": 1, "output": 1}])")),
            "x.json: /layers/0/tensors: required but missing, as the layer is a convolution");
  EXPECT_EQ(error_of(table_text(R"([{"name": "a", "kind": "convolution", "macs": 1, "input": 1,
                                     "output": 1, "tensors": []}])")),
            "x.json: /layers/0/tensors: expected at least one tensor, got an empty list");
  EXPECT_EQ(error_of(table_text(
                R"([{"name": "a", "kind": "pooling", "macs": 1, "input": 1, "output": 1}])")),
            "x.json: /layers/0/macs: unexpected, as the layer is of kind \"pooling\"");
}

TEST(LayerTable, RefusesAbsurdSizes) {
  EXPECT_EQ(error_of(table_text(R"([{"name": "a", "kind": "add", "input": 0, "output": 1}])")),
            "x.json: /layers/0/input: must be at least 1 and at most 1000000000000, got 0");
  EXPECT_EQ(error_of(table_text("[]")), "x.json: /layers: expected 1 to 1000000 layers, got 0");
  EXPECT_EQ(error_of(table_text(fmt::format("[{}]", kFc), "[3, 0, 1]")),
            "x.json: /input: expected whole numbers of at least 1, got 0");
  EXPECT_EQ(error_of(table_text(fmt::format("[{}]", kFc), "[1000000, 1000000, 1000000]")),
            "x.json: /input: expected 1 to 1000000000000 values in all, got 1e+18");
  EXPECT_EQ(error_of(table_text(fmt::format("[{}]", kFc), "[]")),
            "x.json: /input: expected 1 to 1000000000000 values in all, got 0");
}

TEST(LayerTable, RefusesTheWrongType) {
  EXPECT_EQ(error_of(table_text("7")), "x.json: /layers: expected a list, got 7");
  EXPECT_EQ(error_of(table_text(fmt::format("[{}]", kFc), "7")),
            "x.json: /input: expected a list, got 7");
  EXPECT_EQ(error_of(table_text(fmt::format("[{}]", kFc), "[1]", "[1]")),
            "x.json: /aliases: expected a list of strings, got 1 in it");
}

std::string with_tokens(std::string_view layers, std::string_view sequence) {
  std::string text = table_text(layers, "[1]");
  return text.insert(text.find("\"layers\""), fmt::format("\"sequence\": {}, ", sequence));
}

// t S + p S^2 with t = 3, p = 2: 3 x 4 + 2 x 16 = 44 for 4 tokens, 5 for one.
TEST(LayerTable, CountsGrowWithTheSequence) {
  const std::string text = with_tokens(
      R"([{"name": "scores", "kind": "matrix-product", "macs": {"token": 3, "pair": 2},
           "input": {"token": 5}, "output": 7}])",
      R"({"usual": 4, "longest": 8})");
  const LayerTable usual = parse_layer_table(text, "x.json");
  EXPECT_EQ(usual.input, 4);
  EXPECT_EQ(usual.layers.at(0).macs, 44);
  EXPECT_EQ(usual.layers.at(0).input, 20);
  EXPECT_EQ(usual.layers.at(0).output, 7);
  EXPECT_EQ(parse_layer_table(text, "x.json", 1).layers.at(0).macs, 5);
  EXPECT_EQ(message_of<std::out_of_range>([&] { parse_layer_table(text, "x.json", 9); }),
            "test/tiny takes 1 to 8 tokens a sample, got 9");
  EXPECT_EQ(message_of<std::out_of_range>(
                [&] { parse_layer_table(table_text(fmt::format("[{}]", kFc)), "x.json", 9); }),
            "test/tiny has no counts per token, got 9 tokens a sample");
}

TEST(LayerTable, RefusesASequenceThatMakesNoSense) {
  constexpr std::string_view kAdd = R"([{"name": "a", "kind": "add", "input": {"token": 1},
                                         "output": 1}])";
  EXPECT_EQ(error_of(table_text(kAdd)),
            "x.json: /layers/0/input: expected an integer, got an object");
  EXPECT_EQ(error_of(with_tokens(R"([{"name": "a", "kind": "add", "input": "1", "output": 1}])",
                                 R"({"usual": 1, "longest": 1})")),
            R"(x.json: /layers/0/input: expected an integer or {"token", "pair"}, got "1")");
  EXPECT_EQ(error_of(with_tokens(kAdd, R"({"usual": 3, "longest": 2})")),
            "x.json: /sequence/usual: expected at most 2, got 3");
}

TEST(LayerTables, AreFoundByFullNameAndByAlias) {
  const auto file = [](const std::string& name) {
    return (data_dir() / "models" / (name + ".json")).string();
  };
  EXPECT_EQ(find_layer_table("caffe/googlenet"), file("caffe/googlenet"));
  EXPECT_EQ(find_layer_table("resnet50"), file("mxnet/resnet-50-v1"));
  EXPECT_EQ(find_layer_table("tf/nasnetlarge+aux"), file("tf/nasnetlarge-aux"));
}

TEST(LayerTables, AreNotFoundOutsideTheirFolder) {
  for (const char* name : {"", "/", "no-such-model", "caffe/no-such-model", "devices/k80",
                           "../models/caffe/googlenet", "caffe/../caffe/googlenet", "caffe"}) {
    EXPECT_EQ(find_layer_table(name), "") << name;
  }
}

TEST(LayerTables, AreListedByNameAndAlias) {
  const std::vector<std::string> names = layer_table_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"caffe/googlenet", "mxnet/resnet-50-v1", "resnet50"})
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
}

// The number of tensors and parameters, and where it is known the forward multiply-accumulates of
// convolutions and fully-connected layers, as the public definitions give them.
TEST(LayerTables, HaveThePublishedTotals) {
  const std::string file = STEPTIME_TESTS_DIR "/models/layer_tables.json";
  const Json expected = parse_json(read_file(file), file);
  for (const Json& model : expected.at("models")) {
    const auto name = model.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const LayerTable table = read_layer_table(find_layer_table(name));
    std::size_t tensors = 0;
    std::int64_t params = 0;
    std::int64_t macs = 0;
    for (const TableLayer& layer : table.layers) {
      macs += layer.macs;
      tensors += layer.tensors.size();
      for (const Tensor& tensor : layer.tensors)
        params += tensor.params;
    }
    EXPECT_EQ(tensors, model.at("tensors").get<std::size_t>());
    EXPECT_EQ(params, model.at("params").get<std::int64_t>());
    if (model.contains("forward_gmacs")) {  // given to four decimals
      EXPECT_NEAR(static_cast<double>(macs) * 1e-9, model.at("forward_gmacs").get<double>(), 5e-5);
    }
  }
  EXPECT_EQ(expected.at("models").size(), 41u);
}

}  // namespace
}  // namespace steptime
