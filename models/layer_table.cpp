#include "models/layer_table.h"

#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/config/input_files.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

// Sums over the layers of a table, and their products with a batch, stay far inside their types.
constexpr double kMostMacs = 1e15;
constexpr double kMostValues = 1e12;
constexpr double kMostParams = 1e12;
constexpr std::size_t kMostLayers = 1'000'000;
constexpr double kMostTokens = 1e6;
constexpr const char* kUnprintable = "expected printable characters";

// In the order of LayerKind.
const std::vector<std::string> kKinds{"activation", "add",         "batch-norm",
                                      "concat",     "convolution", "depthwise-convolution",
                                      "dropout",    "embedding",   "fully-connected",
                                      "layer-norm", "lrn",         "matrix-product",
                                      "pooling",    "softmax"};

const Params& sequence_params() {
  static const Params params{
      {.key = "usual", .kind = Kind::kInteger, .range = {.low = 1, .high = kMostTokens}},
      {.key = "longest", .kind = Kind::kInteger, .range = {.low = 1, .high = kMostTokens}}};
  return params;
}

/// Of a count that grows with the sequence.
const Params& count_params() {
  static const Params params{{.key = "token",
                              .kind = Kind::kInteger,
                              .help = "per token",
                              .need = Need::kDefault,
                              .fallback = 0,
                              .range = {.low = 0, .high = 1e12}},
                             {.key = "pair",
                              .kind = Kind::kInteger,
                              .help = "per pair of tokens of a sequence",
                              .need = Need::kDefault,
                              .fallback = 0,
                              .range = {.low = 0, .high = 1e9}}};
  return params;
}

const Params& table_params() {
  static const Params params{
      {.key = "format", .kind = Kind::kText, .help = "steptime-model", .words = {"steptime-model"}},
      {.key = "version", .kind = Kind::kInteger, .help = "1", .range = {.low = 1, .high = 1}},
      {.key = "name", .kind = Kind::kText, .help = "family/model, as the file is called"},
      {.key = "aliases", .kind = Kind::kList, .help = "further names"},
      {.key = "input", .kind = Kind::kList, .help = "channels, height, width; of a token: 1"},
      {.key = "sequence",
       .kind = Kind::kObject,
       .help = "tokens of a sample: usual, longest",
       .need = Need::kOptional,
       .table = sequence_params},
      {.key = "provenance", .kind = Kind::kObject, .help = "source, licence, date, note"},
      {.key = "layers", .kind = Kind::kList, .help = "in forward order"}};
  return params;
}

const Params& provenance_params() {
  static const Params params{
      {.key = "source", .kind = Kind::kText, .help = "the definition that the table follows"},
      {.key = "licence", .kind = Kind::kText, .help = "of the definition"},
      {.key = "date", .kind = Kind::kText, .help = "when the table was made"},
      {.key = "note", .kind = Kind::kText, .help = "conventions", .need = Need::kOptional}};
  return params;
}

const Params& layer_params() {
  static const Params params{{.key = "name", .kind = Kind::kText},
                             {.key = "kind", .kind = Kind::kText, .words = kKinds},
                             {.key = "macs",
                              .kind = Kind::kAny,
                              .help = "forward multiply-accumulates per sample",
                              .need = Need::kOptional},
                             {.key = "input", .kind = Kind::kAny, .help = "values per sample"},
                             {.key = "output", .kind = Kind::kAny, .help = "values per sample"},
                             {.key = "keeps",
                              .kind = Kind::kAny,
                              .help = "of its input, for its backward pass, where no layer before "
                                      "does; default: what its kind does",
                              .need = Need::kOptional},
                             {.key = "tensors", .kind = Kind::kList, .need = Need::kOptional}};
  return params;
}

const Params& tensor_params() {
  static const Params params{
      {.key = "name", .kind = Kind::kText},
      {.key = "params", .kind = Kind::kInteger, .range = {.low = 1, .high = kMostParams}}};
  return params;
}

const Json& list_of(const Config& config, std::string_view key) {
  const Json& list = config.raw(key);
  if (!list.is_array()) config.fail(key, fmt::format("expected a list, got {}", brief(list)));
  return list;
}

std::vector<std::string> read_aliases(const Config& config) {
  std::vector<std::string> aliases;
  for (const Json& alias : list_of(config, "aliases")) {
    if (!alias.is_string()) {
      config.fail("aliases", fmt::format("expected a list of strings, got {} in it", brief(alias)));
    }
    aliases.push_back(alias.get<std::string>());
  }
  return aliases;
}

std::int64_t read_input(const Config& config) {
  const Json& input = list_of(config, "input");
  double values = 1;
  for (const Json& extent : input) {
    if (!extent.is_number_integer() || extent.get<double>() < 1) {
      config.fail("input",
                  fmt::format("expected whole numbers of at least 1, got {}", brief(extent)));
    }
    values *= extent.get<double>();
  }
  if (input.empty() || values > kMostValues) {
    config.fail("input", fmt::format("expected 1 to {} values in all, got {}", kMostValues,
                                     input.empty() ? 0 : values));
  }
  return static_cast<std::int64_t>(values);
}

bool multiplies_weights(LayerKind kind) {
  return kind == LayerKind::kConvolution || kind == LayerKind::kDepthwiseConvolution ||
         kind == LayerKind::kFullyConnected;
}

/// A count, or for `tokens` of a sample one that grows with them.
std::int64_t read_count(const Config& config, std::string_view key, double most,
                        std::optional<std::int64_t> tokens, double least = 1) {
  const Json& value = config.raw(key);
  double count = 0;
  if (value.is_object() && tokens) {
    const Config grows = config.object(key, count_params());
    const auto s = static_cast<double>(*tokens);
    count = static_cast<double>(grows.get<std::int64_t>("token")) * s +
            static_cast<double>(grows.get<std::int64_t>("pair")) * s * s;
  } else if (value.is_number_integer()) {
    count = value.get<double>();
  } else {
    config.fail(key, fmt::format("expected an integer{}, got {}",
                                 tokens ? " or {\"token\", \"pair\"}" : "", brief(value)));
  }
  if (count < least || count > most) {
    config.fail(key, fmt::format("must be at least {:.0f} and at most {:.0f}, got {:.0f}", least,
                                 most, count));
  }
  return static_cast<std::int64_t>(count);
}

TableLayer read_layer(const Config& config, std::optional<std::int64_t> tokens) {
  const auto kind = std::find(kKinds.begin(), kKinds.end(), config.get<std::string>("kind"));
  if (!is_printable(config.get<std::string>("name"))) config.fail("name", kUnprintable);
  TableLayer layer{.name = config.get<std::string>("name"),
                   .kind = static_cast<LayerKind>(kind - kKinds.begin()),
                   .input = read_count(config, "input", kMostValues, tokens),
                   .output = read_count(config, "output", kMostValues, tokens)};
  const bool has_weights = multiplies_weights(layer.kind);
  const bool has_work = has_weights || layer.kind == LayerKind::kMatrixProduct;
  for (const char* key : {"macs", "tensors"}) {
    const bool is_due = key == std::string_view("macs") ? has_work : has_weights;
    if (is_due && !config.has(key)) {
      config.fail(key, fmt::format("required but missing, as the layer is a {}", *kind));
    }
  }
  if (!has_work && config.has("macs")) {
    config.fail("macs", fmt::format("unexpected, as the layer is of kind \"{}\"", *kind));
  }
  if (config.has("keeps")) layer.keeps = read_count(config, "keeps", kMostValues, tokens, 0);
  if (has_work) layer.macs = read_count(config, "macs", kMostMacs, tokens);
  if (config.has("tensors")) {
    for (const Config& tensor : config.objects("tensors", tensor_params())) {
      layer.tensors.push_back(
          {tensor.get<std::string>("name"), tensor.get<std::int64_t>("params")});
    }
  }
  if (has_weights && layer.tensors.empty()) {
    config.fail("tensors", "expected at least one tensor, got an empty list");
  }
  return layer;
}

/// Of a sample; none where the table's counts do not grow with them.
std::optional<std::int64_t> read_tokens(const Config& config,
                                        std::optional<std::int64_t> sequence) {
  if (!config.has("sequence")) {
    if (sequence)
      throw std::out_of_range(fmt::format("{} has no counts per token, got {} tokens a sample",
                                          config.get<std::string>("name"), *sequence));
    return std::nullopt;
  }
  const Config known = config.object("sequence", sequence_params());
  const auto longest = known.get<std::int64_t>("longest");
  const auto usual = known.get<std::int64_t>("usual");
  if (usual > longest)
    known.fail("usual", fmt::format("expected at most {}, got {}", longest, usual));
  const std::int64_t tokens = sequence.value_or(usual);
  if (tokens < 1 || tokens > longest)
    throw std::out_of_range(fmt::format("{} takes 1 to {} tokens a sample, got {}",
                                        config.get<std::string>("name"), longest, tokens));
  return tokens;
}

/// Whether a folder of models/ has layer tables.
bool is_family(const std::string& folder) {
  return folder != "devices" && folder != "transformers" && folder != "stacks";
}

/// models/<family>/<model>.json, sorted.
std::vector<fs::path> table_files() {
  const fs::path models = data_dir() / "models";
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& family : fs::directory_iterator(models, error)) {
    if (!family.is_directory() || !is_family(family.path().filename().string())) continue;
    for (fs::path& file : json_files(family.path()))
      files.push_back(std::move(file));
  }
  if (error) throw InputError(fmt::format("{}: {}", models.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

[[noreturn]] void refuse_name(const std::string& name, const std::string& file,
                              const std::string& other) {
  throw InputError(fmt::format("{}: the name \"{}\" is already that of {}", file, name, other));
}

/// By full name and by alias; a full name is its own entry.
std::map<std::string, std::string> index_tables() {
  std::map<std::string, std::string> files;
  const auto add = [&](const std::string& name, const std::string& file) {
    const auto [entry, is_new] = files.emplace(name, file);
    if (!is_new) refuse_name(name, file, entry->second);
  };
  for (const fs::path& path : table_files()) {
    const LayerTable table = read_layer_table(path.string());
    if (const auto stem = path.parent_path().filename() / path.stem(); table.name != stem) {
      throw InputError(fmt::format("{}: /name: expected \"{}\", got \"{}\"", path.string(),
                                   stem.string(), table.name));
    }
    add(table.name, path.string());
    for (const std::string& alias : table.aliases)
      add(alias, path.string());
  }
  return files;
}

/// The only file with the alias, or "". Parses no file but those that hold it in quotes: all of
/// them together take longer than most runs.
std::string file_with(const std::string& alias) {
  const std::string quoted = Json(alias).dump();
  std::string found;
  for (const fs::path& path : table_files()) {
    const std::string text = text_at(path.string());
    if (text.find(quoted) == std::string::npos) continue;
    const LayerTable table = parse_layer_table(text, path.string());
    if (std::ranges::find(table.aliases, alias) == table.aliases.end()) continue;
    if (!found.empty()) refuse_name(alias, path.string(), found);
    found = path.string();
  }
  return found;
}

/// "family/model" of plain characters: it cannot leave the models folder.
bool is_full_name(const std::string& model) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  const auto slash = model.find('/');
  return slash != std::string::npos && is_family(model.substr(0, slash)) &&
         std::count_if(model.begin(), model.end(), plain) + 1 ==
             static_cast<std::ptrdiff_t>(model.size());
}

}  // namespace

std::int64_t TableLayer::weights() const {
  const auto largest =
      std::max_element(tensors.begin(), tensors.end(),
                       [](const Tensor& x, const Tensor& y) { return x.params < y.params; });
  return largest == tensors.end() ? 0 : largest->params;
}

LayerTable parse_layer_table(const std::string& text, const std::string& file,
                             std::optional<std::int64_t> sequence) {
  const Config config(std::make_shared<Document>(Document{file, parse_json(text, file)}),
                      table_params());
  config.get<std::string>("format");
  config.get<std::int64_t>("version");
  LayerTable table{.name = config.get<std::string>("name"),
                   .aliases = read_aliases(config),
                   .input = read_input(config),
                   .input_channels = config.raw("input").front().get<std::int64_t>(),
                   .has_sequences = config.has("sequence")};
  if (!is_printable(table.name)) config.fail("name", kUnprintable);
  const Config provenance = config.object("provenance", provenance_params());
  for (const Param& p : provenance_params()) {
    if (p.need == Need::kRequired || provenance.has(p.key)) provenance.get<std::string>(p.key);
  }
  table.provenance = provenance.node();
  const std::size_t count = list_of(config, "layers").size();
  if (count == 0 || count > kMostLayers) {
    config.fail("layers", fmt::format("expected 1 to {} layers, got {}", kMostLayers, count));
  }
  const auto tokens = read_tokens(config, sequence);
  table.input *= tokens.value_or(1);
  std::set<std::string> names;
  for (const Config& layer : config.objects("layers", layer_params())) {
    table.layers.push_back(read_layer(layer, tokens));
    if (!names.insert(table.layers.back().name).second)
      layer.fail("name", "another layer before has this name");
  }
  return table;
}

std::size_t attention_at(const LayerTable& table, std::size_t first) {
  const auto is = [&](std::size_t i, LayerKind kind) {
    return i < table.layers.size() && table.layers[i].kind == kind &&
           table.layers[i].tensors.empty();
  };
  if (!is(first, LayerKind::kMatrixProduct) || !is(first + 1, LayerKind::kSoftmax)) return 0;
  const std::size_t parts = is(first + 2, LayerKind::kDropout) ? 4 : 3;
  return is(first + parts - 1, LayerKind::kMatrixProduct) ? parts : 0;
}

double attention_values(const LayerTable& table, std::size_t first, std::size_t parts) {
  const TableLayer& scores = table.layers[first];
  const TableLayer& weights = table.layers[first + 1];
  const TableLayer& context = table.layers[first + parts - 1];
  return static_cast<double>(scores.input + context.input - weights.output + context.output);
}

AfterNorm after_norm_at(const LayerTable& table, std::size_t norm) {
  const std::vector<TableLayer>& layers = table.layers;
  if (norm >= layers.size() || layers[norm].kind != LayerKind::kBatchNorm) return {};
  const std::int64_t output = layers[norm].output;
  AfterNorm after;
  const auto next_is = [&](LayerKind kind) {
    const std::size_t i = norm + 1 + after.layers;
    return i < layers.size() && layers[i].kind == kind && layers[i].output == output &&
           layers[i].tensors.empty();
  };
  if (next_is(LayerKind::kAdd)) {
    after.added = layers[norm + 1].input - output;
    ++after.layers;
  }
  if (next_is(LayerKind::kActivation)) ++after.layers;
  return after;
}

LayerTable read_layer_table(const std::string& path, std::optional<std::int64_t> sequence) {
  return parse_layer_table(read_file(path), path, sequence);
}

std::string find_layer_table(const std::string& model) {
  if (is_full_name(model)) {
    const fs::path path = data_dir() / "models" / (model + ".json");
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path.string();
  }
  static std::mutex mutex;
  static std::map<std::string, std::string> found;  // by alias
  const std::lock_guard lock(mutex);
  const auto known = found.find(model);
  return known != found.end() ? known->second : found[model] = file_with(model);
}

std::vector<std::string> layer_table_names() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : index_tables())
    names.push_back(name);
  return names;
}

std::vector<fs::path> json_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    if (file.path().extension() == ".json") files.push_back(file.path());
  }
  if (error) throw InputError(fmt::format("{}: {}", folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace steptime
