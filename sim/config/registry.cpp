#include "sim/config/registry.h"

#include "sim/config/words.h"
#include "sim/core/error.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {

std::map<std::string, const Catalogue*>& Catalogue::all() {
  static std::map<std::string, const Catalogue*> catalogues;
  return catalogues;
}

std::string Catalogue::type_of(const Config& parent, std::string_view key) {
  const Json& node = parent.raw(key);
  if (node.is_string()) return node.get<std::string>();
  if (!node.is_object()) {
    parent.fail(key,
                fmt::format("expected a name or an object {{\"type\": ...}}, got {}", brief(node)));
  }
  const auto type = node.find("type");
  if (type == node.end()) {
    throw InputError(
        fmt::format("{}: {}/{}/type: required but missing", parent.file(), parent.pointer(), key));
  }
  if (!type->is_string()) {
    throw InputError(fmt::format("{}: {}/{}/type: expected a string, got {}", parent.file(),
                                 parent.pointer(), key, brief(*type)));
  }
  return type->get<std::string>();
}

void Catalogue::add_item(const std::string& name, std::string help, Params params) {
  params.insert(params.begin(),
                Param{.key = "type", .kind = Kind::kText, .help = name, .words = {name}});
  const bool is_new = items_.emplace(name, Item{std::move(help), std::move(params)}).second;
  STEPTIME_CHECK(is_new, fmt::format("{} \"{}\" is registered twice", noun(), name));
}

bool Catalogue::set_default(const std::string& name) {
  STEPTIME_CHECK(default_.empty(),
                 fmt::format("both \"{}\" and \"{}\" are the default {}", default_, name, noun()));
  default_ = name;
  return true;
}

const std::string& Catalogue::default_name() const {
  STEPTIME_CHECK(!default_.empty(), fmt::format("no {} is the default", noun()));
  return default_;
}

Json default_choice(const std::string& noun) {
  return Json{{"type", Catalogue::all().at(noun)->default_name()}};
}

Config Catalogue::chosen(const Config& parent, std::string_view key) const {
  const std::string name = type_of(parent, key);
  if (const auto found = items_.find(name); found != items_.end()) {
    const Params& params = found->second.params;
    return parent.raw(key).is_string() ? parent.defaults(key, params) : parent.object(key, params);
  }
  std::vector<std::string> known;
  for (const auto& [each, unused] : items_)
    known.push_back(each);
  throw InputError(fmt::format("{}: {}/{}{}: {}", parent.file(), parent.pointer(), key,
                               parent.raw(key).is_string() ? "" : "/type",
                               unknown_word(name, known)));
}

}  // namespace steptime
