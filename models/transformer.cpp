#include "models/transformer.h"

#include "models/layer_table.h"
#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/config/input_files.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

// Products of these stay far inside their types.
constexpr double kMostLayers = 1e4;
constexpr double kMostWidth = 1e6;

Param count(std::string key, std::string help, double most = kMostWidth) {
  return {.key = std::move(key),
          .kind = Kind::kInteger,
          .help = std::move(help),
          .range = {.low = 1, .high = most}};
}
Param choice(std::string key, std::string help) {
  return {.key = std::move(key),
          .kind = Kind::kBoolean,
          .help = std::move(help),
          .need = Need::kDefault,
          .fallback = false};
}

const Params& transformer_params() {
  static const Params params{
      {.key = "format", .kind = Kind::kText, .words = {"steptime-transformer"}},
      {.key = "version", .kind = Kind::kInteger, .range = {.low = 1, .high = 1}},
      {.key = "name", .kind = Kind::kText},
      count("layers", "of attention and MLP", kMostLayers),
      count("hidden", "values of a token between layers"),
      count("heads", "of queries"),
      count("kv_heads", "of keys and of values"),
      count("head_dim", "values of a head"),
      count("ffn", "values of a token inside the MLP"),
      choice("gated", "the MLP's inner values are products of two"),
      count("vocabulary", "tokens", 1e8),
      choice("tied", "logits are made with the embedding's weights"),
      {.key = "norms",
       .kind = Kind::kText,
       .need = Need::kDefault,
       .fallback = "rms",
       .words = {"rms", "layer"}},
      choice("biases", "of products"),
      {.key = "positions",
       .kind = Kind::kInteger,
       .help = "learned; 0: rotary",
       .need = Need::kDefault,
       .fallback = 0,
       .range = {.low = 0, .high = 1e7}},
      choice("dropout", "of attention, and behind attention and MLP"),
      {.key = "source", .kind = Kind::kText, .help = "of all numbers"}};
  return params;
}

fs::path folder() {
  return data_dir() / "models" / "transformers";
}

}  // namespace

SharedParams layer_params(const TransformerShape& shape) {
  const std::int64_t h = shape.hidden;
  const std::int64_t of_heads = shape.heads * shape.head_dim;
  const std::int64_t inner = shape.inner_products() * shape.ffn;
  SharedParams params{.split = h * (shape.attention_width() + of_heads + inner + shape.ffn),
                      .replicated = 2 * h * (shape.has_shifts ? 2 : 1)};
  if (!shape.has_biases) return params;
  params.split += shape.attention_width() + inner;
  params.replicated += 2 * h;  // of what tensor ranks have summed up
  return params;
}

SharedParams embedding_params(const TransformerShape& shape) {
  return {.split = shape.vocabulary * shape.hidden, .replicated = shape.positions * shape.hidden};
}

SharedParams head_params(const TransformerShape& shape) {
  return {.split = shape.is_tied ? 0 : shape.vocabulary * shape.hidden,
          .replicated = shape.hidden * (shape.has_shifts ? 2 : 1)};
}

std::int64_t params_of(const TransformerShape& shape) {
  return shape.layers * layer_params(shape).all() + embedding_params(shape).all() +
         head_params(shape).all();
}

std::int64_t multiply_accumulates(const TransformerShape& shape, std::int64_t sequence) {
  const std::int64_t of_heads = shape.heads * shape.head_dim;
  const std::int64_t weights = shape.hidden * (shape.attention_width() + of_heads +
                                               (shape.inner_products() + 1) * shape.ffn);
  const std::int64_t pairs = 2 * of_heads * sequence;  // scores, and sums of values
  return sequence * (shape.layers * (weights + pairs) + shape.vocabulary * shape.hidden);
}

TransformerShape parse_transformer(const std::string& text, const std::string& file) {
  const Config config(std::make_shared<Document>(Document{file, parse_json(text, file)}),
                      transformer_params());
  config.check_values();
  TransformerShape shape{.name = config.get<std::string>("name"),
                         .layers = config.get<std::int64_t>("layers"),
                         .hidden = config.get<std::int64_t>("hidden"),
                         .heads = config.get<std::int64_t>("heads"),
                         .kv_heads = config.get<std::int64_t>("kv_heads"),
                         .head_dim = config.get<std::int64_t>("head_dim"),
                         .ffn = config.get<std::int64_t>("ffn"),
                         .is_gated = config.get<bool>("gated"),
                         .vocabulary = config.get<std::int64_t>("vocabulary"),
                         .is_tied = config.get<bool>("tied"),
                         .has_shifts = config.get<std::string>("norms") == "layer",
                         .has_biases = config.get<bool>("biases"),
                         .positions = config.get<std::int64_t>("positions"),
                         .has_dropout = config.get<bool>("dropout")};
  if (!is_printable(shape.name)) config.fail("name", "expected printable characters");
  if (shape.heads % shape.kv_heads != 0) {
    config.fail("kv_heads", fmt::format("found {}, expected a divisor of the {} heads of queries",
                                        shape.kv_heads, shape.heads));
  }
  return shape;
}

TransformerShape read_transformer(const std::string& path) {
  TransformerShape shape = parse_transformer(read_file(path), path);
  if (const std::string stem = fs::path(path).stem().string(); shape.name != stem) {
    throw InputError(
        fmt::format("{}: /name: expected \"{}\", got {}", path, stem, brief(shape.name)));
  }
  return shape;
}

std::string find_transformer(const std::string& name) {
  const auto names = transformer_names();
  if (!std::binary_search(names.begin(), names.end(), name)) return "";
  return (folder() / (name + ".json")).string();
}

std::vector<std::string> transformer_names() {
  std::vector<std::string> names;
  for (const fs::path& file : json_files(folder()))
    names.push_back(file.stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace steptime
