#include "sim/experiment/validity.h"

#include "sim/config/json_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {

std::string_view Validity::word() const {
  switch (status) {
    case Status::kValidated:
      return "validated";
    case Status::kExtrapolated:
      return "extrapolated";
    case Status::kUnvalidated:
      return "unvalidated";
  }
  return "";
}

namespace {
std::string text_of(std::string_view word, const std::vector<std::string>& beyond) {
  return beyond.empty() ? std::string(word) : fmt::format("{}: {}", word, fmt::join(beyond, "; "));
}
}  // namespace

std::string Validity::text() const {
  return text_of(word(), beyond);
}

std::string Validity::text(const Json& json) {
  return text_of(json.value("status", ""), json.value("beyond", std::vector<std::string>()));
}

std::string Validity::json() const {
  std::string text;
  append_json(text);
  return text;
}

void Validity::append_json(std::string& text) const {
  text += "{\"status\":\"";
  text += word();
  text += "\",\"n\":";
  append_number(text, n);
  text += ",\"typical_pct\":";
  append_number(text, typical_pct);
  if (worst_pct) {
    text += ",\"worst_pct\":";
    append_number(text, *worst_pct);
  }
  text += ",\"beyond\":[";
  for (std::size_t i = 0; i < beyond.size(); ++i) {
    if (i > 0) text += ',';
    append_text(text, beyond[i]);
  }
  text += "]}";
}

}  // namespace steptime
