// One of what a registry has, drawn with its keys, so that a test holds for what a new file adds.
#pragma once
#include "sim/config/json.h"
#include "sim/config/registry.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace steptime {

/// Each key of the item is left out, or has a value that it allows: whole numbers up to `most`, an
/// answer, one of its words.
inline Json any_choice(const std::string& name, const Catalogue::Item& item, std::int64_t most) {
  const auto in_range = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
  };
  Json choice{{"type", name}};
  for (const Param& key : item.params) {
    if (key.key == "type" || in_range(0, 1) == 0) continue;
    if (key.kind == Kind::kBoolean) choice[key.key] = in_range(0, 1) == 1;
    if (key.kind == Kind::kInteger) {
      const auto low = static_cast<std::int64_t>(std::max(key.range.low, 0.0));
      const auto high = std::min(key.range.high, static_cast<double>(std::max(low, most)));
      choice[key.key] = in_range(low, static_cast<std::int64_t>(high));
    }
    if (!key.words.empty())
      choice[key.key] = key.words[static_cast<std::size_t>(in_range(0, std::ssize(key.words) - 1))];
  }
  return choice;
}

/// Any of them.
inline Json any_choice(const Catalogue& of, std::int64_t most) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : of.items())
    names.push_back(name);
  const std::string name = *rc::gen::elementOf(names);
  return any_choice(name, of.items().at(name), most);
}

}  // namespace steptime
