#include "sim/experiment/overrides.h"

#include "sim/config/list_index.h"
#include "sim/config/registry.h"
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
template <class Node>
Node* child(Node& node, const std::string& key) {
  if (node.is_object()) {
    const auto found = node.find(key);
    return found == node.end() ? nullptr : &*found;
  }
  const auto index = list_index(key);
  return node.is_array() && index && *index < node.size() ? &node[*index] : nullptr;
}

/// What holds the value at the pointer; null: there is no value.
template <class Node>
Node* holder(Node& experiment, const std::vector<std::string>& keys) {
  Node* node = keys.empty() ? nullptr : &experiment;
  for (std::size_t k = 0; k + 1 < keys.size() && node != nullptr; ++k)
    node = child(*node, keys[k]);
  return node != nullptr && child(*node, keys.back()) != nullptr ? node : nullptr;
}

/// "" where no key looks like an index with a leading zero.
std::string about_index(const std::vector<std::string>& keys) {
  const auto wrong = std::ranges::find_if(keys, [](const std::string& key) {
    return key.size() > 1 && key.front() == '0' &&
           key.find_first_not_of("0123456789") == std::string::npos;
  });
  return wrong == keys.end() ? "" : fmt::format("; an index has no leading zero, got {}", *wrong);
}

}  // namespace

bool is_stated(const Json& experiment, const std::string& pointer) {
  return holder(experiment, keys_of(pointer)) != nullptr;
}

void take_out(Json& experiment, std::vector<std::string> pointers) {
  // The later elements of a list first, so that the others stay where they are: the longer one of
  // two indices is the greater.
  const auto is_later = [](const std::string& a, const std::string& b) {
    return std::ranges::lexicographical_compare(
        keys_of(b), keys_of(a), [](const std::string& x, const std::string& y) {
          return std::pair(x.size(), x) < std::pair(y.size(), y);
        });
  };
  std::ranges::sort(pointers, is_later);
  for (const std::string& pointer : pointers) {
    const std::vector<std::string> keys = keys_of(pointer);
    Json* const node = holder(experiment, keys);
    if (node == nullptr) continue;
    if (node->is_array())
      node->erase(*list_index(keys.back()));
    else
      node->erase(keys.back());
  }
}

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

std::string no_place(const std::string& pointer) {
  return "does not name a place in the config" + about_index(keys_of(pointer));
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
      if (!is_stated(document->root, pointer)) {
        throw InputError(
            fmt::format("--set {}: null removes a value, and \"{}\" is none of the config's own{}",
                        set, pointer, about_index(keys_of(pointer))));
      }
      take_out(document->root, {pointer});
      continue;
    }
    Json* const value = place_in_experiment(document->root, pointer);
    if (value == nullptr) {
      throw InputError(fmt::format("--set {}: \"{}\" {}", set, pointer, no_place(pointer)));
    }
    *value = std::move(read);
  }
  return document;
}

}  // namespace steptime
