#include "sim/evidence/published_rows.h"

#include "sim/config/data_dir.h"
#include "sim/config/input_files.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"
#include "sim/experiment/overrides.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

double real(const Json& object, const char* key) {
  return object.at(key).get<double>();
}

bool has(const Json& object, const char* key) {
  return object.contains(key) && !object.at(key).is_null();
}

std::int64_t count_of(const Json& object, const char* key) {
  return has(object, key) ? object.at(key).get<std::int64_t>() : 1;
}

void set_all(Json& config, const Json& values) {
  for (const auto& [pointer, value] : values.items()) {
    const Json::json_pointer at(pointer);
    if (value.is_null() && config.contains(at))
      config.at(at.parent_pointer()).erase(at.back());
    else if (!value.is_null())
      config[at] = value;
  }
}

/// Of the rank that has most of it.
bool is_of_memory(const std::string& metric) {
  return metric == "peak_memory_gib" || metric == "peak_alloc_gib" || metric == "peak_memory_gb";
}

/// The object under `key` of those under `of`, or none.
Json entry(const Json& mapping, const char* of, const std::string& key) {
  return mapping.at(of).value(key, Json::object());
}

}  // namespace

double step_flops(const Json& model, double samples, double sequence, FlopsCount count) {
  const double h = real(model, "hidden");
  const double heads = real(model, "heads");
  const double keys = has(model, "kv_heads") ? real(model, "kv_heads") : heads;
  const double products = model.value("gated_mlp", false) ? 3 : 2;
  const double layer = 2 * h * (2 * h + 2 * h * keys / heads + products * real(model, "ffn"));
  const double core = 4 * h * sequence * (count == FlopsCount::kMasked ? 0.5 : 1);
  const double head = 2 * h * real(model, "vocab");
  const double passes = count == FlopsCount::kHardware ? 4 : 3;
  return samples * sequence * (passes * real(model, "layers") * (layer + core) + 3 * head);
}

const Params& rows_params() {
  const auto table = [](const char* key, const char* help) {
    return Param{.key = key, .kind = Kind::kObject, .help = help};
  };
  static const Params params{
      {.key = "file", .kind = Kind::kPath, .help = "the rows"},
      table("models",
            "by a model's name, or \"gated\" and \"plain\": the shape whose sizes a row "
            "says anew, and keys of it"),
      table("hardware", "by a row's words: family, GPUs of a node, values to set"),
      table("precisions", "by a row's words: family, values to set"),
      table("groups",
            "by a row's group, an object with some of `stack`, `set` (JSON pointers and values), "
            "`flops` (how operations a second are counted: `hardware`, `whole`, else with half of "
            "attention), `peak_flops` (of a share of it), `assumed`, `missed_because`, `left_out` "
            "and `left_out_counts` (as 50 % off), `tolerance_pct`; `sequence_parallel`, "
            "`one_layer_a_chunk` and `fields` where the rows do not say, and `by`, which counts "
            "after that of all rows"),
      table("by", "by a field of a row and its word: values to set"),
      table("chunks", "the order of a pipeline whose ranks have several chunks"),
      table("recomputed_layers", "what a row means that says how many layers are computed again"),
      {.key = "effects",
       .kind = Kind::kList,
       .help = "changes that are compared between two rows: `what`, ids `of` and `over` whose "
               "steps are divided, `within`, and maybe `missed_because`",
       .need = Need::kDefault,
       .fallback = Json::array()},
      {.key = "rankings",
       .kind = Kind::kList,
       .help = "ways to do one thing, which steps rank: `what`, `rows` (how their ids begin), "
               "`most_chosen` (the step of the one simulated as the fastest, over the fastest "
               "one) and `least_tau` (Kendall's)",
       .need = Need::kDefault,
       .fallback = Json::array()}};
  return params;
}

RowMapping::RowMapping(const Json& base, const Config& section)
    : base_(base), mapping_(section.node()) {
  base_.erase("claims");
  base_.erase("sweep");
  const auto file = section.get<std::string>("file");
  for (const char* key :
       {"models", "hardware", "precisions", "groups", "by", "chunks", "recomputed_layers"})
    (void)section.object(key, any_keys());
  effects_ = section.raw("effects");
  for (const Json& effect : effects_) {
    const bool is_one =
        effect.is_object() && effect.contains("within") && effect["within"].is_number();
    for (const char* key : {"what", "of", "over"}) {
      if (is_one && effect.contains(key) && effect[key].is_string()) continue;
      section.fail("effects", fmt::format("found {}, expected an object with \"what\", \"of\", "
                                          "\"over\" and a number \"within\"",
                                          brief(effect)));
    }
  }
  rankings_ = section.raw("rankings");
  for (const Json& ranking : rankings_) {
    const auto has = [&](const char* key, bool is_text) {
      return ranking.is_object() && ranking.contains(key) &&
             (is_text ? ranking[key].is_string() : ranking[key].is_number());
    };
    if (has("what", true) && has("rows", true) && has("most_chosen", false) &&
        has("least_tau", false))
      continue;
    section.fail("rankings",
                 fmt::format("found {}, expected an object with \"what\", \"rows\", and "
                             "numbers \"most_chosen\" and \"least_tau\"",
                             brief(ranking)));
  }
  const std::string text = read_file(file);
  for (const TextLine& line : text_lines(file, text)) {
    const Json row = Json::parse(line.text(), nullptr, false);
    if (!row.is_object()) line.fail("a JSON object");
    for (const char* key :
         {"id", "group", "hardware", "metric", "value", "model", "parallelism", "source"}) {
      if (!row.contains(key)) line.fail(fmt::format("a row with \"{}\"", key));
    }
    rows_.push_back(row);
  }
}

std::optional<LeftOut> RowMapping::left_out(const Json& row) const {
  const Json group = entry(mapping_, "groups", row.at("group"));
  if (group.contains("left_out"))
    return LeftOut{group.at("left_out"), group.value("left_out_counts", false)};
  const Json& model = row.at("model");
  const Json& how = row.at("parallelism");
  if (has(model, "moe") || count_of(how, "ep") > 1) return LeftOut{"experts are not simulated"};
  for (const char* key : {"layers", "hidden", "heads", "ffn", "vocab"}) {
    if (!has(model, key)) return LeftOut{"its layers' sizes are not published"};
  }
  for (const char* key : {"micro_batch", "global_batch", "seq"}) {
    if (!has(how, key)) return LeftOut{fmt::format("its {} is not published", key)};
  }
  if (has(how, "offload")) {
    return LeftOut{fmt::format("the host's memory is not simulated, which holds {}",
                               how.at("offload").get<std::string>())};
  }
  const auto known = [&](const char* table, const std::string& word) {
    return mapping_.at(table).contains(word);
  };
  if (!known("groups", row.at("group"))) return LeftOut{"its group is not mapped", true};
  if (!known("hardware", row.at("hardware")))
    return LeftOut{fmt::format("no cluster for \"{}\"", row.at("hardware").get<std::string>()),
                   true};
  if (!known("precisions", how.at("precision")))
    return LeftOut{fmt::format("no precision {}", how.at("precision").dump()), true};
  return std::nullopt;
}

double RowMapping::published_of(const Json& row, const Json& group) const {
  const Json& how = row.at("parallelism");
  const double value = real(row, "value");
  const auto metric = row.at("metric").get<std::string>();
  if (metric == "step_time_s" || is_of_memory(metric)) return value;
  const double samples = real(how, "global_batch");
  const double gpus = real(row, "N");
  if (metric == "tokens_per_s_per_gpu") return samples * real(how, "seq") / (gpus * value);
  const std::string convention = group.value("flops", "");
  const FlopsCount count = convention == "hardware" ? FlopsCount::kHardware
                           : convention == "whole"  ? FlopsCount::kWhole
                                                    : FlopsCount::kMasked;
  const double flops = step_flops(row.at("model"), samples, real(how, "seq"), count);
  if (metric == "tflops_per_gpu") return flops / (gpus * value * 1e12);
  if (metric == "mfu_pct") return flops / (gpus * value / 100 * real(group, "peak_flops"));
  return 0;
}

void RowMapping::set_model(Json& config, const Json& row) const {
  const Json& model = row.at("model");
  const Json& how = row.at("parallelism");
  const bool gated = model.value("gated_mlp", false);
  const Json& models = mapping_.at("models");
  const auto name = model.at("name").get<std::string>();
  Json shape = models.contains(name) ? models.at(name) : models.at(gated ? "gated" : "plain");
  Json& workload = config["workload"];
  workload["model"] = shape.at("model");
  shape.erase("model");
  for (const char* key : {"layers", "hidden", "heads", "ffn"})
    shape[key] = model.at(key);
  shape["kv_heads"] = has(model, "kv_heads") ? model.at("kv_heads") : model.at("heads");
  shape["vocabulary"] = model.at("vocab");
  shape["head_dim"] =
      model.at("hidden").get<std::int64_t>() / model.at("heads").get<std::int64_t>();
  shape["gated"] = gated;
  if (has(model, "tied")) shape["tied"] = model.at("tied");
  if (shape.value("positions", Json()) == "sequence") shape["positions"] = how.at("seq");
  workload["shape"] = shape;
  workload["sequence"] = how.at("seq");
  workload["batch"] = how.at("micro_batch");
  workload["global_batch"] = how.at("global_batch");
}

void RowMapping::set_layout(Json& config, const Json& row, const Json& group) const {
  const Json& how = row.at("parallelism");
  Json& strategy = config["strategy"];
  Json layout = strategy.value("layout", Json::object());
  const std::int64_t tensor = count_of(how, "tp");
  const std::int64_t pipeline = count_of(how, "pp");
  layout["tensor"] = tensor;
  layout["pipeline"] = pipeline;
  layout["context"] = count_of(how, "cp");
  layout["sequence_parallel"] =
      tensor > 1 && (has(how, "sequence_parallel") ? how.at("sequence_parallel").get<bool>()
                                                   : group.value("sequence_parallel", false));
  const std::int64_t layers = row.at("model").at("layers");
  std::int64_t chunks = pipeline > 1 ? count_of(how, "vp") : 1;
  if (pipeline > 1 && !has(how, "vp") && group.value("one_layer_a_chunk", false))
    chunks = layers / pipeline;
  if (chunks > 1) {
    strategy["pipeline_order"] = mapping_.at("chunks");
    strategy["pipeline_order"]["chunks"] = chunks;
  }
  // NeMo counts embedding and loss as layers: 126 of them lie in 128 places.
  const std::int64_t stages = pipeline * chunks;
  if (layers % stages != 0 && (layers + 2) % stages == 0) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(stages), (layers + 2) / stages);
    --numbers.front();
    --numbers.back();
    layout["stages"] = numbers;
  }
  strategy["layout"] = layout;
  if (has(how, "recompute_layers")) {
    Json first = Json::array();
    for (std::int64_t l = 0; l < count_of(how, "recompute_layers"); ++l)
      first.push_back(l);
    strategy["recompute"] = mapping_.at("recomputed_layers");
    strategy["recompute"]["layers"] = first;
  }
}

std::variant<RowExperiment, LeftOut> RowMapping::experiment(const Json& stated) const {
  Json row = stated;
  const Json assumed_fields =
      entry(mapping_, "groups", row.at("group")).value("fields", Json::object());
  for (const auto& [key, value] : assumed_fields.items()) {
    if (!has(row["parallelism"], key.c_str())) row["parallelism"][key] = value;
  }
  if (const auto reason = left_out(row)) return *reason;
  const Json& how = row.at("parallelism");
  const Json group = entry(mapping_, "groups", row.at("group"));
  const Json hardware = entry(mapping_, "hardware", row.at("hardware"));
  const Json precision = entry(mapping_, "precisions", how.at("precision"));
  RowExperiment made{.config = base_,
                     .published = published_of(row, group),
                     .is_memory = is_of_memory(row.at("metric").get<std::string>()),
                     .is_bound = row.value("kind", "") == "text",
                     .group = row.at("group"),
                     .assumed = group.value("assumed", ""),
                     .reason = group.value("missed_because", "")};
  if (group.contains("tolerance_pct")) made.tolerance_pct = real(group, "tolerance_pct");
  if (!(made.published > 0)) {
    return LeftOut{
        fmt::format("no step time or memory follows from its {}", row.at("metric").dump())};
  }
  const auto gpus = row.at("N").get<std::int64_t>();
  const std::int64_t of_node = std::min(gpus, hardware.value("gpus_per_node", std::int64_t{8}));
  made.config["name"] = row.at("id");
  set_model(made.config, row);
  set_all(made.config, hardware.value("set", Json::object()));
  made.config["cluster"]["gpus_per_node"] = of_node;
  made.config["cluster"]["nodes"] = gpus / of_node;
  set_all(made.config, precision.value("set", Json::object()));
  made.config["strategy"]["stack"] = group.at("stack");
  set_all(made.config, group.value("set", Json::object()));
  for (const Json& by : {mapping_.at("by"), group.value("by", Json::object())}) {
    for (const auto& [key, words] : by.items()) {
      if (!has(how, key.c_str())) continue;
      const Json& word = how.at(key);
      set_all(made.config, words.value(word.is_string() ? word.get<std::string>() : word.dump(),
                                       Json::object()));
    }
  }
  set_layout(made.config, row, group);
  constexpr std::int64_t kFew = 32;
  const std::string device = hardware.value("family", "");
  made.family = made.is_memory  ? "memory"
                : made.is_bound ? "bounds, in no mean"
                : gpus >= kFew  ? fmt::format("{} {}", device, precision.value("family", ""))
                                : hardware.value("few", std::string("below 32 GPUs"));
  return made;
}

std::map<std::string, std::string> fitted_rows() {
  std::map<std::string, std::string> fitted;
  for (const char* folder : {"devices", "stacks"}) {
    for (const std::string& file : files_in((data_dir() / "models" / folder).string(), ".json")) {
      const Json json = parse_json(text_at(file), file);
      const auto note = [&](const Json& of, const std::string& what) {
        const Json ids = of.value("fitted_on", Json::array());
        for (const Json& id : ids)
          fitted.emplace(id.get<std::string>(), what);
      };
      const auto name = json.value("name", "");
      note(json, name);
      const Json transformers = json.value("transformers", Json::object());
      for (const auto& [type, rates] : transformers.items())
        note(rates, fmt::format("{} of transformers on {}", type, name));
    }
  }
  return fitted;
}

}  // namespace steptime
