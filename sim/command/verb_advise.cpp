#include "sim/command/answer.h"
#include "sim/sweeps/advise.h"

namespace steptime {

Exit verb_advise(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  HeldFixed held;
  boost::program_options::options_description more;
  more.add_options()("system", boost::program_options::value(&held.system),
                     "searches this one only: any, \"PyTorch DDP\", Horovod or ByteScheduler")(
      "collective", boost::program_options::value(&held.collective),
      "searches this one only, such as ring or nccl");
  return print_answer(
      verb, args, terminal,
      [&](const std::shared_ptr<const Document>& config, const OnProgress& on_progress) {
        return advise(config, on_progress, held);
      },
      more);
}

}  // namespace steptime
