#include "sim/experiment/schema.h"

#include "sim/config/config.h"
#include "sim/config/registry.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/keys.h"
#include "sim/network/cluster.h"
#include "sim/workload/workload.h"

#include <cmath>
#include <string>

namespace steptime {
namespace {

Json object_schema(const Params& params);

/// As std::from_chars reads a number, then spaces, then the unit.
Json quantity(const Range& range, const std::string& units) {
  const std::string sign = range.low < 0 ? "-?" : "";
  return {
      {"type", "string"},
      {"pattern", "^" + sign + "([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)? *(" + units + ")$"}};
}

Json number(const char* type, const Range& range) {
  Json schema{{"type", type}};
  if (std::isfinite(range.low)) {
    schema[range.low_is_allowed ? "minimum" : "exclusiveMinimum"] = range.low;
  }
  if (std::isfinite(range.high)) schema["maximum"] = range.high;
  return schema;
}

/// An object with its parameters, or its bare name.
Json choice_schema(const std::string& noun) {
  Json names{{"type", "string"}, {"enum", Json::array()}};
  Json schema{{"type", "object"}, {"required", {"type"}}, {"oneOf", Json::array()}};
  for (const auto& [name, item] : Catalogue::all().at(noun)->items()) {
    Json one = object_schema(item.params);
    one["title"] = name;
    one["description"] = item.help;
    schema["oneOf"].push_back(one);
    names["enum"].push_back(name);
  }
  return {{"anyOf", {names, schema}}};
}

Json value_schema(const Param& p) {
  switch (p.kind) {
    case Kind::kTime:
      return quantity(p.range, "h|min|s|ms|us|ns|ps");
    case Kind::kBytes:
      return quantity(p.range, "[kKMGT]?B|[KMGT]iB");
    case Kind::kBandwidth:
      return quantity(p.range, "[kKMGT]?B/s|[KMG]iB/s|[kMGT]?bps");
    case Kind::kTimePerByte:
      return quantity(p.range, "(s|ms|us|ns|ps)/B");
    case Kind::kInteger:
      return number("integer", p.range);
    case Kind::kNumber:
      return number("number", p.range);
    case Kind::kBoolean:
      return {{"type", "boolean"}};
    case Kind::kText:
    case Kind::kPath: {
      Json schema{{"type", "string"}};
      if (!p.words.empty()) schema["enum"] = p.words;
      return schema;
    }
    case Kind::kObject:
      if (!p.choice.empty()) return choice_schema(p.choice);
      if (p.table == nullptr) return {{"type", "object"}};
      if (p.words.empty()) return object_schema(p.table());
      return {{"anyOf", {Json{{"type", "string"}, {"enum", p.words}}, object_schema(p.table())}}};
    case Kind::kList:
      return {{"type", "array"}};
    case Kind::kAny:
      return Json::object();
  }
  return Json::object();
}

Json object_schema(const Params& params) {
  Json schema{{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  Json required = Json::array();
  for (const Param& p : params) {
    Json value = value_schema(p);
    if (!p.help.empty() && !value.contains("description")) value["description"] = p.help;
    if (p.need == Need::kDefault) value["default"] = p.fallback;
    if (p.need == Need::kRequired) required.push_back(p.key);
    schema["properties"][p.key] = value;
  }
  if (!required.empty()) schema["required"] = required;
  return schema;
}

}  // namespace

Json experiment_schema() {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "Steptime experiment"}};
  schema.update(object_schema(experiment_params()));
  Json& sections = schema["properties"];
  // A preset brings the keys that an experiment would otherwise have to spell out.
  Json& cluster = sections["cluster"];
  Json spelled_out{{"required", cluster["required"]}};
  Json& gpus = cluster["properties"]["gpus"];
  spelled_out["properties"]["gpus"]["required"] = gpus["required"];
  cluster.erase("required");
  gpus.erase("required");
  cluster["anyOf"] = {Json{{"required", {"preset"}}}, spelled_out};
  sections["workload"]["oneOf"] = {Json{{"required", {"trace"}}},
                                   Json{{"required", {"model", "device", "batch"}}}};
  return schema;
}

}  // namespace steptime
