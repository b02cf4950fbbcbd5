// Have the shipped shapes the published counts of parameters, and is a broken one refused?
#include "models/transformer.h"

#include "models/layer_table.h"
#include "sim/config/json.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::string kCounts = STEPTIME_TESTS_DIR "/models/transformer_parameters.json";

/// 2 layers of 6 values: 3 heads of 2 with one of keys, 10 between the products.
std::string tiny(std::string_view changed = "", std::string_view to = "") {
  std::string text = R"({"format": "steptime-transformer", "version": 1, "name": "tiny",
    "aliases": ["small"], "provenance": {"source": "s", "licence": "l", "date": "d"},
    "layers": 2, "hidden": 6, "heads": 3, "kv_heads": 1, "head_dim": 2, "ffn": 10, "gated": true,
    "vocabulary": 50, "tied": false, "norms": "rms", "biases": false, "dropout": false})";
  if (!changed.empty()) text.replace(text.find(changed), changed.size(), to);
  return text;
}

std::string error_of(std::string_view changed, std::string_view to) {
  return message_of<InputError>([&] { parse_transformer(tiny(changed, to), "x.json"); });
}

TransformerShape shipped(const std::string& name) {
  return read_transformer(find_transformer(name));
}

TEST(Transformer, HoldsWhatTheFileSays) {
  const TransformerShape shape = parse_transformer(tiny(), "x.json");
  EXPECT_EQ(shape.name, "tiny");
  EXPECT_EQ(shape.aliases, std::vector<std::string>{"small"});
  EXPECT_EQ(shape.layers, 2);
  EXPECT_EQ(shape.query_width(), 6);
  EXPECT_EQ(shape.key_width(), 2);
  EXPECT_EQ(shape.ffn, 10);
  EXPECT_TRUE(shape.gated);
  EXPECT_FALSE(shape.tied);
  EXPECT_EQ(shape.norms, Norm::kRms);
  EXPECT_FALSE(shape.biases);
  EXPECT_FALSE(shape.dropout);
  EXPECT_EQ(shape.positions, 0);
  EXPECT_EQ(shape.provenance.at("licence"), "l");
}

// A layer: q 6x6, k and v 6x2 each, o 6x6: 96; gate, up and down 6x10 each: 180. Two norms of 6.
// Embedding and head: 50x6 each.
TEST(Transformer, CountsWhatIsSplitAndWhatIsReplicated) {
  const TransformerShape shape = parse_transformer(tiny(), "x.json");
  EXPECT_EQ(shape.layer_parameters(), (ParameterCount{276, 12}));
  EXPECT_EQ(shape.embedding_parameters(), (ParameterCount{300, 0}));
  EXPECT_EQ(shape.final_norm_parameters(), (ParameterCount{0, 6}));
  EXPECT_EQ(shape.head_parameters(), (ParameterCount{300, 0}));
  EXPECT_EQ(shape.parameters(), (ParameterCount{1152, 30}));
  EXPECT_EQ(shape.layer_parameters().of_rank(2), 138 + 12);
}

// Without a gate 6x10 less. Biases of q, k, v and the first product: 6 + 2 + 2 + 10 are split,
// those of the blocks' results, 6 + 6, are not; layer norms have as many biases as weights.
TEST(Transformer, BiasesOfSumsOverRanksAreReplicated) {
  TransformerShape shape = parse_transformer(tiny(), "x.json");
  shape.gated = false;
  shape.biases = true;
  shape.norms = Norm::kLayer;
  shape.tied = true;
  shape.positions = 8;
  EXPECT_EQ(shape.layer_parameters(), (ParameterCount{216 + 20, 24 + 12}));
  EXPECT_EQ(shape.embedding_parameters(), (ParameterCount{300, 48}));
  EXPECT_EQ(shape.head_parameters(), (ParameterCount{0, 0}));
}

TEST(Transformer, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of("\"layers\": 2", "\"layers\": 0"),
            "x.json: /layers: must be at least 1 and at most 1000000, got 0");
  EXPECT_EQ(error_of("\"layers\": 2, ", ""), "x.json: /layers: required but missing");
  EXPECT_EQ(error_of("\"gated\"", "\"gatd\""),
            "x.json: /gatd: unknown key (did you mean \"gated\"?); known: format, version, name, "
            "aliases, provenance, layers, hidden, heads, kv_heads, head_dim, ffn, gated, "
            "vocabulary, tied, norms, biases, dropout, positions");
  EXPECT_EQ(error_of("\"kv_heads\": 1", "\"kv_heads\": 2"),
            "x.json: /kv_heads: must divide /heads, 3, got 2");
  EXPECT_EQ(error_of("\"rms\"", "\"batch\""),
            "x.json: /norms: unknown \"batch\"; known: layer, rms");
  EXPECT_EQ(error_of("[\"small\"]", "[1]"),
            "x.json: /aliases: expected a list of strings, got 1 in it");
  EXPECT_EQ(error_of("[\"small\"]", "7"), "x.json: /aliases: expected a list, got 7");
  EXPECT_EQ(error_of("\"licence\": \"l\", ", ""),
            "x.json: /provenance/licence: required but missing");
  EXPECT_EQ(error_of("\"tiny\"", "\"\""), "x.json: /name: expected printable characters");
}

// (10^6 layers) x (10^6 values) x 10^6 between the products of each, three times: 3e18, beyond
// 1e14.
TEST(Transformer, RefusesAbsurdSizes) {
  std::string text =
      tiny("\"layers\": 2, \"hidden\": 6", "\"layers\": 1000000, \"hidden\": 1000000");
  text.replace(text.find("\"ffn\": 10"), 9, "\"ffn\": 1000000");
  EXPECT_EQ(message_of<InputError>([&] { parse_transformer(text, "x.json"); }),
            "x.json: /layers: expected at most 100000000000000 parameters in all, got 3e+18");
}

TEST(Transformer, HasTheNameOfItsFile) {
  const ScratchFile file("shape.json", tiny());
  const std::string stem = std::filesystem::path(file.path()).stem().string();
  EXPECT_EQ(message_of<InputError>([&] { read_transformer(file.path()); }),
            fmt::format("{}: /name: expected \"{}\", got \"tiny\"", file.path(), stem));
}

TEST(Transformers, AreFoundByNameAndAlias) {
  EXPECT_EQ(shipped("llama-2-7b").layers, 32);
  EXPECT_EQ(shipped("megatron-1t").name, "gpt-1008b");
  for (const char* name : {"", "no-such-shape", "transformers/llama-2-7b", "../devices/h100"})
    EXPECT_EQ(find_transformer(name), "") << name;
  const std::vector<std::string> names = transformer_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"gpt-1008b", "megatron-1t"})
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
  for (const std::string& name : names)
    EXPECT_NO_THROW(shipped(name)) << name;
}

// The same name may be that of a layer table.
TEST(Transformers, AreNoLayerTables) {
  EXPECT_EQ(find_layer_table("transformers/llama-2-7b"), "");
  EXPECT_EQ(find_layer_table("llama3.1-70b"), "");
  const std::vector<std::string> names = layer_table_names();
  EXPECT_TRUE(std::none_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("transformers/");
  }));
}

// 12 l h^2 (1 + 13/(12h) + (V + s)/(12 l h)) of arXiv 2104.04473, equation 2, with V = 51,200 and
// s = 2048: all but the final norm's 2h. Table 1 gives billions to one decimal.
TEST(Transformers, HaveTheParametersOfMegatron) {
  const Json rows = parse_json(read_file(kCounts), kCounts).at("sc21");
  ASSERT_EQ(rows.size(), 10u);
  for (const Json& row : rows) {
    const auto name = row.at("shape").get<std::string>();
    SCOPED_TRACE(name);
    const TransformerShape shape = shipped(name);
    const std::int64_t h = shape.hidden;
    const std::int64_t count = shape.parameters().total();
    EXPECT_EQ(count - 2 * h, shape.layers * (12 * h * h + 13 * h) + (51'200 + 2048) * h);
    EXPECT_EQ(fmt::format("{:.1f}", static_cast<double>(count) * 1e-9),
              fmt::format("{:.1f}", row.at("billions").get<double>()));
  }
}

// With learned positions as many as the sequence is long.
TEST(Transformers, HaveTheParametersOfMpt) {
  const Json rows = parse_json(read_file(kCounts), kCounts).at("mpt");
  ASSERT_EQ(rows.size(), 13u);
  for (const Json& row : rows) {
    TransformerShape shape = shipped(row.at("shape").get<std::string>());
    shape.positions = row.at("positions").get<std::int64_t>();
    EXPECT_EQ(shape.parameters().total(), row.at("parameters").get<std::int64_t>()) << row.dump();
  }
}

TEST(Transformers, HaveTheParametersOfTheirLayerTables) {
  for (const char* name : {"llama-2-7b", "gpt2-xl"}) {
    std::int64_t sum = 0;
    for (const TableLayer& layer : read_layer_table(find_layer_table(name)).layers) {
      for (const Tensor& tensor : layer.tensors)
        sum += tensor.params;
    }
    EXPECT_EQ(shipped(name).parameters().total(), sum) << name;
  }
}

// As published: Llama 3 of 8.03, 70.6 and 405.9 billion (models' cards), Nemotron-4 of 9.4 and
// 331.6 (arXiv 2406.11704, table 1: embeddings, and the rest).
TEST(Transformers, HaveThePublishedSizes) {
  EXPECT_EQ(shipped("llama3.1-8b").parameters().total(), 8'030'261'248);
  EXPECT_EQ(shipped("llama3.1-70b").parameters().total(), 70'553'706'496);
  EXPECT_EQ(shipped("llama3.1-405b").parameters().total(), 405'853'388'800);
  EXPECT_EQ(shipped("llama-2-13b").parameters().total(), 13'015'864'320);
  EXPECT_EQ(shipped("llama-2-70b").parameters().total(), 68'976'648'192);
  const TransformerShape nemotron = shipped("nemotron4-340b");
  const auto embeddings = static_cast<double>(nemotron.embedding_parameters().total() +
                                              nemotron.head_parameters().total());
  EXPECT_NEAR(embeddings * 1e-9, 9.4, 0.05);
  EXPECT_NEAR(static_cast<double>(nemotron.parameters().total()) * 1e-9, 9.4 + 331.6, 0.1);
}

}  // namespace
}  // namespace steptime
