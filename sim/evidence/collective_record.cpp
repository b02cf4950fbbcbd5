#include "sim/evidence/collective_record.h"

#include "sim/config/data_dir.h"
#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/keys.h"
#include "sim/network/read_cluster.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::int64_t kLarge = std::int64_t{1} << 20;
constexpr std::size_t kEnoughTables = 3;
const double kMostWorst = std::log(4. / 3);
/// Links that are so many times as fast are others.
constexpr double kOtherRate = 2;

const Params& table_params() {
  static const Params params{
      {.key = "id", .kind = Kind::kText, .help = "of the claim"},
      {.key = "library", .kind = Kind::kText},
      {.key = "operation", .kind = Kind::kText},
      {.key = "compute_capability", .kind = Kind::kInteger, .range = {.low = 0, .high = 1000}},
      {.key = "fabric", .kind = Kind::kText},
      {.key = "nodes", .kind = Kind::kText},
      {.key = "is_large", .kind = Kind::kBoolean},
      {.key = "rate_gbps", .kind = Kind::kNumber, .range = kNotNegative},
      {.key = "ranks", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e12}},
      {.key = "sizes", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e9}},
      {.key = "rms", .kind = Kind::kNumber, .range = kNotNegative},
      {.key = "worst", .kind = Kind::kNumber, .range = kNotNegative}};
  return params;
}

}  // namespace

std::string operation_name(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return "all-reduce";
    case Operation::kReduceScatter:
      return "reduce-scatter";
    case Operation::kAllGather:
      return "all-gather";
    case Operation::kReduce:
      return "reduce";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kAllToAll:
      return "all-to-all";
  }
  return "";
}

std::string CollectiveKind::text() const {
  const std::string between =
      compute_capability == 0
          ? "between hosts"
          : fmt::format("on GPUs of {}.{}", compute_capability / 10, compute_capability % 10);
  return fmt::format("{} {} {} 1 MiB {} over {}, {}", library, operation,
                     is_large ? "from" : "below", between, fabric,
                     nodes == "one" ? "one node" : nodes + " nodes");
}

namespace {

/// Of the links of a GPU in a node that says what they are, which libraries go by, else of the
/// fabric.
double rate_gbps(const Cluster& cluster, const KindOfStep& kind) {
  double rate = kind.rate;
  if (cluster.nodes == 1 && cluster.gpus) {
    const GpuNode& gpus = *cluster.gpus;
    const bool is_switched = gpus.links == GpuNode::Links::kNvswitch;
    rate = gpus.link_bandwidth.bytes_per_second *
           static_cast<double>(is_switched ? gpus.links_per_gpu : 1);
  }
  return rate * 8e-9;
}

}  // namespace

CollectiveKind collective_kind(const std::shared_ptr<const Document>& document,
                               const Cluster& cluster, Operation operation, std::int64_t bytes) {
  const Config config(document, experiment_params());
  const Config strategy = config.object("strategy", strategy_params());
  const auto transport = Transports::instance().make(strategy, "transport");
  const KindOfStep kind = exchange_kind(strategy, *transport, cluster,
                                        network_name(config.object("cluster", cluster_params())));
  const Config aggregation = Aggregations::instance().chosen(strategy, "aggregation");
  const std::string type = Catalogue::type_of(strategy, Aggregation::kNoun);
  const auto& params = Aggregations::instance().items().at(type).params;
  const bool has_collective = std::any_of(params.begin(), params.end(), [](const Param& param) {
    return param.key == Collective::kNoun;
  });
  const bool is_nccl =
      has_collective && Catalogue::type_of(aggregation, Collective::kNoun) == "nccl";
  return {.library = is_nccl ? nccl_rules(aggregation.raw(Collective::kNoun), cluster)
                             : kind[Attribute::kLibrary].text(),
          .operation = operation_name(operation),
          .compute_capability = cluster.gpus ? cluster.gpus->compute_capability : 0,
          .fabric = kind[Attribute::kFabric].text(),
          .nodes = kind[Attribute::kNodes].text(),
          .is_large = bytes >= kLarge,
          .rate_gbps = rate_gbps(cluster, kind)};
}

const CollectiveRecord& CollectiveRecord::shipped() {
  struct Kept {
    Kept(const std::string& path, const std::string& text)
        : record(parse_collective_record(text, path)), file(path, sha1_of(text)) {}
    CollectiveRecord record;
    KeptInput file;
  };
  static const std::string path = (data_dir() / "traces" / "collectives.jsonl").string();
  static const Kept kept(path, text_at(path));
  kept.file.use();
  return kept.record;
}

CollectiveAssessment CollectiveRecord::assess(const CollectiveKind& kind,
                                              std::int64_t ranks) const {
  CollectiveAssessment result;
  std::int64_t most_ranks = 0;
  double worst = 0;
  double slowest = 0;
  double fastest = 0;
  for (const CollectiveTable& table : tables_) {
    if (table.kind != kind) continue;
    ++result.tables;
    most_ranks = std::max(most_ranks, table.ranks);
    worst = std::max(worst, table.worst);
    const double rate = table.kind.rate_gbps;
    slowest = result.tables == 1 ? rate : std::min(slowest, rate);
    fastest = std::max(fastest, rate);
  }
  if (result.tables == 0)
    result.beyond.push_back("no measured table of " + kind.text());
  else if (ranks > most_ranks)
    result.beyond.push_back(fmt::format("{} ranks, measured with {} at most", ranks, most_ranks));

  if (slowest > 0 && kind.rate_gbps > 0 &&
      (kind.rate_gbps >= kOtherRate * fastest || kind.rate_gbps * kOtherRate <= slowest)) {
    result.beyond.push_back(slowest == fastest
                                ? fmt::format("{} at {:.4g} Gbit/s, measured at {:.4g}",
                                              kind.fabric, kind.rate_gbps, fastest)
                                : fmt::format("{} at {:.4g} Gbit/s, measured at {:.4g} to {:.4g}",
                                              kind.fabric, kind.rate_gbps, slowest, fastest));
  }
  if (worst > kMostWorst) {
    result.beyond.push_back(
        fmt::format("measured sizes of {} are up to {:.0f} % off, expected at most a third",
                    kind.text(), 100 * std::expm1(worst)));
  }

  using Like = std::function<bool(const CollectiveKind&)>;
  const Like any_fabric = [&](const CollectiveKind& other) {
    return other.library == kind.library && other.operation == kind.operation &&
           other.compute_capability == kind.compute_capability && other.nodes == kind.nodes &&
           other.is_large == kind.is_large;
  };
  const Like any_gpu = [&](const CollectiveKind& other) {
    return other.library == kind.library && other.operation == kind.operation &&
           other.nodes == kind.nodes && other.is_large == kind.is_large;
  };
  const Like any_operation = [&](const CollectiveKind& other) {
    return other.nodes == kind.nodes && other.is_large == kind.is_large;
  };
  const Like any = [](const CollectiveKind&) { return true; };
  const Like same = [&](const CollectiveKind& other) { return other == kind; };
  for (const Like& like : {same, any_fabric, any_gpu, any_operation, any}) {
    double squares = 0;
    std::size_t n = 0;
    for (const CollectiveTable& table : tables_) {
      if (!like(table.kind)) continue;
      squares += table.rms * table.rms;
      ++n;
    }
    if (n < kEnoughTables) continue;
    const auto count = static_cast<double>(n);
    const double t = boost::math::quantile(boost::math::students_t(count), 0.975);
    result.factor = std::exp(t * std::sqrt(squares / count));
    break;
  }
  return result;
}

std::string collective_record_text(std::span<const CollectiveTable> tables) {
  std::string text;
  for (const CollectiveTable& table : tables) {
    text += Json{{"id", table.id},
                 {"library", table.kind.library},
                 {"operation", table.kind.operation},
                 {"compute_capability", table.kind.compute_capability},
                 {"fabric", table.kind.fabric},
                 {"nodes", table.kind.nodes},
                 {"is_large", table.kind.is_large},
                 {"rate_gbps", std::round(table.kind.rate_gbps * 1e2) / 1e2},
                 {"ranks", table.ranks},
                 {"sizes", table.sizes},
                 {"rms", std::round(table.rms * 1e4) / 1e4},
                 {"worst", std::round(table.worst * 1e4) / 1e4}}
                .dump() +
            "\n";
  }
  return text;
}

std::string collective_record_table(std::span<const CollectiveTable> tables) {
  struct Sum {
    std::int64_t tables = 0;
    std::int64_t sizes = 0;
    double squares = 0;
    double worst = 0;
  };
  std::map<CollectiveKind, Sum> groups;
  for (const CollectiveTable& table : tables) {
    Sum& group = groups[table.kind];
    ++group.tables;
    group.sizes += table.sizes;
    group.squares += table.rms * table.rms;
    group.worst = std::max(group.worst, table.worst);
  }
  TextTable text({"kind", "tables", "sizes", "rms", "worst size"});
  for (const auto& [kind, group] : groups) {
    const double rms = std::sqrt(group.squares / static_cast<double>(group.tables));
    text.add({kind.text(), fmt::format("{}", group.tables), fmt::format("{}", group.sizes),
              fmt::format("{:.1f} %", 100 * std::expm1(rms)),
              fmt::format("{:.1f} %", 100 * std::expm1(group.worst))});
  }
  return text.text();
}

std::vector<CollectiveTable> parse_collective_record(const std::string& text,
                                                     const std::string& file) {
  std::vector<CollectiveTable> tables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string place = fmt::format("{}:{}", file, tables.size() + 1);
    const Config row(std::make_shared<Document>(Document{place, parse_json(line, place)}),
                     table_params());
    tables.push_back({.id = row.get<std::string>("id"),
                      .kind = {.library = row.get<std::string>("library"),
                               .operation = row.get<std::string>("operation"),
                               .compute_capability = row.get<std::int64_t>("compute_capability"),
                               .fabric = row.get<std::string>("fabric"),
                               .nodes = row.get<std::string>("nodes"),
                               .is_large = row.get<bool>("is_large"),
                               .rate_gbps = row.get<double>("rate_gbps")},
                      .ranks = row.get<std::int64_t>("ranks"),
                      .sizes = row.get<std::int64_t>("sizes"),
                      .rms = row.get<double>("rms"),
                      .worst = row.get<double>("worst")});
  }
  return tables;
}

}  // namespace steptime
