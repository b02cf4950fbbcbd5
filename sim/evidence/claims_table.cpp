#include "sim/evidence/claims_table.h"

#include "sim/core/text_table.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : fmt::format("{:.4g}", value.get<double>());
}

namespace {

/// A paragraph: why the figure is missed, and what it would be under other conventions; or "".
std::string notes_on(const ClaimRow& row) {
  std::string notes;
  if (!row.ok)
    notes += fmt::format("  missed: {}\n", row.reason.empty() ? "no reason given" : row.reason);
  const std::string unit = row.unit.empty() ? "" : " " + row.unit;
  for (const auto& [label, value] : row.alternatives.items())
    notes += fmt::format("  with {}: {}{}\n", label, shown(value), unit);
  return notes.empty() ? "" : fmt::format("\n{}, {}\n{}", row.id, row.quantity, notes);
}

}  // namespace

std::string claims_table(const std::vector<ClaimRow>& rows) {
  TextTable table(
      {"id", "quantity", "published", "simulated", "error", "within", "kind", "status"});
  std::string notes;
  std::size_t ok = 0;
  std::size_t predicted = 0;
  std::size_t predicted_ok = 0;
  std::size_t figures = 0;
  for (const ClaimRow& row : rows) {
    if (!row.family.empty()) continue;  // a row of many, which row_groups_text() shows
    ++figures;
    const bool number = row.published.is_number();
    table.add({row.id, row.quantity,
               (row.relation == "=" ? "" : row.relation + " ") + shown(row.published) +
                   (row.unit.empty() ? "" : " " + row.unit),
               shown(row.simulated), number ? fmt::format("{:+.1f} %", row.error_pct) : "",
               number && row.relation == "=" ? fmt::format("{:g} %", row.tolerance_pct) : "",
               row.kind, row.ok ? "ok" : "MISSED"});
    notes += notes_on(row);
    ok += row.ok ? 1 : 0;
    if (row.kind != "predicted") continue;
    ++predicted;
    predicted_ok += row.ok ? 1 : 0;
  }
  if (figures == 0) return "";
  return table.text() + notes +
         fmt::format("\n{} of {} figures ok; of the {} predicted, {} ok\n", ok, figures, predicted,
                     predicted_ok);
}

std::string claims_csv(const std::vector<ClaimRow>& rows) {
  const std::vector<std::string> head{
      "id",        "paper",     "quantity",      "unit",  "relation", "published",
      "simulated", "error_pct", "tolerance_pct", "kind",  "status",   "config",
      "note",      "where",     "inputs",        "fitted"};
  std::string text = csv_row(head);
  for (const ClaimRow& row : rows) {
    const Json json = row.json();
    std::vector<std::string> cells;
    for (const std::string& key : head) {
      const Json value = json.value(key, Json(""));
      cells.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    text += csv_row(cells);
  }
  return text;
}

}  // namespace steptime
