#include "sim/command/answer.h"
#include "sim/experiment/explain.h"

namespace steptime {

Exit verb_explain(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  namespace po = boost::program_options;
  std::string measured;
  ExplainOptions options{.keeps_partial = true};
  po::options_description own;
  own.add_options()("fixed-plan", po::bool_switch(&options.fixed_plan),
                    "messages stay as they are planned for CONFIG, whatever is changed")(
      "measured", po::value(&measured),
      "what a step really took, as \"412 ms\": says what would have to be different");
  const auto explained = [&](const std::shared_ptr<const Document>& config, ProgressLine& line) {
    if (!measured.empty()) {
      try {
        options.measured = parse_quantity<Duration>(measured);
      } catch (const InputError& e) {
        throw InputError(fmt::format("--measured: {}", e.what()));
      }
      if (*options.measured <= Duration{})
        throw InputError(fmt::format("--measured: expected more than 0, got \"{}\"", measured));
    }
    return explain(config, options, line.listener());
  };
  return print_answer(verb, args, terminal, own, explained);
}

}  // namespace steptime
