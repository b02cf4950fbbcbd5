// Does a value keep a JSON Schema?
#pragma once
#include "sim/config/json.h"

#include <string>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wrestrict"  // a false positive of GCC 12 in valijson
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace steptime {

class JsonSchema {
 public:
  explicit JsonSchema(const std::string& text) {
    const nlohmann::json schema = nlohmann::json::parse(text);
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(schema),
                                            schema_);
  }
  /// "" when the value keeps it, else what is said first.
  std::string refusal(const Json& value) const {
    const nlohmann::json target = nlohmann::json::parse(value.dump());
    valijson::ValidationResults results;
    valijson::Validator validator;
    if (validator.validate(schema_, valijson::adapters::NlohmannJsonAdapter(target), &results))
      return "";
    valijson::ValidationResults::Error error;
    results.popError(error);
    std::string place;
    for (const std::string& part : error.context)
      place += part;
    return place + ": " + error.description;
  }

 private:
  valijson::Schema schema_;
};

}  // namespace steptime
