// Any bytes as an experiment: read, sweep, simulate. Whatever they are, either there is a result or
// an InputError.
#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/summary.h"
#include "sim/sweeps/point_runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

namespace steptime {
namespace {

constexpr std::int64_t kMostPoints = 4;   // of a sweep, that are run
constexpr std::int64_t kMostSteps = 100;  // of a run

/// The shipped traces and tables, relative to the data folder.
const std::set<std::string>& shipped_files() {
  static const std::set<std::string> files = [] {
    std::set<std::string> found;
    const auto traces = data_dir() / "traces";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(traces)) {
      if (entry.is_regular_file()) {
        found.insert(entry.path().lexically_relative(data_dir()).generic_string());
      }
    }
    return found;
  }();
  return files;
}

/// A config may name any file of the machine. Here a name that leads out of configs/ becomes that
/// of the shipped file it ends in, or else of some shipped file.
void confine(Json& value) {
  if (value.is_structured()) {
    for (Json& each : value)
      confine(each);
    return;
  }
  if (!value.is_string()) return;
  const auto& text = value.get_ref<const std::string&>();
  if (!text.starts_with('/') && text.find("..") == std::string::npos) return;
  const auto tail = text.find("traces/");
  const bool shipped = tail != std::string::npos && shipped_files().contains(text.substr(tail));
  value = "../" + (shipped ? text.substr(tail) : *shipped_files().begin());
}

void limit_steps(Json& root) {
  if (!root.is_object() || !root.contains("run") || !root["run"].is_object()) return;
  Json& run = root["run"];
  if (run.contains("steps") && run["steps"].is_number_integer() && run["steps"] > kMostSteps) {
    run["steps"] = kMostSteps;
  }
}

/// What plays every message, rank or step takes long when it is large: a few of each will do.
void limit_size(Json& root) {
  const std::string text = root.dump(-1, ' ', true, Json::error_handler_t::replace);
  const auto names = {"message", "server", "hybrid", "funnel",    "concum",
                      "depcha",  "naive",  "fabric", "variation", "convergence"};
  const bool plays = std::any_of(names.begin(), names.end(), [&](const char* name) {
    return text.find(name) != std::string::npos;
  });
  if (!plays || !root.is_object()) return;
  root.erase("sweep");
  const auto limit = [&](const char* pointer, std::int64_t most) {
    const Json::json_pointer at(pointer);
    if (root.contains(at) && root[at].is_number() && root[at] > most) root[at] = most;
  };
  for (const char* pointer :
       {"/cluster/nodes", "/cluster/gpus_per_node", "/strategy/aggregation/servers",
        "/strategy/aggregation/clients", "/run/steps"}) {
    limit(pointer, 4);
  }
  // An epoch takes seconds in a sanitizer build.
  limit("/run/convergence/seeds", 1);
  limit("/run/convergence/epochs", 1);
}

void run_experiment(std::string_view text) {
  auto document = std::make_shared<Document>(
      Document{(data_dir() / "configs" / "fuzz.json").string(), parse_json(text, "fuzz.json")});
  confine(document->root);
  limit_steps(document->root);
  limit_size(document->root);
  const Sweep sweep(document);
  PointRunner runner(sweep);
  for (std::int64_t point = 0; point < std::min(sweep.points(), kMostPoints); ++point) {
    try {
      std::vector<SentBucket> buckets;
      const Result result = runner.run(point, &buckets);
      std::string line;
      append_json(line, result);
      csv_cells(result);
      summary(runner.experiment(), result);
      full_json(result, buckets, runner.config());
    } catch (const InputError&) {  // of this point; the others may run
      continue;
    }
  }
}

}  // namespace
}  // namespace steptime

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    steptime::run_experiment({reinterpret_cast<const char*>(data), size});
  } catch (const steptime::InputError&) {
    return 0;
  }
  return 0;
}
