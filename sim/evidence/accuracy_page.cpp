#include "sim/evidence/accuracy_page.h"

#include "sim/config/registry.h"
#include "sim/evidence/claims_table.h"
#include "sim/evidence/collective_record.h"
#include "sim/evidence/markdown.h"
#include "sim/evidence/memory_table.h"
#include "sim/evidence/record_table.h"
#include "sim/evidence/row_claims.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <boost/math/statistics/univariate_statistics.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr const char* kPageHead =
    R"(# How accurate is Steptime?

Written by `steptime reproduce --format markdown`, which simulates every published figure under
`configs/papers/`. A figure is *predicted* when none of the inputs of its simulation was fitted to the
source of the figure, and *fitted* when one was. It is ok within the tolerance beside it, or where a bound or
an order holds. A miss stays here with its reason. `steptime reproduce ID` prints single figures, and with
`--format json` all their inputs and sources.
)";

constexpr const char* kRowsHeading = "Language models";

std::string fenced(const std::string& text) {
  return "```\n" + text + (text.ends_with("\n") ? "```\n" : "\n```\n");
}

/// Rows of one paper, in the order in which papers first come.
std::vector<std::pair<std::string, std::vector<const ClaimRow*>>> by_paper(
    const std::vector<ClaimRow>& rows) {
  std::vector<std::pair<std::string, std::vector<const ClaimRow*>>> papers;
  for (const ClaimRow& row : rows) {
    if (!row.family.empty()) continue;
    auto found = std::find_if(papers.begin(), papers.end(),
                              [&](const auto& paper) { return paper.first == row.paper; });
    if (found == papers.end()) found = papers.insert(papers.end(), {row.paper, {}});
    found->second.push_back(&row);
  }
  return papers;
}

/// A line of totals; the name of the paper is its section's heading.
void add_total(MarkdownTable& table, const std::string& heading,
               const std::vector<const ClaimRow*>& rows) {
  int ok = 0;
  int predicted = 0;
  int predicted_ok = 0;
  std::vector<double> errors;
  for (const ClaimRow* row : rows) {
    ok += row->ok ? 1 : 0;
    if (row->kind != "predicted") continue;
    ++predicted;
    predicted_ok += row->ok ? 1 : 0;
    if (row->published.is_number() && row->relation == "=")
      errors.push_back(std::abs(row->error_pct));
  }
  table.add({fmt::format("[{0}](#{1})", heading, slug(heading)),
             fmt::format("{} of {} ok", ok, rows.size()),
             fmt::format("{} of {} ok", predicted_ok, predicted),
             errors.empty() ? ""
                            : fmt::format("{:.1f} % ({})", boost::math::statistics::median(errors),
                                          errors.size())});
}

std::string totals(const std::vector<std::pair<std::string, std::vector<const ClaimRow*>>>& papers,
                   const std::vector<ClaimRow>& rows) {
  MarkdownTable table({"paper", "figures", "of these predicted", "their median error (numbers)"});
  for (const auto& [paper, figures] : papers)
    add_total(table, paper, figures);
  std::vector<const ClaimRow*> of_files;
  for (const ClaimRow& row : rows) {
    if (!row.family.empty()) of_files.push_back(&row);
  }
  if (!of_files.empty()) add_total(table, kRowsHeading, of_files);
  return table.text();
}

/// What several figures say alike, once: "- ids: what".
class Notes {
 public:
  void add(const std::string& id, const std::string& what) {
    auto found = std::find_if(notes_.begin(), notes_.end(),
                              [&](const auto& note) { return note.first == what; });
    if (found == notes_.end()) found = notes_.insert(notes_.end(), {what, {}});
    if (found->second.empty() || found->second.back() != id) found->second.push_back(id);
  }
  std::string text(const char* heading) const {
    std::string text = notes_.empty() ? "" : fmt::format("\n{}\n\n", heading);
    for (const auto& [what, ids] : notes_)
      text += fmt::format("- {}: {}\n", fmt::join(ids, ", "), what);
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> notes_;
};

std::string paper_section(const std::string& paper, const std::vector<const ClaimRow*>& rows) {
  MarkdownTable table(
      {"id", "quantity", "published", "simulated", "error", "within", "kind", "status"});
  Notes missed;
  Notes fitted;
  std::string others;
  for (const ClaimRow* row : rows) {
    const bool number = row->published.is_number();
    const std::string unit = row->unit.empty() ? "" : " " + row->unit;
    table.add({row->id, row->quantity,
               (row->relation == "=" ? "" : row->relation + " ") + shown(row->published) + unit,
               shown(row->simulated), number ? fmt::format("{:+.1f} %", row->error_pct) : "",
               number && row->relation == "=" ? fmt::format("{:g} %", row->tolerance_pct) : "",
               row->kind, row->ok ? "ok" : "**missed**"});
    if (!row->ok) missed.add(row->id, row->reason.empty() ? "no reason is given" : row->reason);
    if (row->kind == "fitted" && !row->fitted.empty()) fitted.add(row->id, row->fitted);
    for (const auto& [label, value] : row->alternatives.items())
      others += fmt::format("- {} with {}: {}{}\n", row->id, label, shown(value), unit);
  }
  return fmt::format("\n## {}\n\n{}{}{}{}", paper, table.text(), missed.text("Missed, and why:"),
                     fitted.text("Fitted, and what to:"),
                     others.empty() ? "" : "\nUnder other conventions:\n\n" + others);
}

/// Intervals of published rows of layouts.
std::string layouts_text(const std::vector<RecordedStep>& steps) {
  if (steps.empty()) return "";
  return "\nThe interval of each predicted row, from the rows of all groups but its own "
         "(`steptime reproduce --layouts`):\n\n" +
         fenced(layout_record_table(steps));
}

/// Intervals of published memory.
std::string memory_text_of(const std::vector<RecordedMemory>& memory) {
  if (memory.empty()) return "";
  return "\nThe same of memory (`steptime reproduce --memory`):\n\n" + fenced(memory_table(memory));
}

std::string rows_section(const AccuracyParts& parts) {
  const std::string groups = row_groups_text(parts.rows, parts.left_out, parts.effects);
  if (groups.empty()) return "";
  Notes missed;
  Notes fitted;
  for (const ClaimRow& row : parts.rows) {
    if (row.family.empty()) continue;
    if (!row.ok) missed.add(row.id, row.reason.empty() ? "no reason is given" : row.reason);
    if (row.kind == "fitted") fitted.add(row.id, row.fitted);
  }
  return fmt::format("\n## {}\n\n", kRowsHeading) +
         "Each published training run of `traces/llm/rows.jsonl` with a layout of its own. A mean "
         "is of the errors of "
         "predicted rows; a row that could be simulated and is not counts as 50 % off.\n\n" +
         fenced(groups + rankings_text(parts.rankings)) + missed.text("Missed, and why:") +
         fitted.text("Rows that rates are fitted to, and whose:") + layouts_text(parts.layouts) +
         memory_text_of(parts.memory);
}

/// How often each value of each attribute is in the record.
std::string coverage(const std::vector<RecordedStep>& steps) {
  MarkdownTable table({"attribute", "values, with the number of rows"});
  for (std::size_t a = 0; a < kAttributes; ++a) {
    std::map<std::string, int> counts;
    for (const RecordedStep& step : steps)
      ++counts[step.row.kind.words[a].text()];
    std::vector<std::string> values;
    values.reserve(counts.size());
    for (const auto& [value, count] : counts)
      values.push_back(fmt::format("{} ({})", value, count));
    table.add({attribute_names()[a], fmt::format("{}", fmt::join(values, "; "))});
  }
  return table.text();
}

/// The names of a catalogue that no row's `attribute` has among its words, where it says nothing of
/// `usual`.
std::string uncovered(const std::vector<RecordedStep>& steps, const char* noun, Attribute attribute,
                      const std::string& usual) {
  std::vector<std::string> names;
  for (const auto& item : Catalogue::all().at(noun)->items()) {
    const std::string& name = item.first;  // clang 14 captures no structured binding
    const bool is_there = std::any_of(steps.begin(), steps.end(), [&](const RecordedStep& step) {
      const std::string words = ", " + step.row.kind[attribute].text() + ", ";
      return words.find(", " + name + ", ") != std::string::npos;
    });
    if (!is_there && name != usual) names.push_back(code(name));
  }
  return names.empty() ? "" : fmt::format("- {}: {}\n", noun, fmt::join(names, ", "));
}

std::string record_section(const std::vector<RecordedStep>& steps) {
  if (steps.empty()) return "";
  std::string text = R"(
## The record of published steps

Steps whose settings are known, each predicted before anything was fitted on its testbed. *Within* is the
share of measured steps that lie in the interval that the rows of other testbeds give them, *width* the
median width of these intervals over the prediction.

)";
  text += fenced(record_table(steps)) + "\n### What the rows cover\n\n" + coverage(steps);
  text += R"(
### What no row covers

No result is validated whose framework, way of knowing the compute time, GPU, library, fabric, schedule,
model or number of nodes is not in the table above. Layouts (tensor, pipeline and context parallelism, ZeRO
and FSDP) have rows of their own, which are not in the record. Of other names that a config can choose no
row has these:

)";
  return text + uncovered(steps, "aggregation", Attribute::kSchedule, "") +
         uncovered(steps, "update", Attribute::kSchedule, "sgd") +
         uncovered(steps, "schedule", Attribute::kSchedule, "") +
         uncovered(steps, "embedding", Attribute::kSchedule, "async") +
         uncovered(steps, "coordinator", Attribute::kLibrary, "none");
}

}  // namespace

std::string accuracy_page(const AccuracyParts& parts) {
  const auto papers = by_paper(parts.rows);
  std::string text = kPageHead;
  if (!parts.rows.empty()) text += "\n## Totals\n\n" + totals(papers, parts.rows);
  text += rows_section(parts) + record_section(parts.steps);
  if (!parts.collectives.empty())
    text += "\n## Measured collectives\n\n`steptime reproduce --collectives` prints these.\n\n" +
            fenced(collective_record_table(parts.collectives));
  for (const auto& [paper, rows] : papers)
    text += paper_section(paper, rows);
  if (!parts.maps.empty()) {
    std::string maps = size_maps_text(parts.maps);
    maps.erase(0, maps.find_first_not_of('\n'));
    text += "\n## What is the fastest, by size\n\n" + fenced(maps);
  }
  return text;
}

}  // namespace steptime
