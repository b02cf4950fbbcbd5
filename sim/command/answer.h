// What verbs of one experiment share that print one answer, as a table or as JSON.
#pragma once
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/words.h"
#include "sim/experiment/overrides.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {

/// of(config, listener) has text() and json(). `more`: options beside those of all. Throws
/// InputError.
template <class Of>
Exit print_answer(const Verb& verb, std::span<const std::string> args, const Terminal& terminal,
                  Of of, const boost::program_options::options_description& more = {}) {
  std::string format;
  std::vector<std::string> sets;
  boost::program_options::options_description options("options");
  options.add_options()("format", boost::program_options::value(&format)->default_value("table"),
                        "table or json")("set", boost::program_options::value(&sets)->composing(),
                                         "/pointer=value: replaces a value of the config");
  for (const auto& option : more.options())
    options.add(option);
  const auto values = parse_arguments(verb, args, options, {"CONFIG"}, terminal);
  if (!values) return Exit::kOk;
  check_word("--format", format, std::vector<std::string>{"table", "json"});
  const auto answer = [&] {
    ProgressLine line(terminal);
    return of(load_document((*values)["CONFIG"].as<std::string>(), sets), line.listener());
  }();
  terminal.out << (format == "table" ? answer.text() : answer.json().dump(2) + "\n");
  return Exit::kOk;
}

}  // namespace steptime
