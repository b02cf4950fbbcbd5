#include "sim/command/verbs.h"
#include "sim/config/input_files.h"
#include "sim/config/words.h"
#include "sim/evidence/comparison.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

/// "0.5" or "0.5%"; more than 0 is asked for nowhere: 0 means the same to the last digit.
double per_cent(const std::string& option, std::string_view text) {
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || !(value >= 0) ||
      !std::isfinite(value)) {
    throw InputError(fmt::format("--tolerance {}: expected per cent such as 1 or KEY=0.5, got {}",
                                 option, brief(std::string(text))));
  }
  return value;
}

Tolerances tolerances_of(const std::vector<std::string>& texts) {
  Tolerances tolerances;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos)
      tolerances.others_pct = per_cent(text, text);
    else
      tolerances.pct[text.substr(0, equals)] =
          per_cent(text, std::string_view(text).substr(equals + 1));
  }
  return tolerances;
}

void check_there(const std::string& path) {
  std::error_code error;
  if (is_stream(path) || std::filesystem::exists(path, error)) return;
  if (!error) error = std::make_error_code(std::errc::no_such_file_or_directory);
  throw InputError(fmt::format("{}: cannot be read: {}", path, error.message()));
}

}  // namespace

Exit verb_compare(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  std::vector<std::string> tolerance;
  std::vector<std::string> keys;
  po::options_description options("options");
  options.add_options()("tolerance", po::value(&tolerance)->composing(),
                        "per cent that a figure may change, 0.1 by default; KEY=PER_CENT: of one")(
      "key", po::value(&keys)->composing(), "compare only this figure; may be repeated")(
      "any", "exit 1 also when a figure is better, or changed")(
      "format", po::value(&format)->default_value("table"), "table, json, markdown or junit");
  const auto values = parse_arguments(verb, args, options, {"A", "B"}, terminal);
  if (!values) return Exit::kOk;
  check_word("--format", format, std::vector<std::string>{"table", "json", "markdown", "junit"});
  const auto a = (*values)["A"].as<std::string>();
  const auto b = (*values)["B"].as<std::string>();
  check_there(a);
  check_there(b);
  if (std::filesystem::is_directory(a) != std::filesystem::is_directory(b))
    throw InputError(fmt::format("{}, {}: expected two files or two folders", a, b));
  const std::vector<ResultRow> before = read_results(a);
  const std::vector<ResultRow> after = read_results(b);
  const Comparison comparison = compare(before, after, tolerances_of(tolerance), keys);
  if (format == "table") terminal.out << comparison_table(comparison);
  if (format == "markdown") terminal.out << comparison_markdown(comparison);
  if (format == "json") terminal.out << comparison_json(comparison).dump(2) << "\n";
  if (format == "junit") terminal.out << comparison_junit(comparison, after);
  const bool fails = values->contains("any") ? !comparison.differences.empty()
                                             : comparison.count(Verdict::kWorse) > 0;
  return fails ? Exit::kComparisonFailed : Exit::kOk;
}

}  // namespace steptime
