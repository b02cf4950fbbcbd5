// list, check and schema: what there is, and whether a config is right.
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/data_dir.h"
#include "sim/config/error_line.h"
#include "sim/config/input_files.h"
#include "sim/config/registry.h"
#include "sim/config/words.h"
#include "sim/core/text_table.h"
#include "sim/evidence/claims.h"
#include "sim/evidence/key_reference.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/figures.h"
#include "sim/experiment/key_places.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/schema.h"
#include "sim/experiment/simulate.h"
#include "sim/network/cluster.h"
#include "sim/network/read_cluster.h"
#include "sim/sweeps/point_runner.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

struct Entry {
  std::string name;
  std::string help;
  std::string keys;
  std::string unit{};
};

std::string keys_of(const Params& params) {
  std::string keys;
  for (const Param& p : params) {
    if (p.key == "type") continue;
    keys += (keys.empty() ? "" : ", ") + p.key;
  }
  return keys;
}

/// The shipped JSON files below `folder` whose "format" is `format`, by their names.
std::map<std::string, Json> shipped(const std::string& folder, const std::string& format) {
  std::map<std::string, Json> files;
  const auto root = data_dir() / folder;
  using Walk = std::filesystem::recursive_directory_iterator;
  std::error_code error;
  for (Walk file(root, error); !error && file != Walk(); file.increment(error)) {
    if (file->path().extension() != ".json") continue;
    const std::string path = file->path().string();
    Json json = parse_json(text_at(path), path);
    if (!json.is_object() || json.value("format", Json()) != format) continue;
    const auto name = file->path().lexically_relative(root).replace_extension();
    files[name.generic_string()] = std::move(json);
  }
  if (error)
    throw InputError(fmt::format("{}: cannot be read: {}", root.string(), error.message()));
  return files;
}

template <class Describe>
void add_files(std::vector<Entry>& entries, const std::string& folder, const std::string& format,
               Describe describe) {
  for (const auto& [name, json] : shipped(folder, format))
    entries.push_back({name, describe(json), ""});
}

/// What "precision" of a workload can be.
std::vector<std::string> precisions() {
  const Params& params = workload_params();
  return std::find_if(params.begin(), params.end(),
                      [](const Param& p) { return p.key == "precision"; })
      ->words;
}

/// Everything that can be named, by kind.
std::map<std::string, std::vector<Entry>> everything() {
  std::map<std::string, std::vector<Entry>> kinds;
  for (const auto& [noun, catalogue] : Catalogue::all()) {
    for (const auto& [name, item] : catalogue->items()) {
      kinds[noun].push_back({name, item.help, keys_of(item.params)});
    }
  }
  for (const auto& [name, help] : cluster_presets()) {
    kinds["preset"].push_back({name, help, ""});
  }
  const auto aliases = [](const Json& model) {
    const auto names = model.value("aliases", std::vector<std::string>{});
    return names.empty() ? "" : fmt::format("also {}", fmt::join(names, ", "));
  };
  add_files(kinds["model"], "models", "steptime-model", aliases);
  add_files(kinds["shape"], "models/transformers", "steptime-transformer", aliases);
  add_files(kinds["device"], "models/devices", "steptime-device",
            [](const Json& device) { return device.value("help", ""); });
  add_files(kinds["stack"], "models/stacks", "steptime-stack",
            [](const Json& stack) { return stack.value("help", ""); });
  add_files(kinds["trace"], "traces", "steptime-trace", [](const Json& trace) {
    return fmt::format("{} on {}, batch {}", trace.value("model", ""), trace.value("device", ""),
                       trace.value("batch", 0));
  });
  for (const std::string& name : precisions()) {
    std::vector<std::string> devices;
    for (const auto& [device, json] : shipped("models/devices", "steptime-device")) {
      if (json.at("precisions").contains(name)) devices.push_back(device);
    }
    kinds["precision"].push_back({name, devices.empty()
                                            ? "no shipped device has it"
                                            : fmt::format("on {}", fmt::join(devices, ", "))});
  }
  for (const Figure& f : figures()) {
    kinds["result"].push_back({std::string(f.key), std::string(f.help), "", std::string(f.unit)});
  }
  return kinds;
}

/// `wanted`: a kind; "": of all.
Json json_of(const std::map<std::string, std::vector<Entry>>& kinds, const std::string& wanted) {
  Json json = Json::object();
  for (const auto& [kind, entries] : kinds) {
    if (!wanted.empty() && kind != wanted) continue;
    for (const Entry& e : entries) {
      json[kind].push_back(Json{{"name", e.name}, {"help", e.help}});
      if (kind == "result") json[kind].back()["unit"] = e.unit;
    }
  }
  return json;
}

}  // namespace

Json names_by_kind() {
  return json_of(everything(), "");
}

Exit verb_list(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  po::options_description options("options");
  options.add_options()("format", po::value(&format)->default_value("table"), "table or json");
  const auto values = parse_arguments(verb, args, options, {"KIND?"}, terminal);
  if (!values) return Exit::kOk;
  check_word("--format", format, std::vector<std::string>{"table", "json"});
  const auto kinds = everything();
  const std::string wanted = values->contains("KIND") ? (*values)["KIND"].as<std::string>() : "";
  if (!wanted.empty() && !kinds.contains(wanted)) {
    std::vector<std::string> known;
    known.reserve(kinds.size());
    for (const auto& [kind, unused] : kinds)
      known.push_back(kind);
    check_word("list", wanted, known);
  }
  if (format == "json") {
    terminal.out << json_of(kinds, wanted).dump(2) << "\n";
    return Exit::kOk;
  }
  for (const auto& [kind, entries] : kinds) {
    if (!wanted.empty() && kind != wanted) continue;
    terminal.out << kind << "\n";
    TextTable table({{.width = 26, .align = TextTable::Align::kLeft}, {}}, {.row_mark = "  "});
    for (const Entry& e : entries) {
      const std::string more = e.keys + e.unit;
      table.add({e.name, e.help + (more.empty() ? "" : fmt::format(" [{}]", more))});
    }
    terminal.out << table.text();
  }
  return Exit::kOk;
}

namespace {

/// What `run` would do. Learning takes seconds, and jobs go on for as long as the last one: of such
/// runs only the beginning is checked. `buckets`: null, where nobody asks for them.
void check_run(const Experiment& experiment, std::vector<SentBucket>* buckets,
               const OnProgress& listener) {
  if (experiment.run->convergence || experiment.jobs)
    check_training_run(experiment);
  else
    simulate(experiment, buckets, listener);
}

}  // namespace

Exit verb_check(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::vector<std::string> sets;
  po::options_description options("options");
  options.add_options()("set", po::value(&sets)->composing(), kSetHelp);
  const auto values = parse_arguments(verb, args, options, {"CONFIG*"}, terminal);
  if (!values) return Exit::kOk;
  if (!values->contains("CONFIG")) {
    throw InputError("check: expected CONFIG; see steptime check --help");
  }
  Exit exit = Exit::kOk;
  const OnProgress listener = until_interrupted(terminal);
  for (const std::string& path : (*values)["CONFIG"].as<std::vector<std::string>>()) {
    try {
      const auto document = load_document(path, sets);
      std::vector<SentBucket> buckets;
      check_run(read_experiment(document), &buckets, listener);
      check_keys_act(document);
      for (const std::string& line : keys_of_other_fidelity(document))
        terminal.err << line << "\n";
      const Sweep sweep(document);
      PointRunner runner(sweep);
      for (std::int64_t point = 0; document->root.contains("sweep") && point < sweep.points();
           ++point) {
        listener(0);
        try {
          check_run(runner.read(point), nullptr, listener);
        } catch (const InputError& e) {
          if (sweep.points() == 1) throw;
          throw InputError(fmt::format("{} (point {} of the sweep)", e.what(), point));
        }
      }
      check_claims(path, listener);
      terminal.out << fmt::format("{}: ok, {} point{}\n", path, sweep.points(),
                                  sweep.points() == 1 ? "" : "s");
    } catch (const InputError& e) {
      terminal.err << "steptime: " << error_line(e.what()) << "\n";
      exit = Exit::kBadInput;
    }
  }
  return exit;
}

Exit verb_schema(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  po::options_description options("options");
  options.add_options()("format", po::value(&format)->default_value("json"),
                        "json, or markdown: the page docs/keys.md");
  if (!parse_arguments(verb, args, options, {}, terminal)) return Exit::kOk;
  check_word("--format", format, std::vector<std::string>{"json", "markdown"});
  terminal.out << (format == "json" ? experiment_schema().dump(2) + "\n" : key_reference());
  return Exit::kOk;
}

}  // namespace steptime
