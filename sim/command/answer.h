// What verbs of one experiment share that print one answer, as a table or as JSON.
#pragma once
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/words.h"
#include "sim/experiment/overrides.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {

/// of(config, line) has text() and json(), and is_partial where the user wanted no more.
/// `own`: options of the verb beside the common ones. Throws InputError.
template <class Of>
Exit print_answer(const Verb& verb, std::span<const std::string> args, const Terminal& terminal,
                  const boost::program_options::options_description& own, Of of) {
  std::string format;
  std::vector<std::string> sets;
  boost::program_options::options_description options("options");
  options.add_options()("format", boost::program_options::value(&format)->default_value("table"),
                        "table or json")("set", boost::program_options::value(&sets)->composing(),
                                         kSetHelp);
  for (const auto& option : own.options())
    options.add(option);
  const auto values = parse_arguments(verb, args, options, {"CONFIG"}, terminal);
  if (!values) return Exit::kOk;
  check_word("--format", format, std::vector<std::string>{"table", "json"});
  const auto answer = [&] {
    ProgressLine line(terminal);
    return of(load_document((*values)["CONFIG"].as<std::string>(), sets), line);
  }();
  terminal.out << (format == "table" ? answer.text() : answer.json().dump(2) + "\n");
  return answer.is_partial ? Exit::kInterrupted : Exit::kOk;
}

}  // namespace steptime
