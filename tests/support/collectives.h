// Collectives by name.
#pragma once
#include "sim/collective/collective.h"

#include <memory>
#include <string>

namespace steptime {

/// From the JSON of a "collective" section.
inline std::unique_ptr<Collective> collective_of(const std::string& json, const Cluster& cluster) {
  static const Params params{
      {.key = "collective", .kind = Kind::kObject, .choice = Collective::kNoun}};
  const Config config(std::make_shared<Document>(Document{
                          "x.json", parse_json("{\"collective\": " + json + "}", "x.json")}),
                      params);
  return Collectives::instance().make(config, "collective", cluster);
}

}  // namespace steptime
