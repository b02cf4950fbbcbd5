// Does the work of a rank hold what its cut leaves of a model, and refuse what cannot be cut?
#include "models/transformer.h"
#include "sim/core/error.h"
#include "sim/workload/model_work.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <numeric>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

ModelWork work_of(const std::string& keys, const ModelCut& cut = {}) {
  const Config section = config_of(
      fmt::format(R"({{"model": "llama-2-7b", "device": "h100", "batch": 1, "sequence": 2048,
                       "precision": "bfloat16", "optimizer": "adam"{}}})",
                  keys),
      workload_params());
  return read_shape(section, cut);
}

std::int64_t params(const ModelWork& work) {
  return std::accumulate(work.layers.begin(), work.layers.end(), std::int64_t{0},
                         [](std::int64_t sum, const LayerWork& l) { return sum + l.params(); });
}

TEST(TransformerModel, AWholeModelHasAllItsParameters) {
  const ModelWork work = work_of("");
  EXPECT_EQ(params(work), 6'738'415'616);  // config.json of Llama-2-7b
  EXPECT_EQ(work.blocks(), 32);
  EXPECT_TRUE(work.layers.back().is_loss);
}

// Eight tensor ranks have an eighth of what is split, and all 65 norms of 4,096.
TEST(TransformerModel, TensorRanksShareWhatIsSplit) {
  const std::int64_t norms = 65 * 4096;
  EXPECT_EQ(params(work_of("", {.tensor = 8})), (6'738'415'616 - norms) / 8 + norms);
}

ModelWork with_remainders(const std::string& dtype) {
  const std::string json = R"({"model": "llama-2-7b", "device": "h100", "batch": 1,
      "sequence": 2048, "precision": "bfloat16", "optimizer": "distributed-fused-adam",
      "dtype": ")" + dtype +
                           R"("})";
  return read_shape(config_of(json, workload_params()), {});
}

// Bytes of a parameter: 18 = 2 + 4 + 12, with gradients of 2 B 20 = 2 + 2 + 16, in float32 16.
// Source: Megatron-LM docs/user-guide/features/dist_optimizer.md.
TEST(TransformerModel, BytesOfAParameter) {
  const auto bytes = [](const ModelWork& work) {
    return work.parameter.weight + work.parameter.gradient + work.parameter.optimizer;
  };
  EXPECT_EQ(bytes(work_of(R"(, "dtype": "float32")")), 18);
  EXPECT_EQ(bytes(work_of(R"(, "dtype": "bfloat16")")), 20);
  // Two moments of 4 B and the other half of a weight in float32: 2 + 2 + 10, or gradients of 4 B.
  EXPECT_EQ(bytes(with_remainders("bfloat16")), 14);
  EXPECT_EQ(bytes(with_remainders("float32")), 16);
  const Config whole = config_of(
      R"({"model": "llama-2-7b", "device": "h100", "batch": 1, "sequence": 2048,
          "dtype": "float32", "optimizer": "adam"})",
      workload_params());
  EXPECT_EQ(bytes(read_shape(whole, {})), 16);
}

// 2,048 tokens x 4,096 values x 2 B; over two context ranks half of them; keys and values of 32
// heads over four tensor ranks a quarter of twice that.
TEST(TransformerModel, WhatRanksSendEachOther) {
  EXPECT_EQ(work_of("").exchanged.hidden.count, 2048 * 4096 * 2);
  const ExchangedBytes cut = work_of("", {.tensor = 4, .context = 2}).exchanged;
  EXPECT_EQ(cut.hidden.count, 1024 * 4096 * 2);
  EXPECT_EQ(cut.queries.count, 1024 * 4096 / 4 * 2);
  EXPECT_EQ(cut.keys_values.count, 2 * 1024 * 4096 / 4 * 2);
  EXPECT_EQ(cut.in_gathers().count, 1024 * 4096 * 2);
}

// A byte a value; only where the stack gathers what products work on.
TEST(TransformerModel, GathersOfNarrowProductsAreNarrow) {
  EXPECT_EQ(work_of(R"(, "products": "float8")").exchanged.in_gathers().count, 2048 * 4096 * 2);
  const std::string narrow = R"(, "gathers": "products", "products": "float8")";
  EXPECT_EQ(work_of(narrow).exchanged.in_gathers().count, 2048 * 4096);
  EXPECT_EQ(work_of(narrow).exchanged.hidden.count, 2048 * 4096 * 2);
}

// Input, weights and result of four linear layers, 4 B each; other recipes have no delayed scales.
TEST(TransformerModel, DelayedScalesExchangeMaximaOfProductsInFloat8) {
  const auto maxima = [](const std::string& keys) { return work_of(keys).exchanged.maxima.count; };
  EXPECT_EQ(maxima(R"(, "scales": "delayed", "products": "float8")"), 4 * 3 * 4);
  EXPECT_EQ(maxima(R"(, "scales": "current", "products": "float8")"), 0);
  EXPECT_EQ(maxima(R"(, "scales": "delayed")"), 0);
}

TEST(TransformerModel, ChecksWhatIsKeptWhereProductsHaveNoTypeOfTheirOwn) {
  const std::string text = message_of<InputError>([&] { work_of(R"(, "keeps": "zz")"); });
  EXPECT_EQ(text.substr(text.find(": ") + 2), "/keeps: unknown \"zz\"; known: precision, products");
}

// A layer of Llama 2 7B keeps 8 h + 4 h + 4 h + 6 f bytes a token and 4 a. Inputs of the products
// in a byte: of both norms' results h less each, of the activation's f less; the attention's result
// is kept once more, in h.
TEST(TransformerModel, InputsOfProductsMayBeKeptInTheirType) {
  const std::int64_t h = 4096;
  const std::int64_t f = 11008;
  const auto kept = [](const std::string& keys) { return work_of(keys).layers[1].kept.count; };
  const std::int64_t wide = 2048 * (16 * h + 6 * f + 4 * 32);
  EXPECT_EQ(kept(R"(, "products": "float8")"), wide);
  EXPECT_EQ(kept(R"(, "keeps": "products", "products": "float8")"), wide - 2048 * (h + f));
  EXPECT_EQ(kept(R"(, "keeps": "products")"), wide);
}

std::string error_of(const std::string& keys, const ModelCut& cut) {
  try {
    work_of(keys, cut);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(TransformerModel, RefusesWhatRanksCannotShareEvenly) {
  EXPECT_EQ(error_of("", {.tensor = 5}),
            "x.json: /model: llama-2-7b has 32 heads of queries, which the layout's 5 tensor ranks "
            "cannot share evenly");
  EXPECT_EQ(error_of("", {.context = 3}),
            "x.json: /sequence: found 2048, expected a multiple of the layout's 3 context ranks");
  EXPECT_EQ(error_of("", {.tensor = 32, .context = 128, .sequence_parallel = true}),
            "x.json: /sequence: found 2048, expected a multiple of 4096: sequence parallelism cuts "
            "the tokens of a context rank over 32 tensor ranks");
  EXPECT_EQ(error_of(R"(, "products": "nvfp4")", {}),
            "x.json: /products: device \"h100\" has no rates for nvfp4 of transformers");
}

TEST(TransformerModel, ALayerTableIsNoShape) {
  const Config section = config_of(
      R"({"model": "resnet50", "device": "h100", "batch": 1, "sequence": 8})", workload_params());
  std::string error;
  try {
    read_shape(section, {});
  } catch (const InputError& e) {
    error = e.what();
  }
  EXPECT_EQ(error,
            "x.json: /model: \"resnet50\" is a layer table, which no layout can cut; expected the "
            "shape of a transformer");
}

}  // namespace
}  // namespace steptime
