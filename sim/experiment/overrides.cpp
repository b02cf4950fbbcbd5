#include "sim/experiment/overrides.h"

#include "sim/config/registry.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/keys.h"
#include "sim/network/cluster.h"
#include "sim/network/read_cluster.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// From the outermost to the innermost; empty for what is no pointer.
std::vector<std::string> keys_of(const std::string& pointer) {
  std::vector<std::string> keys;
  try {
    for (Json::json_pointer rest(pointer); !rest.empty(); rest.pop_back())
      keys.push_back(rest.back());
  } catch (const Json::parse_error&) {
    return {};
  }
  std::reverse(keys.begin(), keys.end());
  return keys;
}

/// The table that the object of `param` is read with; null when it has none, or an unknown type.
const Params* table_of(const Param& param, const Json& object) {
  if (param.choice.empty()) return param.table == nullptr ? nullptr : &param.table();
  const auto& items = Catalogue::all().at(param.choice)->items();
  const auto type = object.find("type");
  if (type == object.end() || !type->is_string()) return nullptr;
  const auto found = items.find(type->get<std::string>());
  return found == items.end() ? nullptr : &found->second.params;
}

/// The only type of `noun` that has the key; "" where none has, or several have.
std::string only_type_with(const std::string& noun, const std::string& key) {
  std::string only;
  for (const auto& [type, item] : Catalogue::all().at(noun)->items()) {
    const bool has = std::any_of(item.params.begin(), item.params.end(),
                                 [&](const Param& p) { return p.key == key; });
    if (has && !only.empty()) return "";
    if (has) only = type;
  }
  return only;
}

/// Writes the object under `key` out when it is left out and has a default, or is a bare name.
/// One without a default has the type that alone has the key `inner`.
void write_out(Json& parent, const std::string& key, const Param& param, const std::string& inner) {
  if (parent.contains(key)) {
    if (!parent[key].is_string()) return;
    if (!param.choice.empty()) parent[key] = Json{{"type", parent[key]}};
    if (param.kind == Kind::kObject && !param.words.empty())
      parent[key] = Json{{"preset", parent[key]}};
    return;
  }
  if (parent.contains("preset")) {
    const Json full = resolved_preset(parent);
    if (const auto found = full.find(key); found != full.end() && found->is_object())
      parent[key] = *found;
  }
  if (parent.contains(key)) return;
  if (param.fallback.is_object()) {
    parent[key] = param.fallback;
  } else if (!param.choice.empty() && inner != "type") {
    if (const std::string type = only_type_with(param.choice, inner); !type.empty())
      parent[key] = Json{{"type", type}};
  }
}

/// What an object or a list has under the key; null: nothing.
Json* child(Json& node, const std::string& key) {
  if (node.is_object()) {
    const auto found = node.find(key);
    return found == node.end() ? nullptr : &*found;
  }
  const auto index = number_in<std::size_t>(key);
  return node.is_array() && index && *index < node.size() ? &node[*index] : nullptr;
}

/// Takes out what the experiment itself says there: what a preset says, or a default, stays.
void remove(Json& experiment, const std::string& pointer, const std::string& set) {
  const std::vector<std::string> keys = keys_of(pointer);
  Json* node = keys.empty() ? nullptr : &experiment;
  for (std::size_t k = 0; k + 1 < keys.size() && node != nullptr; ++k)
    node = child(*node, keys[k]);
  if (node == nullptr || child(*node, keys.back()) == nullptr) {
    throw InputError(fmt::format(
        "--set {}: null removes a value, and \"{}\" is none of the config's own", set, pointer));
  }
  if (node->is_array())
    node->erase(*number_in<std::size_t>(keys.back()));
  else
    node->erase(keys.back());
}

}  // namespace

Json* place_in_experiment(Json& experiment, const std::string& pointer) {
  const std::vector<std::string> keys = keys_of(pointer);
  const Params* params = &experiment_params();
  Json* node = &experiment;
  for (std::size_t k = 0; k + 1 < keys.size() && params != nullptr && node->is_object(); ++k) {
    const auto param = std::find_if(params->begin(), params->end(),
                                    [&](const Param& p) { return p.key == keys[k]; });
    if (param == params->end()) break;
    write_out(*node, keys[k], *param, keys[k + 1]);
    const auto next = node->find(keys[k]);
    if (next == node->end()) break;
    node = &*next;
    params = table_of(*param, *node);
  }
  return place(experiment, pointer);
}

Json set_value(const std::string& text, const std::string& context) {
  if (text.starts_with('{') || text.starts_with('[')) return parse_json(text, context);
  Json value = Json::parse(text, nullptr, false);
  if (!value.is_discarded()) return value;
  if (!is_utf8(text)) throw InputError(context + ": expected UTF-8 text");
  return text;
}

bool overlap(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.substr(0, a.size()) == a && (b.size() == a.size() || b[a.size()] == '/');
}

std::shared_ptr<const Document> load_document(const std::string& path,
                                              std::span<const std::string> sets) {
  return with_sets(std::make_shared<Document>(Document{path, parse_json(read_file(path), path)}),
                   sets);
}

std::shared_ptr<const Document> with_sets(std::shared_ptr<Document> document,
                                          std::span<const std::string> sets) {
  for (const std::string& set : sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos || set.empty() || set.front() != '/') {
      throw InputError(fmt::format("--set {}: expected /pointer=value", set));
    }
    const std::string pointer = set.substr(0, equals);
    Json read = set_value(set.substr(equals + 1), "--set " + set);
    if (read.is_null()) {
      remove(document->root, pointer, set);
      continue;
    }
    Json* const value = place_in_experiment(document->root, pointer);
    if (value == nullptr) {
      throw InputError(
          fmt::format("--set {}: \"{}\" does not name a place in the config", set, pointer));
    }
    *value = std::move(read);
  }
  return document;
}

}  // namespace steptime
