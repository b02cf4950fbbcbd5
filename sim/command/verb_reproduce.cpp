#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/evidence/claims_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace po = boost::program_options;

Exit verb_reproduce(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  po::options_description options("options");
  std::string folder;
  options.add_options()("format", po::value(&format)->default_value("table"),
                        "table, json, jsonl or csv")(
      "from", po::value(&folder), "folder of experiments with claims; default: the shipped ones");
  const auto values = parse_arguments(verb, args, options, {"FILTER?"}, terminal);
  if (!values) return Exit::kOk;
  check_format(format);
  const std::string filter =
      values->contains("FILTER") ? (*values)["FILTER"].as<std::string>() : "";
  const std::vector<ClaimRow> rows = reproduce(filter, folder, until_interrupted(terminal));
  if (rows.empty())
    throw InputError(fmt::format("no claim's paper or id contains {}", brief(filter)));
  if (format == "table") {
    terminal.out << claims_table(rows);
  } else if (format == "csv") {
    terminal.out << claims_csv(rows);
  } else if (format == "json") {
    Json list = Json::array();
    for (const ClaimRow& row : rows)
      list.push_back(row.json());
    terminal.out << list.dump(2) << "\n";
  } else {
    for (const ClaimRow& row : rows)
      terminal.out << row.json().dump() << "\n";
  }
  // A miss whose reason is on record is a known limit; another one is news.
  const bool news = std::any_of(rows.begin(), rows.end(),
                                [](const ClaimRow& row) { return !row.ok && row.reason.empty(); });
  return news ? Exit::kComparisonFailed : Exit::kOk;
}

}  // namespace steptime
