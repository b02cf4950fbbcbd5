#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/experiment/advise.h"
#include "sim/experiment/overrides.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace po = boost::program_options;

Exit verb_advise(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  std::vector<std::string> sets;
  po::options_description options("options");
  options.add_options()("format", po::value(&format)->default_value("table"), "table or json")(
      "set", po::value(&sets)->composing(), "/pointer=value: replaces a value of the config");
  const auto values = parse_arguments(verb, args, options, {"CONFIG"}, terminal);
  if (!values) return Exit::kOk;
  if (format != "table" && format != "json")
    throw InputError(fmt::format("--format: unknown {}; known: table, json", brief(format)));
  Advice advice;
  {
    ProgressLine line(terminal);
    advice = advise(load_document((*values)["CONFIG"].as<std::string>(), sets), line.listener());
  }
  terminal.out << (format == "table" ? advice.text() : advice.json().dump(2) + "\n");
  return Exit::kOk;
}

}  // namespace steptime
