#include "sim/importer.h"
#include "sim/output.h"
#include "sim/verbs.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

std::unique_ptr<Importer> importer(const std::string& format,
                                   const std::vector<std::string>& sets) {
  static const Params wrapper{{.key = "format", .kind = Kind::kObject}};
  Json choice{{"type", format}};
  for (const std::string& set : sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos) {
      throw InputError(fmt::format("--set {}: expected key=value", set));
    }
    Json value = Json::parse(set.substr(equals + 1), nullptr, false);
    choice[set.substr(0, equals)] = value.is_discarded() ? Json(set.substr(equals + 1)) : value;
  }
  const Config config(
      std::make_shared<Document>(Document{"steptime import", Json{{"format", choice}}}), wrapper);
  return Importers::instance().make(config, "format");
}

}  // namespace

Exit verb_import(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  ImportRequest request;
  std::string source, date, licence, note, path;
  std::vector<std::string> sets;
  po::options_description options("options");
  options.add_options()("model", po::value(&request.model)->required(), "network architecture")(
      "device", po::value(&request.device)->required(), "what the times were measured on")(
      "batch", po::value(&request.batch)->required(), "samples per worker and step")(
      "source", po::value(&source)->required(), "where the profile comes from")(
      "date", po::value(&date)->required(), "when it was measured or published")(
      "licence", po::value(&licence)->required(), "of the profile")(
      "note", po::value(&note), "anything a reader of the trace must know")(
      "layer-table", po::value(&request.layer_table),
      "model that gives the parameters which the profile lacks, as caffe/googlenet")(
      "set", po::value(&sets)->composing(), "key=value: a parameter of the format")(
      "output,o", po::value(&path), "trace file; default: standard output");
  const auto values = parse_arguments(verb, args, options, {"FORMAT", "FILE"}, terminal);
  if (!values) return Exit::kOk;
  if (request.batch < 1) {
    throw InputError(fmt::format("--batch: must be positive, got {}", request.batch));
  }
  request.file = (*values)["FILE"].as<std::string>();
  request.text = read_file(request.file);
  request.provenance = Json{{"source", source}, {"date", date}, {"licence", licence}};
  if (!note.empty()) request.provenance["note"] = note;

  const auto format = importer((*values)["FORMAT"].as<std::string>(), sets);
  const std::string trace = write_trace(format->import(request));
  parse_trace(trace, path.empty() ? "the imported trace" : path);  // refuses what no run could use
  if (path.empty())
    terminal.out << trace;
  else {
    write_file(path, trace);
    terminal.err << "wrote " << path << "\n";
  }
  return Exit::kOk;
}

}  // namespace steptime
