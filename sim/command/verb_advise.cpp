#include "sim/command/answer.h"
#include "sim/command/watch.h"
#include "sim/sweeps/advise.h"

#include <deque>

namespace steptime {

Exit verb_advise(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  // For an interrupted search that cannot end of its own; texts stay where they are.
  static std::deque<std::string> kept;
  AdviseOptions options{.keeps_partial = true};
  boost::program_options::options_description own;
  own.add_options()("system", boost::program_options::value(&options.system),
                    "searches this one only: any, \"PyTorch DDP\", Horovod or ByteScheduler")(
      "collective", boost::program_options::value(&options.collective),
      "searches this one only, such as ring or nccl");
  const auto advised = [&](const std::shared_ptr<const Document>& config, ProgressLine& line) {
    options.on_better = [&](const Advised& best) {
      const std::string said =
          fmt::format("best so far {:.3f} ms: {}, {}, {}", best.step_time_s * 1e3, best.system,
                      best.carried, best.schedule);
      line.note(said + "; ");
      say_when_ended(kept.emplace_back(said).c_str());
    };
    return advise(config, options, line.listener());
  };
  return print_answer(verb, args, terminal, own, advised);
}

}  // namespace steptime
