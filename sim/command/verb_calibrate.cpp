#include "sim/command/calibrate_all.h"
#include "sim/command/companion.h"
#include "sim/command/date_option.h"
#include "sim/command/output_kinds.h"
#include "sim/command/verbs.h"
#include "sim/config/json.h"
#include "sim/config/words.h"
#include "sim/evidence/fitted_profile.h"
#include "sim/evidence/measured_rounds.h"
#include "sim/evidence/measurements.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

struct FitRequest {
  std::vector<std::string> files;
  std::string operation = "all-reduce";
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  Json provenance = Json::object();
};

/// One file of our own, or tables of others.
MeasuredRounds read_rounds(const FitRequest& request) {
  const std::string text = read_file(request.files.front());
  if (is_rounds(text)) {
    if (request.files.size() > 1) {
      throw InputError(fmt::format("calibrate fit: expected one file of measurements, got {}",
                                   request.files.size()));
    }
    MeasuredRounds rounds = parse_rounds(text, request.files.front());
    rounds.provenance.update(request.provenance);
    return rounds;
  }
  TableRounds measured =
      rounds_of_tables(request.files, {request.operation, request.ranks, request.nodes});
  std::vector<std::string> missing;
  if (measured.ranks == 0) missing.emplace_back("--ranks");
  for (const char* key : {"source", "date", "licence"}) {
    if (!request.provenance.contains(key)) missing.push_back(fmt::format("--{}", key));
  }
  if (!missing.empty()) {
    throw InputError(fmt::format("calibrate fit: expected {}, which the table does not say",
                                 fmt::join(missing, ", ")));
  }
  if (measured.ranks < 2)
    throw InputError(fmt::format("--ranks: expected at least 2, got {}", measured.ranks));
  MeasuredRounds rounds{
      measured.nodes > 0 ? measured.nodes : measured.ranks, request.provenance, {}};
  if (measured.ranks % rounds.nodes != 0) {
    throw InputError(fmt::format("--nodes: expected a divisor of {} ranks, got {}", measured.ranks,
                                 rounds.nodes));
  }
  rounds.series.push_back({request.operation, measured.ranks, std::move(measured.sizes)});
  return rounds;
}

Exit fit(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  FitRequest request;
  FitOptions fit_options;
  std::string source, date, licence, device, help, path;
  po::options_description options("options of fit");
  options.add_options()("operation", po::value(&request.operation)->default_value("all-reduce"),
                        "that a table of others is of")(
      "ranks", po::value(&request.ranks),
      "that a table of others is of; default: as its list of devices or its command says")(
      "nodes", po::value(&request.nodes),
      "that a table of others is of; default: as its list of devices says, or one per rank")(
      "source", po::value(&source), "where a table of others comes from")(
      "date", po::value(&date), "when it was measured, as 2026-01-31")(
      "licence", po::value(&licence), "of the table")("device", po::value(&device),
                                                      "what it was measured on")(
      "help-line", po::value(&help)->default_value("measured on the machine at hand"),
      "what `list` says of the profile")(
      "resamples", po::value(&fit_options.resamples)->default_value(400), "of rounds")(
      "seed", po::value(&fit_options.seed)->default_value(1), "of resampling")(
      "output,o", po::value(&path), "profile to write: a preset of a cluster");
  const auto values = parse_arguments(verb, args, options, {"WHAT", "FILE*"}, terminal);
  if (!values) return Exit::kOk;
  if (!values->contains("FILE"))
    throw InputError("calibrate fit: expected FILE; see steptime calibrate --help");
  if (fit_options.resamples < 2 || fit_options.resamples > 100'000) {
    throw InputError(
        fmt::format("--resamples: expected 2 to 100000, got {}", fit_options.resamples));
  }
  for (const auto& [key, text] : {std::pair{"source", &source},
                                  {"date", &date},
                                  {"licence", &licence},
                                  {"device", &device}}) {
    if (!is_utf8(*text)) throw InputError(fmt::format("--{}: expected UTF-8 text", key));
    if (!text->empty()) request.provenance[key] = *text;
  }
  if (values->contains("date")) check_date(date);
  constexpr std::int64_t kMost = 10'000'000;  // as a cluster may have nodes
  if (values->contains("ranks") && (request.ranks < 2 || request.ranks > kMost))
    throw InputError(fmt::format("--ranks: expected 2 to {}, got {}", kMost, request.ranks));
  if (values->contains("nodes") && (request.nodes < 1 || request.nodes > kMost))
    throw InputError(fmt::format("--nodes: expected 1 to {}, got {}", kMost, request.nodes));
  if (fit_options.seed < 0)
    throw InputError(fmt::format("--seed: expected at least 0, got {}", fit_options.seed));
  check_word("--operation", request.operation, measured_operations());
  request.files = (*values)["FILE"].as<std::vector<std::string>>();
  if (!path.empty()) check_output(path, kProfile);
  const MeasuredRounds rounds = read_rounds(request);
  FittedProfile profile = [&] {
    try {
      return fit_profile(rounds, fit_options);
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}: {}", request.files.front(), e.what()));
    }
  }();
  profile.provenance["files"] = request.files;
  terminal.out << profile.text();
  if (!path.empty()) {
    write_file(path, profile.json(help).dump(2) + "\n", kProfile);
    terminal.err << "wrote " << path << "\n";
  }
  return Exit::kOk;
}

Exit all(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  AllRequest request;
  po::options_description options("options of all");
  options.add_options()("ranks", po::value(&request.ranks),
                        "that mpirun starts; default: one per processor")(
      "seconds", po::value(&request.seconds)->default_value(600), "for all of it")(
      "model", po::value(&request.model)->default_value("torch/resnet50"),
      "layer table whose layers are timed")("output,o", po::value(&request.profile)->required(),
                                            "profile to write: a preset of a cluster");
  const auto values = parse_arguments(verb, args, options, {}, terminal);
  if (!values) return Exit::kOk;
  if (!(request.seconds > 0) || !(request.seconds < 1e6)) {
    throw InputError(
        fmt::format("--seconds: expected more than 0, less than 1e6, got {}", request.seconds));
  }
  if (values->contains("ranks") && (request.ranks < 2 || request.ranks > 100'000))
    throw InputError(fmt::format("--ranks: expected 2 to 100000, got {}", request.ranks));
  return calibrate_all(request, terminal);
}

}  // namespace

Exit verb_calibrate(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  const std::string what = args.empty() ? "" : args.front();
  if (what == "mpi")
    become(kMpiProgram, [&] {
      std::vector<std::string> words(args.begin(), args.end());
      words.front() = "calibrate";
      return words;
    }());
  if (what == "all") return all(verb, args.subspan(1), terminal);
  if (what == "cuda" || what == "nccl") become(kCudaProgram, args);
  if (what == "compute") {
    const bool on_gpu = std::find(args.begin(), args.end(), "gpu") != args.end() ||
                        std::find(args.begin(), args.end(), "--backend=gpu") != args.end();
    if (on_gpu) become(kCudaProgram, args);
    become(kDnnlProgram, args.subspan(1));
  }
  if (what == "fit" || what == "--help" || what == "-h") return fit(verb, args, terminal);
  throw InputError(fmt::format("calibrate: expected all, compute, cuda, fit, mpi or nccl, got {}",
                               what.empty() ? "nothing" : brief(Json(what))));
}

}  // namespace steptime
