#include "sim/command/date_option.h"
#include "sim/command/escaping_output.h"
#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/input_files.h"
#include "sim/config/words.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/workload/importer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

std::unique_ptr<Importer> importer(const std::string& format,
                                   const std::vector<std::string>& sets) {
  const auto& known = Importers::instance().items();
  const auto found = known.find(format);
  if (found == known.end()) {
    std::vector<std::string> names;
    names.reserve(known.size());
    for (const auto& [name, unused] : known)
      names.push_back(name);
    throw InputError("import: format: " + unknown_word(format, names));
  }
  std::vector<std::string> keys;
  for (const Param& p : found->second.params) {
    if (p.key != "type") keys.push_back(p.key);
  }
  Json choice{{"type", format}};
  for (const std::string& set : sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos) {
      throw InputError(fmt::format("--set {}: expected key=value", set));
    }
    const std::string key = set.substr(0, equals);
    const Params& params = found->second.params;
    const auto param = std::find_if(params.begin(), params.end(),
                                    [&](const Param& p) { return p.key == key && key != "type"; });
    if (param == params.end()) {
      throw InputError(
          fmt::format("--set {}: unknown key; {} has {}", key, format,
                      keys.empty() ? "no parameters" : fmt::format("{}", fmt::join(keys, ", "))));
    }
    choice[key] = set_value(set.substr(equals + 1), "--set " + set);
    // A text may look like a number: "7".
    if (param->kind == Kind::kText && choice[key].is_number()) choice[key] = set.substr(equals + 1);
  }
  static const Params wrapper{{.key = "--set", .kind = Kind::kObject}};
  const Config config(std::make_shared<Document>(Document{"import", Json{{"--set", choice}}}),
                      wrapper);
  return Importers::instance().make(config, "--set");
}

/// Throws InputError unless JSON can hold the text.
void check_text(const char* option, const std::string& text) {
  if (!is_utf8(text)) {
    throw InputError(fmt::format("{}: expected UTF-8 text, got \"{}\"", option, one_line(text)));
  }
}

/// The formats that --help names, a line each.
std::string formats() {
  std::string text = "\nformats:\n";
  for (const auto& [name, item] : Importers::instance().items())
    text += fmt::format("  {:<12}{}\n", name, item.help);
  return text;
}

/// Throws InputError, in the words of the library, unless the option was given.
void check_given(const po::variables_map& values, const char* option) {
  if (values.contains(option) && !values[option].defaulted()) return;
  throw InputError(
      fmt::format("import: the option '--{}' is required but missing; see "
                  "steptime import --help",
                  option));
}

/// What the file must hold. Throws InputError when no run could use it.
std::string written(const Imported& imported, const std::string& path) {
  if (!imported.trace) return imported.table;
  std::string trace = write_trace(*imported.trace);
  parse_trace(trace, path.empty() ? "the imported trace" : path);
  return trace;
}

/// What is said of a profile that its owner imports.
constexpr const char* kOwn = "own measurement";
constexpr const char* kNotStated = "not stated";

}  // namespace

Exit verb_import(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  ImportRequest request;
  std::string source, date, licence, note, path;
  std::vector<std::string> sets;
  po::options_description options("options");
  options.add_options()("model", po::value(&request.model), "network architecture, of a trace")(
      "device", po::value(&request.device)->required(), "what the times were measured on")(
      "batch", po::value(&request.batch), "samples per worker and step, of a trace")(
      "source", po::value(&source)->default_value(kOwn),
      "where the profile comes from; that of others needs --date and --licence, too")(
      "date", po::value(&date)->default_value(kNotStated),
      "day when it was measured or published, as 2026-01-31")(
      "licence", po::value(&licence)->default_value(kNotStated), "of the profile")(
      "note", po::value(&note), "anything a reader of the trace must know")(
      "layer-table", po::value(&request.layer_table),
      "model that gives the parameters which the profile lacks, as caffe/googlenet")(
      "set", po::value(&sets)->composing(), "key=value: a parameter of the format")(
      "output,o", po::value(&path), "file to write; default: standard output");
  const auto values = parse_arguments(verb, args, options, {"FORMAT", "FILE*"}, terminal);
  if (!values) {
    terminal.out << formats();
    return Exit::kOk;
  }
  const auto format = importer((*values)["FORMAT"].as<std::string>(), sets);
  if (!format->makes_table()) {
    check_given(*values, "model");
    check_given(*values, "batch");
    if (request.batch < 1) {
      throw InputError(fmt::format("--batch: must be positive, got {}", request.batch));
    }
  }
  if (!values->contains("FILE"))
    throw InputError("import: expected FILE; see steptime import --help");
  const OutputKind kind = format->makes_table() ? kSizeTable : kTrace;
  if (!path.empty()) check_output(path, kind);
  check_text("--model", request.model);
  check_text("--device", request.device);
  check_text("--source", source);
  if (!(*values)["source"].defaulted()) {
    check_given(*values, "date");
    check_given(*values, "licence");
  }
  if (date != kNotStated) check_date(date);
  check_text("--licence", licence);
  check_text("--note", note);
  request.paths = (*values)["FILE"].as<std::vector<std::string>>();
  request.file = request.paths.front();
  if (!format->streams()) {
    if (request.paths.size() > 1) {
      throw InputError(fmt::format("import: expected one file, got {} more, {} the first",
                                   request.paths.size() - 1, brief(request.paths[1])));
    }
    request.text = text_at(request.file);
  }
  request.provenance = Json{{"source", source}, {"date", date}, {"licence", licence}};
  if (!note.empty()) request.provenance["note"] = note;

  Imported imported;
  {
    ProgressLine progress(terminal);
    request.on_progress = progress.listener();
    imported = format->import(request);
  }
  const std::string text = written(imported, path);
  for (const std::string& sentence : imported.missing)
    terminal.err << "note: " << sentence << "\n";
  if (path.empty()) {
    EscapingOutput::is_data(terminal.out);
    terminal.out << text;
  } else {
    write_file(path, text, kind);
    terminal.err << "wrote " << path << "\n";
  }
  return Exit::kOk;
}

}  // namespace steptime
