#include "sim/command/answer.h"
#include "sim/sweeps/advise.h"

namespace steptime {

Exit verb_advise(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  return print_answer(verb, args, terminal, advise);
}

}  // namespace steptime
