#include "sim/command/companion.h"
#include "sim/command/verbs.h"
#include "sim/core/error.h"

#include <string>
#include <vector>

namespace steptime {

/// The options are its program's; without that, `--help` can only say what it does.
Exit verb_replay(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  if (terminal.on_help != nullptr) {
    parse_arguments(verb, args, {}, {"CONFIG"}, terminal);
    return Exit::kOk;
  }
  std::vector<std::string> words{"replay"};
  words.insert(words.end(), args.begin(), args.end());
  try {
    become(kMpiProgram, words);
  } catch (const MissingError&) {
    if (args.size() != 1 || (args.front() != "--help" && args.front() != "-h")) throw;
    parse_arguments(verb, args, {}, {"CONFIG"}, terminal);
    return Exit::kOk;
  }
}

}  // namespace steptime
