#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"
#include "sim/config/words.h"
#include "sim/drawing/node_drawing.h"
#include "sim/evidence/collective_table.h"
#include "sim/evidence/measurements.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr std::size_t kMostSizes = 100000;

/// A size as nccl-tests take it: K, M and G are powers of 1024.
std::int64_t parse_size(const char* option, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double factor = 0;
  if (unit.empty()) factor = 1;
  if (unit == "K" || unit == "k") factor = 1024;
  if (unit == "M" || unit == "m") factor = 1024.0 * 1024;
  if (unit == "G" || unit == "g") factor = 1024.0 * 1024 * 1024;
  const double bytes = number * factor;
  if (error != std::errc{} || factor == 0 || !(bytes >= 0) || bytes > 1e18) {
    throw InputError(
        fmt::format("{}: expected a size such as 8, 64K, 128M or 1G, got {}", option, brief(text)));
  }
  return static_cast<std::int64_t>(bytes);
}

struct SizeRange {
  std::int64_t first = 8;
  std::int64_t last = std::int64_t{128} << 20;
  double factor = 2;
  std::int64_t step = 0;  ///< instead of the factor
};

std::vector<std::int64_t> sizes_in(const SizeRange& range) {
  if (range.first > range.last) {
    throw InputError(fmt::format("-b: {} B is more than -e: {} B", range.first, range.last));
  }
  if (!(range.factor > 1) || !std::isfinite(range.factor)) {
    throw InputError(fmt::format("-f: expected more than 1, got {}", range.factor));
  }
  std::vector<std::int64_t> sizes;
  for (double size = static_cast<double>(range.first); size <= static_cast<double>(range.last);) {
    if (sizes.size() == kMostSizes) {
      throw InputError(fmt::format("-b, -e: more than {} sizes", kMostSizes));
    }
    sizes.push_back(static_cast<std::int64_t>(size));
    if (range.step > 0)
      size += static_cast<double>(range.step);
    else
      size = std::max(std::floor(size * range.factor), size + 1);
  }
  return sizes;
}

constexpr const char* kCollective = "/strategy/aggregation/collective";

/// The experiment that a config and the options make together.
class Asked {
 public:
  explicit Asked(const po::variables_map& values) {
    const bool from_file = values.contains("CONFIG");
    if (from_file == values.contains("preset")) {
      throw InputError(
          "collective: expected either CONFIG or --preset; see steptime collective "
          "--help");
    }
    document_ = std::make_shared<Document>(
        from_file ? *load_document(values["CONFIG"].as<std::string>(), {})
                  : Document{"collective",
                             Json{{"name", "collective"},
                                  {"cluster", {{"preset", values["preset"].as<std::string>()}}}}});
    if (values.contains("nodes")) put("/cluster/nodes", values["nodes"].as<std::int64_t>());
    if (values.contains("collective")) choose(values["collective"].as<std::string>());
    if (values.contains("nccl-version")) {
      expect_nccl("--nccl-version");
      put(std::string(kCollective) + "/version", values["nccl-version"].as<std::string>());
    }
    if (values.contains("operation")) {
      expect_nccl("--operation");
      put(std::string(kCollective) + "/operation", values["operation"].as<std::string>());
    }
    if (values.contains("gpus")) use_gpus(values["gpus"].as<std::int64_t>());
    use_processes(values);
    if (values.contains("fidelity")) put("/run/fidelity", values["fidelity"].as<std::string>());
  }

  const std::shared_ptr<Document>& document() const { return document_; }

 private:
  Json& at(const std::string& pointer) {
    Json* const place = place_in_experiment(document_->root, pointer);
    if (place != nullptr) return *place;
    throw InputError(
        fmt::format("{}: {}: cannot be set, as it lies in no object", document_->file, pointer));
  }
  void put(const std::string& pointer, const Json& value) { at(pointer) = value; }
  /// Of the collective that the config has, or by default.
  Json& type() { return at(std::string(kCollective) + "/type"); }

  /// Another collective than the config's has none of its parameters.
  void choose(const std::string& name) {
    const Json& root = document_->root;
    const Json::json_pointer aggregation("/strategy/aggregation/type");
    if (root.contains(aggregation) && root.at(aggregation) != "all-reduce")
      put("/strategy/aggregation", Json{{"type", "all-reduce"}});
    if (type() != name) put(kCollective, Json{{"type", name}});
  }

  void expect_nccl(const char* option) {
    if (const Json& found = type(); found != "nccl") {
      throw InputError(
          fmt::format("{}: expected the collective \"nccl\", got {}", option, brief(found)));
    }
  }

  /// As mpirun and nccl-tests count: N processes a node, each with G GPUs.
  void use_processes(const po::variables_map& values) {
    const bool has_each = values.contains("gpus-per-process");
    const auto count = [&](const char* name) -> std::int64_t {
      if (!values.contains(name)) return 1;
      const auto value = values[name].as<std::int64_t>();
      constexpr std::int64_t kMost = 1'000'000;  // their product is far inside its type
      if (value < 1 || value > kMost)
        throw InputError(fmt::format("--{}: expected 1 to {}, got {}", name, kMost, value));
      return value;
    };
    const std::int64_t each = count("gpus-per-process");
    if (values.contains("processes")) {
      if (values.contains("gpus"))
        throw InputError("--processes: expected without --gpus, which it makes up");
      put("/cluster/gpus_per_node", count("processes") * each);
    }
    if (!has_each) return;
    expect_nccl("--gpus-per-process");
    put(std::string(kCollective) + "/gpus_per_process", each);
  }

  /// The first ones of every node; a process cannot drive more GPUs than there are.
  void use_gpus(std::int64_t gpus) {
    put("/cluster/gpus_per_node", gpus);
    const Json::json_pointer per_process(std::string(kCollective) + "/gpus_per_process");
    Json& root = document_->root;
    if (!root.contains(per_process)) return;
    if (Json& count = root.at(per_process); count.is_number_integer() && count > gpus) count = gpus;
  }

  std::shared_ptr<Document> document_;
};

std::vector<CollectiveRow> predicted(const CollectiveModel& model, const SizeRange& range) {
  std::vector<CollectiveRow> rows;
  for (const std::int64_t bytes : sizes_in(range))
    rows.push_back(model.row(bytes));
  return rows;
}

std::vector<CollectiveRow> compared(const CollectiveModel& model, const std::string& file,
                                    std::int64_t first, std::int64_t last) {
  std::vector<CollectiveRow> rows;
  for (const Measurement& measured : read_measurements(file)) {
    if (measured.bytes < first || measured.bytes > last) continue;
    rows.push_back(model.row(measured.bytes));
    rows.back().measured_us = measured.time_us;
  }
  if (rows.empty()) {
    throw InputError(fmt::format("{}: no measurement from {} B to {} B", file, first, last));
  }
  return rows;
}

}  // namespace

Exit verb_collective(const Verb& verb, std::span<const std::string> args,
                     const Terminal& terminal) {
  std::string format, first, last, step, compare;
  SizeRange range;
  std::vector<std::string> sets;
  po::options_description options("options");
  options.add_options()("preset", po::value<std::string>(), "cluster, instead of a config's")(
      "nodes", po::value<std::int64_t>(), "number of nodes")(
      "gpus", po::value<std::int64_t>(), "GPUs per node, the first ones of the machine")(
      "processes", po::value<std::int64_t>(), "processes per node, instead of --gpus")(
      "gpus-per-process", po::value<std::int64_t>(),
      "GPUs that each drives, of the collective nccl")(
      "collective", po::value<std::string>(),
      "name of the collective, reduce-scatter, all-gather, reduce and broadcast included; default: "
      "the config's, ring")("nccl-version", po::value<std::string>(),
                            "release, of the collective nccl")(
      "operation", po::value<std::string>(),
      "all-reduce, all-gather or reduce-scatter, of the collective nccl")(
      "set", po::value(&sets)->composing(), kSetHelp)(
      "minbytes,b", po::value(&first), "smallest size; K, M, G: powers of 1024 (default 8)")(
      "maxbytes,e", po::value(&last), "largest size (default 128M)")(
      "stepfactor,f", po::value(&range.factor)->default_value(2), "factor between sizes")(
      "stepbytes,i", po::value(&step), "instead of -f: bytes between sizes")(
      "fidelity", po::value<std::string>(),
      "analytic, or message: every message on its links; default: the config's")(
      "compare", po::value(&compare),
      "file with measured times: output of nccl-tests (text, JSON), of OSU, or CSV")(
      "links",
      "what each link carries for the largest size, and how much of the time; with --format "
      "dot as a picture of a node")("format", po::value(&format)->default_value("table"),
                                    "table, json or csv; with --links dot, too")(
      "strict", "exit 5 when a size is not validated by measurements");
  const auto values = parse_arguments(verb, args, options, {"CONFIG?"}, terminal);
  if (!values) return Exit::kOk;
  const bool draws = values->contains("links") && format == "dot";
  if (!draws) check_word("--format", format, std::vector<std::string>{"table", "json", "csv"});
  if (values->contains("links") && format == "csv")
    throw InputError("--links: csv has no place for links; known: table, json, dot");
  if (values->contains("minbytes")) range.first = parse_size("-b", first);
  range.last =
      values->contains("maxbytes") ? parse_size("-e", last) : std::max(range.first, range.last);
  if (values->contains("stepbytes")) {
    range.step = parse_size("-i", step);
    if (range.step == 0) throw InputError("-i: must be positive, got 0");
  }

  const CollectiveModel model(with_sets(Asked(*values).document(), sets),
                              until_interrupted(terminal));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  terminal.err << model.whose();
  std::vector<CollectiveRow> rows = values->contains("compare")
                                        ? compared(model, compare, first.empty() ? 0 : range.first,
                                                   last.empty() ? kMost : range.last)
                                        : predicted(model, range);
  const bool is_strict = values->contains("strict");
  for (CollectiveRow& row : rows) {
    row.worth = model.worth(row.bytes, is_strict);
    if (row.worth && !row.outside_domain.empty())
      row.worth->beyond.insert(row.worth->beyond.begin(), row.outside_domain);
  }
  std::vector<LinkUse> links;
  if (values->contains("links")) links = model.links(rows.back().bytes);
  if (format == "table") terminal.out << model.title() << collective_text(rows) << worth_text(rows);
  if (format == "table" && values->contains("links"))
    terminal.out << links_text(rows.back().bytes, links);
  if (format == "csv") terminal.out << collective_csv(rows);
  if (format == "json") {
    Json list = collective_json(rows);
    if (values->contains("links")) list.back()["links"] = links_json(links);
    terminal.out << list.dump(2) << "\n";
  }
  if (draws) terminal.out << drawing(node_of(model.cluster()), links);
  if (format != "table" && values->contains("compare")) terminal.err << error_summary(rows);

  const auto reason = [](const CollectiveRow& row) {
    return row.worth && !row.worth->beyond.empty() ? row.worth->beyond.front() : row.outside_domain;
  };
  const auto outside = std::find_if(rows.begin(), rows.end(),
                                    [&](const CollectiveRow& row) { return !reason(row).empty(); });
  if (outside == rows.end()) return Exit::kOk;
  terminal.err << "note: " << reason(*outside) << "\n";
  return is_strict ? Exit::kOutsideDomain : Exit::kOk;
}

}  // namespace steptime
