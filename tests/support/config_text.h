// Configs and registered implementations from JSON text, as if it stood in the file "x.json".
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"
#include "sim/config/registry.h"

#include <memory>
#include <string>
#include <string_view>

namespace steptime {

/// `params` must outlive the cursor.
inline Config config_of(std::string_view json, const Params& params) {
  return Config(std::make_shared<Document>(Document{"x.json", parse_json(json, "x.json")}), params);
}

/// What {"<noun>": <json>} chooses: make<Schedule>(R"({"type": "wfbp"})").
template <class Interface, class... Args>
std::unique_ptr<Interface> make(std::string_view json, const Args&... args) {
  const std::string noun = Interface::kNoun;
  const Params params{{.key = noun, .kind = Kind::kObject}};
  const Json root{{noun, parse_json(json, "x.json")}};
  const Config config(std::make_shared<Document>(Document{"x.json", root}), params);
  return Registry<Interface, const Args&...>::instance().make(config, noun, args...);
}

}  // namespace steptime
