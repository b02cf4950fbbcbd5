// The verbs of the command line. Each reads its own arguments and returns the exit code.
#pragma once
#include "sim/command/terminal.h"
#include "sim/config/json.h"
#include "sim/core/error.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace steptime {

struct Verb {
  const char* name;
  const char* usage;  ///< arguments, after the name
  const char* help;   ///< one line
  const char* group;  ///< heading of the verbs that --help shows together
  /// Runs in the root of a checkout, and may write into the current folder; "": none.
  const char* example;
  Exit (*run)(const Verb&, std::span<const std::string> args, const Terminal&);
};
std::span<const Verb> verbs();
/// What "steptime" is, in one sentence.
extern const char* const kPurpose;

/// What a verb's --help says of its arguments, for texts that are made of it.
struct Usage {
  boost::program_options::options_description options;
  std::string more;  ///< text that --help shows below the options
};
Usage usage_of(const Verb& verb);

/// Parses a verb's arguments; nullopt when --help was asked for and printed. `positional` names the
/// options that arguments without a name fill: each required, unless it ends in "?" (may be left
/// out) or "*" (takes all that are left). Throws InputError.
std::optional<boost::program_options::variables_map> parse_arguments(
    const Verb& verb, std::span<const std::string> args,
    const boost::program_options::options_description& options, std::vector<std::string> positional,
    const Terminal& terminal);

/// What --set does, of every verb that has it (sim/experiment/overrides.h).
inline constexpr const char* kSetHelp =
    "/pointer=value: replaces a value of the config; null removes it";

class Sweep;
/// Throws InputError for a --set of a value that the sweep sets at every point.
void check_sets(const Sweep& sweep, std::span<const std::string> sets);

/// Throws InputError for a config that is wrong at every point of its sweep for the same reason.
void check_config(const Sweep& sweep);

/// The names that a config can choose from, each with a line of help, by kind.
Json names_by_kind();

/// Throws InputError unless `format` is table, json, jsonl or csv.
void check_format(const std::string& format);

Exit verb_init(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_run(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_sweep(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_merge(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_plot(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_advise(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_explain(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_compare(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_pin(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_reproduce(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_collective(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_import(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_calibrate(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_replay(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_report(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_list(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_check(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_schema(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_man(const Verb&, std::span<const std::string> args, const Terminal&);
Exit verb_completion(const Verb&, std::span<const std::string> args, const Terminal&);

}  // namespace steptime
