#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/command/watch.h"
#include "sim/evidence/comparison.h"
#include "sim/experiment/overrides.h"
#include "sim/sweeps/point_runner.h"
#include "sim/sweeps/run_sweep.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {

namespace po = boost::program_options;

Exit verb_pin(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string folder;
  std::vector<std::string> sets;
  po::options_description options("options");
  options.add_options()("output,o", po::value(&folder)->default_value("pins"),
                        "folder that gets NAME.json for each experiment")(
      "set", po::value(&sets)->composing(), kSetHelp);
  const auto values = parse_arguments(verb, args, options, {"CONFIG*"}, terminal);
  if (!values) return Exit::kOk;
  if (!values->contains("CONFIG"))
    throw InputError("pin: expected CONFIG; see steptime pin --help");
  std::vector<Sweep> sweeps;
  std::vector<std::string> names;
  for (const std::string& file : (*values)["CONFIG"].as<std::vector<std::string>>()) {
    sweeps.emplace_back(load_document(file, sets));
    check_sets(sweeps.back(), sets);
    names.push_back(PointRunner(sweeps.back()).experiment().name);
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      throw InputError(fmt::format("{}: /name: \"{}\" is another one's, too", file, names.back()));
  }
  create_folder(folder);
  for (const std::string& name : names)
    check_regular_output(fmt::format("{}/{}.json", folder, name), kPins);
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    std::vector<std::string> rows;
    std::string error;
    {
      ProgressLine progress(terminal);
      SweepOptions run{.stop = [&] { return terminal.is_interrupted(); }};
      run.on_row = [&](const SweepRow& row, std::string_view line) {
        rows.emplace_back(line);
        if (error.empty()) error = row.error;
      };
      run.on_progress = [&](std::int64_t done, double points) {
        progress.show(points / static_cast<double>(sweeps[i].points()),
                      fmt::format("{}: {}/{} points, ", names[i], done, sweeps[i].points()));
      };
      run_sweep(sweeps[i], run);
    }
    if (static_cast<std::int64_t>(rows.size()) < sweeps[i].points()) {
      say_when_ended("");
      if (!terminal.is_closed()) terminal.err << "interrupted: " << names[i] << " is not written\n";
      return Exit::kInterrupted;
    }
    if (!error.empty()) {
      terminal.err << fmt::format("{} is not written, as a point failed: {}\n", names[i], error);
      return Exit::kSweepHasFailures;
    }
    const std::string path = folder + "/" + names[i] + ".json";
    write_file(path, pin_text(rows), kPins);
    terminal.err << "wrote " << path << "\n";
  }
  return Exit::kOk;
}

}  // namespace steptime
