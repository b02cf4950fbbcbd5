#include "sim/command/answer.h"
#include "sim/experiment/explain.h"

namespace steptime {

Exit verb_explain(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  return print_answer(verb, args, terminal, explain);
}

}  // namespace steptime
