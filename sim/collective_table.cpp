#include "sim/collective_table.h"

#include "sim/experiment.h"
#include "sim/text_table.h"

#include <bit>
#include <cmath>
#include <string>
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

std::string summary_line(const char* what, const CollectiveErrors& e) {
  return fmt::format("{}: {}, geometric-mean error {:.1f} %, worst {:+.1f} % at {} B\n", what,
                     e.sizes, e.geomean_pct, e.worst_pct, e.worst_bytes);
}

}  // namespace

CollectiveModel::CollectiveModel(const std::shared_ptr<const Document>& document) {
  Experiment experiment;
  read_part(document, Part::kCluster, experiment);
  read_part(document, Part::kCollective, experiment);
  cluster_ = experiment.cluster;
  collective_ = experiment.collective;
}

CollectiveRow CollectiveModel::row(std::int64_t bytes) const {
  CollectiveRow row{.bytes = bytes,
                    .time_us = to_seconds(collective_->time(Bytes{bytes})) * 1e6,
                    .choice = collective_->choice(Bytes{bytes}),
                    .outside_domain = collective_->outside_domain(Bytes{bytes})};
  if (row.time_us > 0) row.algbw_gbps = static_cast<double>(bytes) / row.time_us * 1e-3;
  row.busbw_gbps = row.algbw_gbps * collective_->bus_factor(cluster_->workers());
  return row;
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
  std::string text = fmt::format("#{:>12}{:>14}{:>9}{:>8}{:>12}{:>9}{:>9}", "size", "count", "type",
                                 "redop", "time", "algbw", "busbw");
  if (measured) text += fmt::format("{:>12}{:>8}", "measured", "error");
  if (choice) text += "  choice";
  text += fmt::format("\n#{:>12}{:>14}{:>9}{:>8}{:>12}{:>9}{:>9}", "(B)", "(elements)", "", "",
                      "(us)", "(GB/s)", "(GB/s)");
  if (measured) text += fmt::format("{:>12}{:>8}", "(us)", "(%)");
  text += "\n";
  for (const CollectiveRow& row : rows) {
    text += fmt::format(" {:>12}{:>14}{:>9}{:>8}{:>12}{:>9.2f}{:>9.2f}", row.bytes, row.bytes / 4,
                        "float", "sum", short_time(row.time_us), row.algbw_gbps, row.busbw_gbps);
    if (measured) {
      text += row.measured_us
                  ? fmt::format("{:>12}{:>+8.1f}", short_time(*row.measured_us), row.error_pct())
                  : fmt::format("{:>20}", "");
    }
    if (choice) text += "  " + row.choice;
    text += "\n";
  }
  if (!measured) return text;
  std::string summary = error_summary(rows);
  summary.insert(0, "# ");
  if (const auto second = summary.find('\n'); second + 1 < summary.size())
    summary.insert(second + 1, "# ");
  return text + summary;
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

Json collective_json(std::span<const CollectiveRow> rows) {
  Json list = Json::array();
  for (const CollectiveRow& row : rows) {
    Json object{{"bytes", row.bytes},
                {"time_us", row.time_us},
                {"algbw_GBps", row.algbw_gbps},
                {"busbw_GBps", row.busbw_gbps}};
    if (!row.choice.empty()) object["choice"] = row.choice;
    if (row.measured_us) {
      object["measured_us"] = *row.measured_us;
      object["error_pct"] = row.error_pct();
    }
    list.push_back(object);
  }
  return list;
}

}  // namespace steptime
