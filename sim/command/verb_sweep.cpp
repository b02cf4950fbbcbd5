#include "sim/command/companion.h"
#include "sim/command/sweep_command.h"
#include "sim/command/verbs.h"
#include "sim/sweeps/shard.h"

#include <string>
#include <vector>

namespace steptime {

Exit verb_sweep(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  const auto request = parse_sweep(verb, args, terminal, process_environment());
  if (!request) return Exit::kOk;
  if (ranks_of(process_environment()) > 1 && request->shard.is_all()) {
    std::vector<std::string> words{"sweep"};
    words.insert(words.end(), args.begin(), args.end());
    become(kMpiProgram, words);  // whose ranks share the points
  }
  return run_sweep_command(*request, terminal);
}

/// Joins what shards wrote.
Exit verb_merge(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  const auto request = parse_sweep(verb, args, terminal, process_environment());
  return request ? run_sweep_command(*request, terminal) : Exit::kOk;
}

}  // namespace steptime
