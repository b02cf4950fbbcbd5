#include "sim/config/key_use.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

struct KeyUse {
  std::string key;
  std::string beside;
  std::vector<Json> values;
  bool are_needed = true;  ///< for the key to act; else it acts beside all others
  std::string fidelity = {};
};

std::vector<KeyUse>& uses() {
  static std::vector<KeyUse> all;
  return all;
}

/// What several files say of the same two keys holds together.
bool add(KeyUse use) {
  const auto same = std::find_if(uses().begin(), uses().end(), [&](const KeyUse& known) {
    return known.key == use.key && known.beside == use.beside && known.fidelity == use.fidelity &&
           known.are_needed == use.are_needed;
  });
  if (same == uses().end())
    uses().push_back(std::move(use));
  else
    same->values.insert(same->values.end(), use.values.begin(), use.values.end());
  return true;
}

/// What stands in the object, or else the default; of a choice its type. None: the table lacks it.
std::optional<Json> value_of(const std::string& key, const Params& params, const Json& object) {
  const auto param =
      std::find_if(params.begin(), params.end(), [&](const Param& p) { return p.key == key; });
  if (param == params.end()) return std::nullopt;
  const Json value = object.is_object() && object.contains(key) ? object[key] : param->fallback;
  const bool is_choice = !param->choice.empty() && value.is_object() && value.contains("type");
  return is_choice ? value["type"] : value;
}

bool has(const std::vector<Json>& values, const Json& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string refusal(const KeyUse& use, const Json& value) {
  const std::string found =
      value.is_null() ? fmt::format("no effect without \"{}\"", use.beside)
                      : fmt::format("no effect beside \"{}\": {}", use.beside, brief(value));
  if (!use.are_needed || value.is_null()) return found;
  std::vector<std::string> expected;
  for (const Json& each : use.values)
    expected.push_back(brief(each));
  return fmt::format("{}; expected {} there", found, fmt::join(expected, " or "));
}

}  // namespace

bool acts_beside(const std::string& key, const std::string& beside, std::vector<Json> values) {
  return add({.key = key, .beside = beside, .values = std::move(values)});
}

bool idle_beside(const std::string& key, const std::string& beside, std::vector<Json> values) {
  return add({.key = key, .beside = beside, .values = std::move(values), .are_needed = false});
}

bool acts_at(const std::string& fidelity, const std::string& key, const std::string& beside,
             std::vector<Json> values) {
  return add({.key = key, .beside = beside, .values = std::move(values), .fidelity = fidelity});
}

std::optional<Idle> idle(const Param& param, const Params& params, const Json& object) {
  std::optional<Idle> found;
  bool acts = false;  // beside one of those that may leave it idle
  for (const KeyUse& use : uses()) {
    if (use.key != param.key || !use.fidelity.empty()) continue;
    const auto value = value_of(use.beside, params, object);
    if (!value) continue;
    const bool is_idle = has(use.values, *value) != use.are_needed;
    if (is_idle && use.are_needed) return Idle{{use.beside}, refusal(use, *value)};
    acts = acts || !is_idle;
    if (!is_idle) continue;
    if (!found) found = Idle{{}, refusal(use, *value)};
    found->beside.push_back(use.beside);
  }
  return acts ? std::nullopt : found;
}

std::string_view only_fidelity(const Param& param, const Params& params, const Json& object) {
  for (const KeyUse& use : uses()) {
    if (use.key != param.key || use.fidelity.empty()) continue;
    const auto value = value_of(use.beside, params, object);
    if (value && !has(use.values, *value)) return use.fidelity;
  }
  return "";
}

}  // namespace steptime
