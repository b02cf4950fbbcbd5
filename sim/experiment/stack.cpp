#include "sim/experiment/stack.h"

#include "sim/config/data_dir.h"
#include "sim/config/input_files.h"
#include "sim/config/json.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr const char* kSections[] = {"workload", "strategy"};

const Params& stack_params() {
  static const Params params{
      {.key = "format", .kind = Kind::kText, .words = {"steptime-stack"}},
      {.key = "version", .kind = Kind::kInteger, .range = {.low = 1, .high = 1}},
      {.key = "name", .kind = Kind::kText, .help = "as the file is called"},
      {.key = "help", .kind = Kind::kText, .help = "one line for `list`"},
      {.key = "workload", .kind = Kind::kObject, .help = "keys of that section"},
      {.key = "strategy", .kind = Kind::kObject, .help = "keys of that section"},
      {.key = "sources", .kind = Kind::kObject, .help = "of each value, by its JSON pointer"},
      {.key = "fitted_on",
       .kind = Kind::kList,
       .help = "the published rows that a value is fitted to, by their ids",
       .need = Need::kOptional}};
  return params;
}

std::filesystem::path stacks_dir() {
  return data_dir() / "models" / "stacks";
}

/// Its keys, by section.
Json read_stack(const std::string& path) {
  const Config config(std::make_shared<Document>(Document{path, parse_json(read_file(path), path)}),
                      stack_params());
  config.get<std::string>("format");
  config.get<std::int64_t>("version");
  const std::string stem = std::filesystem::path(path).stem().string();
  if (config.get<std::string>("name") != stem)
    config.fail("name", fmt::format("expected \"{}\", got {}", stem, brief(config.raw("name"))));
  config.get<std::string>("help");
  Json keys = Json::object();
  const Json& sources = config.object("sources", any_keys()).node();
  for (const char* section : kSections) {
    keys[section] = config.object(section, any_keys()).node();
    for (const auto& [key, value] : keys[section].items()) {
      const std::string pointer = fmt::format("/{}/{}", section, key);
      if (!sources.contains(pointer)) config.fail("sources", fmt::format("{} has none", pointer));
    }
  }
  return keys;
}

}  // namespace

std::shared_ptr<const Document> with_stack(const std::shared_ptr<const Document>& document) {
  const Json& root = document->root;
  if (!root.is_object() || !root.contains("strategy") || !root["strategy"].is_object() ||
      !root["strategy"].contains("stack"))
    return document;
  static const Params kStrategy{{.key = "strategy", .kind = Kind::kObject},
                                {.key = "*", .need = Need::kOptional}};
  static const Params kStack{{.key = "stack", .kind = Kind::kText},
                             {.key = "*", .need = Need::kOptional}};
  const Config strategy = Config(document, kStrategy).object("strategy", kStack);
  const auto name = strategy.get<std::string>("stack");
  const std::vector<std::string> known = software_stacks();
  if (!std::binary_search(known.begin(), known.end(), name))
    strategy.fail("stack", unknown_word(name, known));
  if (!root["strategy"].contains("layout"))
    strategy.fail("stack", "expected a \"layout\" beside it, whose software it says");
  const Json keys = read_stack((stacks_dir() / (name + ".json")).string());
  auto full = std::make_shared<Document>(*document);
  for (const char* section : kSections) {
    Json& stated = full->root[section];
    if (!stated.is_object()) continue;  // which the section's reader says
    for (const auto& [key, value] : keys.at(section).items()) {
      if (!stated.contains(key)) stated[key] = value;
    }
  }
  return full;
}

std::vector<std::string> software_stacks() {
  std::vector<std::string> stacks;
  for (const std::string& file : files_in(stacks_dir().string(), ".json"))
    stacks.push_back(std::filesystem::path(file).stem().string());
  std::sort(stacks.begin(), stacks.end());
  return stacks;
}

}  // namespace steptime
