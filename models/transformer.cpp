#include "models/transformer.h"

#include "models/layer_table.h"
#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/config/input_files.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

// A model's parameters, and with any batch its operations and bytes, stay far inside their types.
constexpr double kMostParameters = 1e14;
constexpr Range kCount{.low = 1, .high = 1e6};
constexpr Range kWords{.low = 1, .high = 1e9};
constexpr const char* kUnprintable = "expected printable characters";

const Params& shape_provenance() {
  static const Params params{
      {.key = "source", .kind = Kind::kText, .help = "where the sizes are published"},
      {.key = "licence", .kind = Kind::kText, .help = "of the source"},
      {.key = "date", .kind = Kind::kText, .help = "when the file was made"},
      {.key = "note", .kind = Kind::kText, .help = "conventions", .need = Need::kOptional}};
  return params;
}

const Params& shape_params() {
  static const Params params{
      {.key = "format",
       .kind = Kind::kText,
       .help = "steptime-transformer",
       .words = {"steptime-transformer"}},
      {.key = "version", .kind = Kind::kInteger, .help = "1", .range = {.low = 1, .high = 1}},
      {.key = "name", .kind = Kind::kText, .help = "as the file is called"},
      {.key = "aliases", .kind = Kind::kList, .help = "further names"},
      {.key = "provenance", .kind = Kind::kObject, .help = "source, licence, date, note"},
      {.key = "layers", .kind = Kind::kInteger, .range = kCount},
      {.key = "hidden", .kind = Kind::kInteger, .help = "values of a token", .range = kCount},
      {.key = "heads", .kind = Kind::kInteger, .help = "of queries", .range = kCount},
      {.key = "kv_heads", .kind = Kind::kInteger, .help = "of keys and values", .range = kCount},
      {.key = "head_dim", .kind = Kind::kInteger, .help = "values of a head", .range = kCount},
      {.key = "ffn",
       .kind = Kind::kInteger,
       .help = "values between the products of the feed-forward network",
       .range = {.low = 1, .high = 1e7}},
      {.key = "gated",
       .kind = Kind::kBoolean,
       .help = "the activation is multiplied by a product of its own"},
      {.key = "vocabulary", .kind = Kind::kInteger, .help = "as padded", .range = kWords},
      {.key = "tied",
       .kind = Kind::kBoolean,
       .help = "the output head has the token embeddings' weights"},
      {.key = "norms",
       .kind = Kind::kText,
       .help = "layer: a weight and a bias; rms: a weight",
       .words = {"layer", "rms"}},
      {.key = "biases", .kind = Kind::kBoolean, .help = "of the layers' products"},
      {.key = "dropout",
       .kind = Kind::kBoolean,
       .help = "after both blocks, the embedding and the softmax"},
      {.key = "positions",
       .kind = Kind::kInteger,
       .help = "learned ones; 0: rotary",
       .need = Need::kDefault,
       .fallback = 0,
       .range = {.low = 0, .high = 1e9}}};
  return params;
}

std::vector<std::string> aliases_of(const Config& config) {
  const Json& list = config.raw("aliases");
  if (!list.is_array()) config.fail("aliases", fmt::format("expected a list, got {}", brief(list)));
  std::vector<std::string> aliases;
  for (const Json& alias : list) {
    if (!alias.is_string()) {
      config.fail("aliases", fmt::format("expected a list of strings, got {} in it", brief(alias)));
    }
    aliases.push_back(alias.get<std::string>());
  }
  return aliases;
}

Json read_provenance(const Config& config) {
  const Config provenance = config.object("provenance", shape_provenance());
  for (const Param& p : shape_provenance()) {
    if (p.need == Need::kRequired || provenance.has(p.key)) provenance.get<std::string>(p.key);
  }
  return provenance.node();
}

/// Of the weights of products and embeddings, which are most parameters.
double rough_parameters(const TransformerShape& shape) {
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  const double layer = 2 * real(shape.heads + shape.kv_heads) * real(shape.head_dim) +
                       (shape.gated ? 3 : 2) * real(shape.ffn);
  return real(shape.hidden) *
         (real(shape.layers) * layer + 2 * real(shape.vocabulary) + real(shape.positions));
}

void check_sizes(const Config& config, const TransformerShape& shape) {
  if (shape.heads % shape.kv_heads != 0) {
    config.fail("kv_heads",
                fmt::format("must divide /heads, {}, got {}", shape.heads, shape.kv_heads));
  }
  if (const double parameters = rough_parameters(shape); parameters > kMostParameters) {
    config.fail("layers", fmt::format("expected at most {:.0f} parameters in all, got {:.3g}",
                                      kMostParameters, parameters));
  }
}

fs::path shapes_dir() {
  return data_dir() / "models" / "transformers";
}

/// By name and by alias.
std::map<std::string, std::string> index_shapes() {
  std::map<std::string, std::string> files;
  for (const fs::path& path : json_files(shapes_dir())) {
    // A result depends on one of them only.
    const TransformerShape shape = parse_transformer(text_at(path.string()), path.string());
    std::vector<std::string> names = shape.aliases;
    names.push_back(shape.name);
    for (const std::string& name : names) {
      const auto [entry, is_new] = files.emplace(name, path.string());
      if (!is_new) {
        throw InputError(fmt::format("{}: the name \"{}\" is already that of {}", path.string(),
                                     name, entry->second));
      }
    }
  }
  return files;
}

}  // namespace

ParameterCount& ParameterCount::operator+=(const ParameterCount& other) {
  split += other.split;
  replicated += other.replicated;
  return *this;
}

ParameterCount TransformerShape::layer_parameters() const {
  const std::int64_t attention = hidden * (2 * query_width() + 2 * key_width());
  const std::int64_t between = (gated ? 2 : 1) * ffn;
  ParameterCount count{.split = attention + hidden * (between + ffn),
                       .replicated = 2 * final_norm_parameters().replicated};
  if (biases) {
    count.split += query_width() + 2 * key_width() + between;
    count.replicated += 2 * hidden;  // of both blocks' results, which are sums over the ranks
  }
  return count;
}

ParameterCount TransformerShape::embedding_parameters() const {
  return {.split = vocabulary * hidden, .replicated = positions * hidden};
}

ParameterCount TransformerShape::final_norm_parameters() const {
  return {.replicated = (norms == Norm::kLayer ? 2 : 1) * hidden};
}

ParameterCount TransformerShape::head_parameters() const {
  return {.split = tied ? 0 : vocabulary * hidden};
}

ParameterCount TransformerShape::parameters() const {
  ParameterCount sum = layer_parameters();
  sum.split *= layers;
  sum.replicated *= layers;
  for (const ParameterCount& part :
       {embedding_parameters(), final_norm_parameters(), head_parameters()})
    sum += part;
  return sum;
}

TransformerShape parse_transformer(const std::string& text, const std::string& file) {
  const Config config(std::make_shared<Document>(Document{file, parse_json(text, file)}),
                      shape_params());
  config.get<std::string>("format");
  config.get<std::int64_t>("version");
  const auto count = [&](const char* key) { return config.get<std::int64_t>(key); };
  TransformerShape shape{
      .name = config.get<std::string>("name"),
      .aliases = aliases_of(config),
      .layers = count("layers"),
      .hidden = count("hidden"),
      .heads = count("heads"),
      .kv_heads = count("kv_heads"),
      .head_dim = count("head_dim"),
      .ffn = count("ffn"),
      .gated = config.get<bool>("gated"),
      .vocabulary = count("vocabulary"),
      .tied = config.get<bool>("tied"),
      .norms = config.get<std::string>("norms") == "layer" ? Norm::kLayer : Norm::kRms,
      .biases = config.get<bool>("biases"),
      .dropout = config.get<bool>("dropout"),
      .positions = count("positions"),
      .provenance = read_provenance(config)};
  if (!is_printable(shape.name)) config.fail("name", kUnprintable);
  check_sizes(config, shape);
  return shape;
}

const Params& transformer_size_params() {
  static const Params params = [] {
    Params sizes;
    for (Param param : shape_params()) {
      if (param.key == "format" || param.key == "version" || param.key == "name" ||
          param.key == "aliases" || param.key == "provenance")
        continue;
      param.need = Need::kOptional;
      sizes.push_back(std::move(param));
    }
    return sizes;
  }();
  return params;
}

TransformerShape with_sizes(TransformerShape shape, const Config& section) {
  const auto set = [&](const char* key, auto& size) {
    using Size = std::remove_reference_t<decltype(size)>;
    if (section.has(key)) size = section.get<Size>(key);
  };
  set("layers", shape.layers);
  set("hidden", shape.hidden);
  set("heads", shape.heads);
  set("kv_heads", shape.kv_heads);
  set("head_dim", shape.head_dim);
  set("ffn", shape.ffn);
  set("gated", shape.gated);
  set("vocabulary", shape.vocabulary);
  set("tied", shape.tied);
  set("biases", shape.biases);
  set("dropout", shape.dropout);
  set("positions", shape.positions);
  if (section.has("norms"))
    shape.norms = section.get<std::string>("norms") == "layer" ? Norm::kLayer : Norm::kRms;
  check_sizes(section, shape);
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
  static const std::map<std::string, std::string> kFiles = index_shapes();
  const auto found = kFiles.find(name);
  return found == kFiles.end() ? "" : found->second;
}

std::vector<std::string> transformer_names() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : index_shapes())
    names.push_back(name);
  return names;
}

}  // namespace steptime
