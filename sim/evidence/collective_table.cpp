#include "sim/evidence/collective_table.h"

#include "sim/collective/path.h"
#include "sim/core/text_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/jobs.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/read_experiment.h"
#include "sim/servers/tcp_connections.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

bool has_measured(std::span<const CollectiveRow> rows) {
  for (const CollectiveRow& row : rows) {
    if (row.measured_us) return true;
  }
  return false;
}

bool has_choice(std::span<const CollectiveRow> rows) {
  for (const CollectiveRow& row : rows) {
    if (!row.choice.empty()) return true;
  }
  return false;
}

/// As nccl-tests prints times: few digits, none lost to large numbers.
std::string short_time(double us) {
  if (us < 100) return fmt::format("{:.2f}", us);
  return us < 10000 ? fmt::format("{:.1f}", us) : fmt::format("{:.0f}", us);
}

/// A choice as people read it: "linear (a 1 ms, b 1 ns/B)".
std::string named(const Json& value) {
  if (value.is_string()) return one_line(value.get<std::string>());
  if (!value.is_object()) return value.dump();
  std::string parameters;
  for (const auto& [key, each] : value.items()) {
    if (key != "type")
      parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", key, named(each));
  }
  const std::string type = value.value("type", "");
  return parameters.empty() ? type : fmt::format("{} ({})", type, parameters);
}

/// "# path: 12 rings over NVLink, 8 adapters a node (NCCL 2.20.5 by the rules of 2.19.3)".
std::string path_line(const Collective& collective) {
  const auto* known = dynamic_cast<const HasPath*>(&collective);
  const std::string path = known != nullptr ? path_text(known->path()) : "";
  return path.empty() ? "" : fmt::format("# path: {}\n", path);
}

std::string summary_line(const char* what, const CollectiveErrors& e) {
  return fmt::format("{}: {}, geometric-mean error {:.1f} %, worst {:+.1f} % at {} B\n", what,
                     e.sizes, e.geomean_pct, e.worst_pct, e.worst_bytes);
}

}  // namespace

double bus_factor(Operation operation, std::int64_t n) {
  const double others = (static_cast<double>(n) - 1) / static_cast<double>(n);
  switch (operation) {
    case Operation::kAllReduce:
      return 2 * others;
    case Operation::kReduceScatter:
    case Operation::kAllGather:
    case Operation::kAllToAll:
      return others;
    case Operation::kReduce:
    case Operation::kBroadcast:
      return 1;
  }
  return 1;
}

CollectiveModel::CollectiveModel(std::shared_ptr<const Document> document, OnProgress on_progress)
    : document_(std::move(document)), on_progress_(std::move(on_progress)) {
  Experiment experiment;
  for (const Part part : {Part::kNetwork, Part::kCluster})
    read_part(document_, part, experiment);
  cluster_ = experiment.machines;
  const auto jobs = stated_jobs(document_);
  if (jobs.size() > 1) {
    whose_ = fmt::format("note: on the nodes of the first of {} jobs, {}, by its strategy\n",
                         jobs.size(), brief(jobs.front().name));
  }
  read_of_job(*document_, 0, [&, stated = document_] {
    document_ = of_first_job(stated);
    read_collective();
  });
}

void CollectiveModel::read_collective() {
  const Config config(document_, experiment_params());
  const Config strategy = config.object("strategy", strategy_params());
  const auto transport = Transports::instance().make(strategy, "transport");
  cluster_ = connected(cluster_, connections_of(strategy, *transport));
  const auto aggregation = read_aggregation(config, *transport, *cluster_);
  collective_ = aggregation->whole ? aggregation->whole : aggregation->inside;
  if (config.object("run", run_params()).get<std::string>("fidelity") == "analytic") return;
  try {
    messages_ = std::make_unique<MessageTimes>(*cluster_, *collective_);
  } catch (const PlacedError& e) {
    throw InputError(fmt::format("{}: {}", document_->file, e.what()));
  }
}

std::string CollectiveModel::title() const {
  const Json config = resolved(document_->root);
  const Json& aggregation = config.at("strategy").at("aggregation");
  const bool among_all = aggregation.at("type") == "all-reduce";
  const Json& cluster = document_->root.at("cluster");
  const std::string preset =
      cluster.contains("preset") ? cluster.at("preset").get<std::string>() + ", " : "";
  const std::int64_t ranks = cluster_->workers();
  return fmt::format(
      "# collective: {}\n{}# cluster: {}{} node{} with {} GPU{}, {} rank{}\n"
      "# fidelity: {}; busbw = {:.4g} algbw\n",
      named(among_all ? aggregation.at("collective") : aggregation), path_line(*collective_),
      preset, cluster_->nodes, cluster_->nodes == 1 ? "" : "s", cluster_->gpus_per_node,
      cluster_->gpus_per_node == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s",
      messages_ ? "message" : "analytic", bus_factor(collective_->operation(), ranks));
}

template <class Function>
auto CollectiveModel::placed(Bytes bytes, Function of) const {
  try {
    return of(bytes);
  } catch (const PlacedError& e) {
    throw InputError(fmt::format("{}: {}", document_->file, e.what()));
  } catch (const RangeError& e) {
    throw InputError(
        fmt::format("{}: /strategy/aggregation: {} B: {}", document_->file, bytes.count, e.what()));
  }
}

Duration CollectiveModel::time(Bytes bytes) const {
  return placed(bytes, [this](Bytes m) {
    if (!messages_) return collective_->time(m);
    messages_->play({&m, 1}, on_progress_);
    return messages_->time(m);
  });
}

std::vector<LinkUse> CollectiveModel::links(std::int64_t bytes) const {
  return placed({bytes}, [this](Bytes m) { return link_uses(*collective_, *cluster_, m); });
}

CollectiveRow CollectiveModel::row(std::int64_t bytes) const {
  const Operation operation = collective_->operation();
  const auto is = [&](std::initializer_list<Operation> any) {
    return std::find(any.begin(), any.end(), operation) != any.end();
  };
  const bool has_parts =
      is({Operation::kReduceScatter, Operation::kAllGather, Operation::kAllToAll});
  CollectiveRow row{
      .bytes = bytes,
      .time_us = to_seconds(time(Bytes{bytes})) * 1e6,
      .parts = has_parts ? cluster_->workers() : 1,
      .sums = !is({Operation::kAllGather, Operation::kBroadcast, Operation::kAllToAll}),
      .choice = collective_->choice(Bytes{bytes}),
      .outside_domain = messages_ ? "" : collective_->outside_domain(Bytes{bytes})};
  if (row.time_us > 0) row.algbw_gbps = static_cast<double>(bytes) / row.time_us * 1e-3;
  row.busbw_gbps = row.algbw_gbps * bus_factor(operation, cluster_->workers());
  return row;
}

std::optional<CollectiveAssessment> CollectiveModel::worth(std::int64_t bytes,
                                                           bool is_strict) const {
  if (collective_->at(IntervalEnd::kLow)) return std::nullopt;
  const CollectiveKind kind =
      collective_kind(document_, *cluster_, collective_->operation(), bytes);
  if (kind.library == "table" || kind.library == "linear") return std::nullopt;
  CollectiveAssessment worth = CollectiveRecord::shipped().assess(kind, cluster_->workers());
  if (!is_strict && !cluster_->gpus && worth.tables == 0) return std::nullopt;
  return worth;
}

CollectiveErrors errors(std::span<const CollectiveRow> rows, bool powers_of_two) {
  CollectiveErrors e;
  double sum = 0;
  double worst = -1;
  for (const CollectiveRow& row : rows) {
    if (!row.measured_us) continue;
    if (powers_of_two && !std::has_single_bit(static_cast<std::uint64_t>(row.bytes))) continue;
    // A time of zero is as wrong as can be; its logarithm would hide all others.
    const double ratio = std::abs(std::log(std::max(row.time_us, 1e-6) / *row.measured_us));
    ++e.sizes;
    sum += ratio;
    if (ratio <= worst) continue;
    worst = ratio;
    e.worst_pct = row.error_pct();
    e.worst_bytes = row.bytes;
  }
  if (e.sizes > 0) e.geomean_pct = std::expm1(sum / static_cast<double>(e.sizes)) * 100;
  return e;
}

std::string error_summary(std::span<const CollectiveRow> rows) {
  std::string text = summary_line("sizes", errors(rows, false));
  const CollectiveErrors powers = errors(rows, true);
  if (powers.sizes > 0) text += summary_line("powers of two", powers);
  return text;
}

std::string collective_text(std::span<const CollectiveRow> rows) {
  const bool measured = has_measured(rows);
  const bool choice = has_choice(rows);
  // As wide as nccl-tests' columns, or as their longest cell needs.
  const auto right = [](const char* name, const char* unit, std::size_t width) {
    return TextTable::Column{name, unit, width, TextTable::Align::kRight};
  };
  std::vector<TextTable::Column> columns{
      right("size", "(B)", 11),   right("count", "(elements)", 13), right("type", "", 8),
      right("redop", "", 7),      right("time", "(us)", 11),        right("algbw", "(GB/s)", 8),
      right("busbw", "(GB/s)", 8)};
  if (measured) {
    columns.push_back(right("measured", "(us)", 11));
    columns.push_back(right("error", "(%)", 7));
  }
  if (choice) columns.push_back({.name = " choice", .align = TextTable::Align::kLeft});
  TextTable table(std::move(columns),
                  {.gap = " ", .head_mark = "# ", .row_mark = "  ", .has_rule = false});
  for (const CollectiveRow& row : rows) {
    std::vector<std::string> cells{std::to_string(row.bytes),
                                   std::to_string(row.bytes / 4 / row.parts),
                                   "float",
                                   row.sums ? "sum" : "none",
                                   short_time(row.time_us),
                                   fmt::format("{:.2f}", row.algbw_gbps),
                                   fmt::format("{:.2f}", row.busbw_gbps)};
    if (measured) {
      cells.push_back(row.measured_us ? short_time(*row.measured_us) : "");
      cells.push_back(row.measured_us ? fmt::format("{:+.1f}", row.error_pct()) : "");
    }
    if (choice) cells.push_back(" " + row.choice);
    table.add(std::move(cells));
  }
  std::string text = table.text();
  if (!measured) return text;
  std::string summary = error_summary(rows);
  summary.insert(0, "# ");
  if (const auto second = summary.find('\n'); second + 1 < summary.size())
    summary.insert(second + 1, "# ");
  return text + summary;
}

std::string worth_text(std::span<const CollectiveRow> rows) {
  std::string text;
  const CollectiveAssessment* before = nullptr;
  for (const CollectiveRow& row : rows) {
    if (!row.worth) continue;
    if (before == nullptr || before->factor != row.worth->factor) {
      text +=
          fmt::format("# from {} B: {}, 95 % within a factor of {:.2f}, {} table{} of its kind\n",
                      row.bytes, row.worth->word(), row.worth->factor, row.worth->tables,
                      row.worth->tables == 1 ? "" : "s");
    }
    before = &*row.worth;
  }
  return text;
}

std::string collective_csv(std::span<const CollectiveRow> rows) {
  const bool measured = has_measured(rows);
  std::vector<std::string> head{"bytes", "time_us", "algbw_GBps", "busbw_GBps", "choice"};
  if (measured) head.insert(head.end(), {"measured_us", "error_pct"});
  std::string text = csv_row(head);
  for (const CollectiveRow& row : rows) {
    std::vector<std::string> cells{std::to_string(row.bytes), fmt::format("{}", row.time_us),
                                   fmt::format("{}", row.algbw_gbps),
                                   fmt::format("{}", row.busbw_gbps), row.choice};
    if (measured) {
      cells.push_back(row.measured_us ? fmt::format("{}", *row.measured_us) : "");
      cells.push_back(row.measured_us ? fmt::format("{}", row.error_pct()) : "");
    }
    text += csv_row(cells);
  }
  return text;
}

std::string links_text(std::int64_t bytes, std::span<const LinkUse> links) {
  TextTable table({{.name = "from"},
                   {.name = "to"},
                   {.name = "kind"},
                   {.name = "bandwidth", .unit = "(GB/s)", .align = TextTable::Align::kRight},
                   {.name = "carried", .unit = "(B)", .align = TextTable::Align::kRight},
                   {.name = "busy", .unit = "(%)", .align = TextTable::Align::kRight}},
                  {.head_mark = "# ", .row_mark = "  ", .has_rule = false});
  for (const LinkUse& link : links) {
    table.add({link.from, link.to, link.kind,
               fmt::format("{:.2f}", link.bandwidth.bytes_per_second / 1e9),
               std::to_string(link.bytes), fmt::format("{:.1f}", link.busy * 100)});
  }
  return fmt::format("# links, for {} B; the busiest first, which limits it\n", bytes) +
         table.text();
}

Json collective_json(std::span<const CollectiveRow> rows) {
  Json list = Json::array();
  for (const CollectiveRow& row : rows) {
    Json object{{"bytes", row.bytes},
                {"time_us", row.time_us},
                {"algbw_GBps", row.algbw_gbps},
                {"busbw_GBps", row.busbw_gbps}};
    if (!row.choice.empty()) object["choice"] = row.choice;
    if (row.worth) {
      object["interval_us"] = {row.time_us / row.worth->factor, row.time_us * row.worth->factor};
      object["domain"] = {{"status", row.worth->word()},
                          {"tables", row.worth->tables},
                          {"beyond", row.worth->beyond}};
    }
    if (row.measured_us) {
      object["measured_us"] = *row.measured_us;
      object["error_pct"] = row.error_pct();
    }
    list.push_back(object);
  }
  return list;
}

}  // namespace steptime
