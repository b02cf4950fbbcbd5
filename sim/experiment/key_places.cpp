#include "sim/experiment/key_places.h"

#include "sim/config/key_use.h"
#include "sim/config/registry.h"
#include "sim/core/error.h"
#include "sim/experiment/jobs.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/stack.h"
#include "sim/network/read_cluster.h"

#include <algorithm>

#include <fmt/format.h>

namespace steptime {
namespace {

using Tell = std::function<void(const KeyPlace&, const Json& object, const Json& value)>;

void walk(const Params& params, const Json& object, const std::string& pointer,
          const std::string& table, const Tell& tell) {
  static const Json nothing = nullptr;
  for (const Param& p : params) {
    if (p.key == "type" || p.key == "*") continue;
    const std::string at = join_pointer(pointer, p.key);
    const bool is_stated = object.is_object() && object.contains(p.key);
    const Json& value = is_stated ? object[p.key] : p.need == Need::kDefault ? p.fallback : nothing;
    tell({at, &p, &params, table}, object, value);
    if (!p.choice.empty()) {
      const Json name = value.is_object() ? value.value("type", Json()) : value;
      const auto& items = Catalogue::all().at(p.choice)->items();
      const auto found = name.is_string() ? items.find(name.get<std::string>()) : items.end();
      if (found == items.end()) continue;
      walk(found->second.params, value.is_object() ? value : nothing, at,
           fmt::format("{} {}", p.choice, found->first), tell);
    } else if (p.table != nullptr && value.is_object()) {
      walk(p.table(), at == "/cluster" ? resolved_preset(value) : value, at, at, tell);
    }
  }
}

/// Calls `tell` for the keys that the config itself sets to something else than their default.
void for_each_set_key(const std::shared_ptr<const Document>& document, const Tell& tell) {
  const Json& config = document->root;
  for_each_key(with_stack(document)->root, [&](const KeyPlace& place, const Json& object,
                                               const Json& value) {
    const bool is_default = place.param->need == Need::kDefault && value == place.param->fallback;
    if (!is_default && is_stated(config, place.pointer)) tell(place, object, value);
  });
}

/// Whether a sweep or claims, of which this is a part, set a value there.
bool sets(const Json& node, const std::string& pointer) {
  if (!node.is_structured()) return false;
  for (const auto& [key, value] : node.items()) {
    if (node.is_object() && key.starts_with('/') && overlap(key, pointer)) return true;
    if (sets(value, pointer)) return true;
  }
  return false;
}

bool is_varied(const Json& config, const std::string& pointer) {
  for (const char* section : {"sweep", "claims"}) {
    const auto found = config.find(section);
    if (found != config.end() && sets(*found, pointer)) return true;
  }
  return false;
}

}  // namespace

void for_each_key(const Json& config, const Tell& tell) {
  walk(experiment_params(), config, "", "", tell);
}

void check_keys_act(const std::shared_ptr<const Document>& document) {
  std::size_t place = 0;
  for (const Job& job : stated_jobs(document)) {
    read_of_job(*document, place, [&] { check_keys_act(document_of(*document, place, job)); });
    ++place;
  }
  for_each_set_key(document, [&](const KeyPlace& place, const Json& object, const Json&) {
    const auto found = idle(*place.param, *place.params, object);
    if (!found) return;
    const std::string around = place.pointer.substr(0, place.pointer.rfind('/'));
    const bool varies = std::ranges::any_of(found->beside, [&](const std::string& key) {
      return is_varied(document->root, join_pointer(around, key));
    });
    if (!varies)
      throw InputError(fmt::format("{}: {}: {}", document->file, place.pointer, found->why));
  });
}

std::vector<std::string> keys_of_other_fidelity(const std::shared_ptr<const Document>& document) {
  std::vector<std::string> lines;
  const Config run = Config(document, experiment_params()).object("run", run_params());
  const auto fidelity = run.get<std::string>("fidelity");
  for_each_set_key(document, [&](const KeyPlace& place, const Json& object, const Json&) {
    const std::string_view only = only_fidelity(*place.param, *place.params, object);
    if (!only.empty() && only != fidelity) {
      lines.push_back(
          fmt::format("{}: {}: no effect at {} fidelity", document->file, place.pointer, fidelity));
    }
  });
  return lines;
}

}  // namespace steptime
