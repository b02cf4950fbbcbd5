#include "sim/command/cli.h"

#include "sim/command/diagnostics.h"
#include "sim/command/escaping_output.h"
#include "sim/command/verbs.h"
#include "sim/command/version.h"
#include "sim/command/watch.h"
#include "sim/config/config.h"
#include "sim/config/error_line.h"
#include "sim/config/input_files.h"
#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/core/limits.h"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <new>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr const char* kPredict = "Predict a step";
constexpr const char* kShorten = "Make it shorter";
constexpr const char* kGuard = "Keep it short: regression tests";
constexpr const char* kMeasure = "Bring in measurements";
constexpr const char* kLookUp = "Look up";

constexpr std::array kVerbs{
    Verb{"init", "[NAME]", "lists example experiments, or writes one to start from", kPredict,
         "steptime init ddp-a100 -o mine.json", verb_init},
    Verb{"run", "CONFIG", "simulates one experiment and prints a summary", kPredict,
         "steptime run configs/quickstart.json --set /cluster/nodes=16", verb_run},
    Verb{"sweep", "CONFIG", "simulates every point of the config's \"sweep\"", kPredict,
         "steptime sweep configs/quickstart.json -o results", verb_sweep},
    Verb{"merge", "CONFIG", "joins the shards of a sweep", kPredict,
         "for i in 1 2; do steptime sweep configs/quickstart.json --shard $i/2 -o shards; done && "
         "steptime merge configs/quickstart.json -o shards",
         verb_merge},
    Verb{"plot", "RESULTS...",
         "the figure of a sweep: lines, heat maps or panels over its axes; of several a line for "
         "each",
         kPredict,
         "steptime sweep configs/quickstart.json -o results && "
         "steptime plot results/quickstart.jsonl -o quickstart.svg",
         verb_plot},
    Verb{"report", "TARGET",
         "a page about an experiment: charts, error bars and config in one HTML file; or the links "
         "of a preset's or a config's machine, and trees over them",
         kPredict, "steptime report p3.16xlarge --topology", verb_report},
    Verb{
        "collective", "[CONFIG]", "what an all-reduce takes, size by size", kPredict,
        "steptime collective --preset p3.16xlarge --nodes 1 --collective nccl --nccl-version 2.4.8",
        verb_collective},
    Verb{"explain", "CONFIG", "why a step takes as long as it does, and what would make it shorter",
         kShorten, "steptime explain configs/quickstart.json --set /cluster/nodes=16",
         verb_explain},
    Verb{"advise", "CONFIG", "searches schedules, collectives and servers for a shorter step",
         kShorten, "steptime advise configs/quickstart.json --set /cluster/nodes=16", verb_advise},
    Verb{"pin", "CONFIG...", "writes the results that a later compare takes as A", kGuard,
         "steptime pin configs/quickstart.json -o pins", verb_pin},
    Verb{"compare", "A B", "two sets of results: what got worse, for regression tests", kGuard,
         "steptime pin configs/quickstart.json -o pins && steptime compare pins pins",
         verb_compare},
    Verb{
        "import", "FORMAT FILE...", "converts what others measured to a trace or a table", kMeasure,
        "steptime import kineto tests/data/imports/kineto_resnet50_1xV100.json.gz --model resnet50 "
        "--device V100 --batch 32 --source kineto --date 2021-06-09 --licence BSD-3-Clause -o "
        "trace.json",
        verb_import},
    Verb{"calibrate", "WHAT [FILE...]", "measures this machine, or fits what was measured",
         kMeasure,
         "steptime calibrate fit traces/nccl/v100_4.csv --ranks 4 --nodes 1 --source vTrain "
         "--date 2023-11-27 --licence MIT",
         verb_calibrate},
    Verb{"replay", "CONFIG", "under mpirun: predicts a step, runs it for real, compares", kMeasure,
         "mpirun --oversubscribe -n 4 steptime replay tests/calibration/replay.json", verb_replay},
    Verb{"check", "CONFIG...", "validates experiments", kLookUp,
         "steptime check configs/quickstart.json", verb_check},
    Verb{"list", "[KIND]", "the names that a config can choose from", kLookUp,
         "steptime list schedule", verb_list},
    Verb{"schema", "",
         "the JSON Schema; \"$schema\": \"steptime.schema.json\" in a config is for editors",
         kLookUp, "steptime schema > steptime.schema.json", verb_schema},
    Verb{"reproduce", "[FILTER]", "published figures beside their simulation", kLookUp,
         "steptime reproduce S4-11", verb_reproduce},
    Verb{"man", "[VERB]", "the manual page of a verb, or of the program", kLookUp,
         "steptime man run", verb_man},
    Verb{"completion", "SHELL", "completes words on the command line of bash or zsh", kLookUp,
         "steptime completion bash > steptime.bash && source steptime.bash", verb_completion}};

std::string example_of(const Verb& verb) {
  const std::string_view example = verb.example;
  return example.empty() ? "" : fmt::format("example:\n  {}\n\n", example);
}

void print_help(std::ostream& out) {
  out << "steptime: " << kPurpose
      << "\n\nusage: steptime VERB [ARGUMENTS]    steptime VERB --help\n";
  std::string_view group;
  for (const Verb& verb : kVerbs) {
    if (verb.group != group) out << fmt::format("\n{}:\n", verb.group);
    group = verb.group;
    out << fmt::format("  {:<26}{}\n", fmt::format("{} {}", verb.name, verb.usage), verb.help);
  }
}

Exit dispatch(std::span<const std::string> args, const Terminal& terminal) {
  if (args.empty()) throw InputError("expected a verb; see steptime --help");
  const std::string& name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(terminal.out);
    return Exit::kOk;
  }
  if (name == "--version") {
    terminal.out << "steptime " << version_with_commit() << "\n";
    return Exit::kOk;
  }
  for (const Verb& verb : kVerbs) {
    if (verb.name == name) return verb.run(verb, args.subspan(1), terminal);
  }
  std::vector<std::string> known;
  known.reserve(kVerbs.size());
  for (const Verb& verb : kVerbs)
    known.emplace_back(verb.name);
  const std::string guess = closest(name, known);
  throw InputError(fmt::format("unknown verb {}{}; see steptime --help", brief(name),
                               guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess)));
}

}  // namespace

const char* const kPurpose = "how long does one distributed training step take, and why?";

std::span<const Verb> verbs() {
  return kVerbs;
}

Usage usage_of(const Verb& verb) {
  std::ostringstream more;
  Usage usage;
  const std::function<void(const po::options_description&)> keep =
      [&](const po::options_description& options) { usage.options.add(options); };
  const std::vector<std::string> args{"--help"};
  verb.run(verb, args, {.out = more, .err = more, .on_help = &keep});
  usage.more = more.str();
  return usage;
}

std::optional<po::variables_map> parse_arguments(const Verb& verb,
                                                 std::span<const std::string> args,
                                                 const po::options_description& options,
                                                 std::vector<std::string> positional,
                                                 const Terminal& terminal) {
  po::options_description shown = options;
  shown.add_options()("log-level", po::value<std::string>()->default_value("warn"),
                      "diagnostics on stderr: trace, debug, info, warn, error or off");
  po::options_description all;
  all.add(shown).add_options()("help,h", "this text");
  po::positional_options_description places;
  po::options_description hidden;
  std::vector<std::string> required;
  for (std::string& name : positional) {
    const bool many = name.ends_with('*');
    if (name.ends_with('?') || many)
      name.pop_back();
    else
      required.push_back(name);
    if (many)
      hidden.add_options()(name.c_str(), po::value<std::vector<std::string>>());
    else
      hidden.add_options()(name.c_str(), po::value<std::string>());
    places.add(name.c_str(), many ? -1 : 1);
  }
  all.add(hidden);
  po::variables_map values;
  try {
    // No guessing of abbreviations: an option that is added later must not change a script.
    namespace style = po::command_line_style;
    po::store(po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
                  .options(all)
                  .positional(places)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    if (!values.contains("help")) po::notify(values);
  } catch (const po::unknown_option& e) {
    std::vector<std::string> known;
    for (const auto& option : all.options()) {
      if (option->long_name() != "help") known.push_back("--" + option->long_name());
    }
    const std::string guess = closest(e.get_option_name(), known);
    throw InputError(fmt::format("{}: {}{}; see steptime {} --help", verb.name, e.what(),
                                 guess.empty() ? "" : fmt::format(" (did you mean {}?)", guess),
                                 verb.name));
  } catch (const po::error& e) {
    throw InputError(fmt::format("{}: {}; see steptime {} --help", verb.name, e.what(), verb.name));
  }
  if (values.contains("help") && terminal.on_help != nullptr) {
    (*terminal.on_help)(shown);
    return std::nullopt;
  }
  if (values.contains("help")) {
    std::ostringstream text;
    text << shown;
    terminal.out << fmt::format("usage: steptime {} {} [OPTIONS]\n\n{}\n\n{}{}", verb.name,
                                verb.usage, verb.help, example_of(verb), text.str());
    return std::nullopt;
  }
  if (values.contains("format") && values["format"].as<std::string>() != "table")
    EscapingOutput::is_data(terminal.out);
  Diagnostics::show(values["log-level"].as<std::string>());
  for (const auto& option : options.options()) {
    const std::string& name = option->long_name();
    if (!values.contains(name) || option->semantic()->max_tokens() == 0) continue;
    const auto* text = boost::any_cast<std::string>(&values[name].value());
    if (text != nullptr && text->empty())
      throw InputError(fmt::format("--{}: expected a value, got an empty one", name));
  }
  for (const std::string& name : required) {
    if (!values.contains(name)) {
      throw InputError(
          fmt::format("{}: expected {}; see steptime {} --help", verb.name, name, verb.name));
    }
  }
  return values;
}

void check_format(const std::string& format) {
  check_word("--format", format, std::vector<std::string>{"table", "json", "jsonl", "csv"});
}

int run_command_line(std::span<const std::string> args, const Terminal& terminal) {
  const EscapingOutput out(terminal.out);
  const EscapingOutput err(terminal.err);
  const Diagnostics diagnostics(terminal.err);
  InputFiles::all().clear();
  std::string message;
  Exit exit = Exit::kOk;
  try {
    exit = dispatch(args, terminal);
    terminal.out.flush();
    if (!terminal.out) throw InputError("the output cannot be written");
  } catch (const Interrupted&) {
    say_when_ended("");
    exit = Exit::kInterrupted;
    message = "interrupted: no result before the end";
  } catch (const InputError& e) {
    exit = Exit::kBadInput;
    message = error_line(e.what());
  } catch (const MissingError& e) {
    exit = Exit::kMissing;
    message = error_line(e.what());
  } catch (const ModelFailure& e) {
    exit = Exit::kModelFails;
    message = error_lines(e.what());
  } catch (const std::bad_alloc&) {
    exit = Exit::kBadInput;
    message = kOutOfMemory;
  } catch (const std::system_error& e) {
    exit = is_out_of_threads(e) ? Exit::kBadInput : Exit::kBug;
    message = is_out_of_threads(e) ? kOutOfThreads
                                   : fmt::format("this is a bug in the simulator: {}", e.what());
  } catch (const std::exception& e) {
    exit = Exit::kBug;
    message = fmt::format("this is a bug in the simulator: {}", e.what());
  }
  if (terminal.is_closed()) return static_cast<int>(Exit::kOutputClosed);
  if (!message.empty()) terminal.err << "steptime: " << message << "\n";
  return static_cast<int>(exit);
}

}  // namespace steptime
