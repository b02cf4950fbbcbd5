// Manual pages, made from the tables behind --help.
#include "sim/command/output_kinds.h"
#include "sim/command/verbs.h"
#include "sim/command/version.h"
#include "sim/config/words.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

/// As troff prints it: backslashes and hyphens as themselves, and no line that is taken for a
/// request.
std::string troff(std::string_view text) {
  std::string escaped;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
    starts_line = c == '\n';
  }
  return escaped;
}

std::string head(const std::string& name, std::string_view does) {
  std::string capitals = name;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(), [](char c) {
    return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return fmt::format(".TH {} 1 \"\" \"steptime {}\" \"Steptime\"\n.SH NAME\n{} \\- {}\n",
                     troff(capitals), STEPTIME_VERSION, troff(name), troff(does));
}

std::string options_text(const po::options_description& options) {
  std::string text = ".SH OPTIONS\n";
  for (const auto& option : options.options()) {
    const bool has_value = option->semantic()->max_tokens() > 0;
    text += fmt::format(".TP\n.B {}{}\n{}\n", troff(option->format_name()),
                        has_value ? troff(" " + option->format_parameter()) : "",
                        troff(option->description()));
  }
  return text;
}

std::string page_of(const Verb& verb) {
  const Usage usage = usage_of(verb);
  std::string text = head(fmt::format("steptime-{}", verb.name), verb.help);
  text += fmt::format(".SH SYNOPSIS\n.B steptime {}\n{} [OPTIONS]\n", verb.name, troff(verb.usage));
  text += options_text(usage.options);
  if (!usage.more.empty()) text += fmt::format(".SH ARGUMENTS\n.nf\n{}.fi\n", troff(usage.more));
  text += fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n", troff(verb.example));
  return text + ".SH SEE ALSO\n.BR steptime (1)\n";
}

std::string page_of_program() {
  static const std::vector<std::pair<Exit, std::string_view>> exits{
      {Exit::kOk, "all went well"},
      {Exit::kComparisonFailed, "a comparison found a difference beyond its tolerance"},
      {Exit::kBadInput, "bad usage or input; one line on standard error names the place"},
      {Exit::kModelFails, "the modelled system fails, as by a deadlock"},
      {Exit::kSweepHasFailures, "a sweep finished, some of its points failed"},
      {Exit::kOutsideDomain, "under --strict: not validated by measurements"},
      {Exit::kMissing, "needed hardware, driver or library is missing"},
      {Exit::kBug, "a bug in Steptime"},
      {Exit::kInterrupted, "interrupted, results so far are kept"},
      {Exit::kOutputClosed, "nobody reads the output any more"}};
  std::string text = head("steptime", kPurpose);
  text += ".SH SYNOPSIS\n.B steptime\nVERB [ARGUMENTS]\n.br\n.B steptime\nVERB \\-\\-help\n";
  std::string_view group;
  for (const Verb& verb : verbs()) {
    if (verb.group != group) text += fmt::format(".SH \"{}\"\n", troff(verb.group));
    group = verb.group;
    text += fmt::format(".TP\n.B {} {}\n{}; see\n.BR steptime\\-{} (1)\n", verb.name,
                        troff(verb.usage), troff(verb.help), verb.name);
  }
  text += ".SH \"EXIT STATUS\"\n";
  for (const auto& [exit, meaning] : exits)
    text += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(exit), troff(meaning));
  return text;
}

}  // namespace

Exit verb_man(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string folder;
  po::options_description options("options");
  options.add_options()("output,o", po::value(&folder), "folder that gets the pages of all verbs");
  const auto values = parse_arguments(verb, args, options, {"VERB?"}, terminal);
  if (!values) return Exit::kOk;
  if (!folder.empty()) {
    if (values->contains("VERB")) throw InputError("man: -o: writes all, expected no VERB");
    create_folder(folder);
    const auto write = [&](std::string_view file, const std::string& page) {
      const std::string path = fmt::format("{}/{}.1", folder, file);
      check_regular_output(path, kManualPage);
      write_file(path, page, kManualPage);
    };
    write("steptime", page_of_program());
    for (const Verb& each : verbs())
      write(fmt::format("steptime-{}", each.name), page_of(each));
    return Exit::kOk;
  }
  if (!values->contains("VERB")) {
    terminal.out << page_of_program();
    return Exit::kOk;
  }
  const auto name = (*values)["VERB"].as<std::string>();
  std::vector<std::string> known;
  for (const Verb& each : verbs()) {
    if (each.name == name) terminal.out << page_of(each);
    known.emplace_back(each.name);
  }
  check_word("man: VERB", name, known);
  return Exit::kOk;
}

}  // namespace steptime
