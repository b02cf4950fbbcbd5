// What bash and zsh complete, made from the tables behind --help and from the names of `list`.
#include "sim/command/verbs.h"
#include "sim/config/words.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

struct Option {
  std::vector<std::string> spellings;  ///< "--output", "-o"
  std::string help;                    ///< its first line
  std::string name;                    ///< without dashes
  bool has_value = false;
  bool may_repeat = false;
};

std::vector<Option> options_of(const Verb& verb) {
  std::vector<Option> found;
  const Usage usage = usage_of(verb);
  for (const auto& option : usage.options.options()) {
    Option& o = found.emplace_back();
    o.name = option->long_name();
    o.spellings.push_back("--" + o.name);
    const std::string shown = option->format_name();  // "-o [ --output ]"
    if (shown.starts_with('-') && !shown.starts_with("--"))
      o.spellings.push_back(shown.substr(0, 2));
    o.help = option->description().substr(0, option->description().find('\n'));
    o.has_value = option->semantic()->max_tokens() > 0;
    o.may_repeat = option->semantic()->is_composing();
  }
  return found;
}

/// Names that a word of the command line can be.
class Names {
 public:
  /// "preset", "importer"; none for what is no kind of names.
  std::vector<std::string> of(const std::string& kind) const {
    std::vector<std::string> names;
    if (!kinds_.contains(kind)) return names;
    for (const Json& each : kinds_.at(kind))
      names.push_back(each.at("name").get<std::string>());
    return names;
  }
  /// That a verb's first argument can be; none for a file.
  std::vector<std::string> first(std::string_view verb) const {
    std::vector<std::string> names;
    if (verb == "list") {
      for (const auto& kind : kinds_.items())
        names.push_back(kind.key());
    }
    if (verb == "man") {
      for (const Verb& each : verbs())
        names.emplace_back(each.name);
    }
    if (verb == "import") return of("importer");
    if (verb == "calibrate") return {"all", "compute", "cuda", "fit", "mpi", "nccl"};
    if (verb == "completion") return {"bash", "zsh"};
    return names;
  }

 private:
  Json kinds_ = names_by_kind();
};

std::string bash() {
  const Names names;
  std::string verbs_text, cases;
  for (const Verb& verb : verbs()) {
    verbs_text += fmt::format("{} ", verb.name);
    std::vector<std::string> words;
    std::string values;
    for (const Option& o : options_of(verb)) {
      words.insert(words.end(), o.spellings.begin(), o.spellings.end());
      if (!o.has_value) continue;
      const auto known = names.of(o.name);
      values += fmt::format("        {}) words='{}' is_value=yes ;;\n",
                            fmt::join(o.spellings, " | "), fmt::join(known, " "));
    }
    cases += fmt::format(
        "    {})\n      options='{} --help' first='{}'\n      case $before in\n{}      esac\n"
        "      ;;\n",
        verb.name, fmt::join(words, " "), fmt::join(names.first(verb.name), " "), values);
  }
  return fmt::format(
      R"(# Completes steptime's command line in bash; written by "steptime completion bash".
_steptime() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local words='' options='' first='' is_value=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words='{}--help --version'
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ -z $is_value ]]; then
    [[ $word == -* ]] && words=$options
    [[ $word != -* && $COMP_CWORD == 2 ]] && words=$first
  fi
  # Of no word, files: complete's default.
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _steptime steptime
)",
      verbs_text, cases);
}

/// Inside '...' of zsh and of its _arguments and _describe, which give [ ] and : a meaning.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'')
      escaped += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      escaped += std::string("\\") + c;
    else
      escaped += c;
  }
  return escaped;
}

std::string zsh() {
  const Names names;
  std::string described, cases;
  const auto action = [](const std::vector<std::string>& known) {
    return known.empty() ? "_files" : fmt::format("({})", fmt::join(known, " "));
  };
  for (const Verb& verb : verbs()) {
    described += fmt::format("    '{}:{}'\n", verb.name, zsh_text(verb.help));
    cases += fmt::format("    {})\n      _arguments \\\n", verb.name);
    for (const Option& o : options_of(verb)) {
      for (const std::string& spelling : o.spellings) {
        cases += fmt::format(
            "        '{}{}[{}]{}' \\\n", o.may_repeat ? "*" : "", spelling, zsh_text(o.help),
            o.has_value ? fmt::format(":{}:{}", o.name, action(names.of(o.name))) : "");
      }
    }
    cases += fmt::format("        '--help[this text]' '1:{}:{}' '*:file:_files'\n      ;;\n",
                         "argument", action(names.first(verb.name)));
  }
  return fmt::format(R"(#compdef steptime
# Completes steptime's command line in zsh; written by "steptime completion zsh".
_steptime() {{
  local -a verbs
  verbs=(
{}  )
  if ((CURRENT == 2)); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
{}  esac
}}
(($+functions[compdef])) && compdef _steptime steptime
[[ $zsh_eval_context[-1] == loadautofunc ]] && _steptime "$@"
)",
                     described, cases);
}

}  // namespace

Exit verb_completion(const Verb& verb, std::span<const std::string> args,
                     const Terminal& terminal) {
  const po::options_description options("options");
  const auto values = parse_arguments(verb, args, options, {"SHELL"}, terminal);
  if (!values) return Exit::kOk;
  const auto shell = (*values)["SHELL"].as<std::string>();
  check_word("completion: SHELL", shell, std::vector<std::string>{"bash", "zsh"});
  terminal.out << (shell == "bash" ? bash() : zsh());
  return Exit::kOk;
}

}  // namespace steptime
