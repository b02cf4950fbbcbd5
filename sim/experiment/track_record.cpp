#include "sim/experiment/track_record.h"

#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "sim/config/json_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include <boost/math/statistics/univariate_statistics.hpp>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr double kFloor = 1.03;
constexpr double kQuantile = 0.025;
constexpr double kOwnKind = 1;
constexpr double kOtherNetwork = 1.5;
constexpr double kAnyRow = 2;
constexpr std::int64_t kLeastRows = 3;
constexpr std::int64_t kLeastTestbeds = 2;
constexpr std::int64_t kLeastDeviceRows = 5;
/// The worst that any row of a shipped device is off: AlexNet at batch 1024 on a V100.
constexpr double kUnknownDevicePct = 62;
constexpr double kMostDevicePct = 10;  ///< of the mean absolute error of a device's times
/// So far beyond what was measured, a result is still of its kind.
constexpr double kWorkersBeyond = 2;
constexpr double kShareBeyond = 1.25;

const Params& row_params() {
  static const Params params{
      {.key = "id", .kind = Kind::kText, .help = "of the claim"},
      {.key = "testbed", .kind = Kind::kText},
      {.key = "system", .kind = Kind::kText},
      {.key = "transport", .kind = Kind::kText},
      {.key = "network", .kind = Kind::kText},
      {.key = "workers", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e12}},
      {.key = "share", .kind = Kind::kNumber, .range = {.low = kLeastShare, .high = 2}},
      {.key = "error_pct",
       .kind = Kind::kNumber,
       .range = {.low = -100, .high = 1e9, .low_is_allowed = false}}};
  return params;
}

double rounded(double value) {
  return std::round(value * 10) / 10;
}

struct Weighted {
  double value;
  double weight;
};

/// The smallest value that a share of `p` of the weights does not exceed.
double quantile(std::vector<Weighted> values, double p) {
  std::sort(values.begin(), values.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double all = 0;
  for (const Weighted& v : values)
    all += v.weight;
  double sum = 0;
  for (const Weighted& v : values) {
    sum += v.weight;
    if (sum >= p * all * (1 - 1e-12)) return v.value;
  }
  return values.back().value;
}

/// e of the header.
double signed_error(const RecordRow& row) {
  const double ratio = 1 + row.error_pct / 100;
  return ratio >= 1 ? ratio - 1 : 1 - 1 / ratio;
}

PredictionKind any_network(const PredictionKind& kind) {
  return {kind.system, kind.transport, ""};
}

}  // namespace

struct TrackRecord::Errors {
  std::int64_t rows = 0;
  std::int64_t testbeds = 0;
  std::int64_t most_workers = 0;
  double most_share = 0;
  double typical_pct = 0;
  double worst_pct = 0;
  double low = 0;   ///< q- of the header
  double high = 0;  ///< q+

  explicit Errors(const std::vector<const RecordRow*>& of) {
    std::map<std::string, double> of_testbed;
    for (const RecordRow* row : of)
      ++of_testbed[row->testbed];
    std::vector<Weighted> per_share;
    std::vector<double> absolute;
    for (const RecordRow* row : of) {
      per_share.push_back({signed_error(*row) / row->share, 1 / of_testbed.at(row->testbed)});
      absolute.push_back(std::abs(row->error_pct));
      most_workers = std::max(most_workers, row->workers);
      most_share = std::max(most_share, row->share);
    }
    rows = static_cast<std::int64_t>(of.size());
    testbeds = static_cast<std::int64_t>(of_testbed.size());
    worst_pct = rounded(*std::max_element(absolute.begin(), absolute.end()));
    typical_pct = rounded(boost::math::statistics::median(absolute));
    low = std::min(0., quantile(per_share, kQuantile));
    high = std::max(0., quantile(per_share, 1 - kQuantile));
  }
};

std::string PredictionKind::text() const {
  return fmt::format(FMT_COMPILE("{} over {}, {}"), system, transport, network);
}

std::string network_class(std::int64_t nodes, double bytes_per_second) {
  if (nodes == 1) return "one node";
  // Whatever is a little faster than its class is still of it.
  constexpr double kSlack = 1.05;
  constexpr std::pair<double, const char*> kClasses[] = {{1, "up to 1 Gbit/s"},
                                                         {10, "up to 10 Gbit/s"},
                                                         {40, "up to 40 Gbit/s"},
                                                         {100, "up to 100 Gbit/s"},
                                                         {400, "up to 400 Gbit/s"}};
  for (const auto& [gbps, name] : kClasses) {
    if (bytes_per_second * 8 <= gbps * 1e9 * kSlack) return name;
  }
  return "more than 400 Gbit/s";
}

double Prediction::share() const {
  const double busy = compute_s > 0 ? comm_busy_s / compute_s : 1;
  const double exposed = step_s > 0 ? (step_s - compute_s) / step_s : 0;
  return kLeastShare + std::min(1., std::max({0., busy, exposed}));
}

std::string_view Validity::word() const {
  switch (status) {
    case Status::kValidated:
      return "validated";
    case Status::kExtrapolated:
      return "extrapolated";
    case Status::kUnvalidated:
      return "unvalidated";
  }
  return "";
}

namespace {
std::string text_of(std::string_view word, const std::vector<std::string>& beyond) {
  return beyond.empty() ? std::string(word) : fmt::format("{}: {}", word, fmt::join(beyond, "; "));
}
}  // namespace

std::string Validity::text() const {
  return text_of(word(), beyond);
}

std::string Validity::text(const Json& json) {
  return text_of(json.value("status", ""), json.value("beyond", std::vector<std::string>()));
}

std::string Validity::json() const {
  std::string text;
  append_json(text);
  return text;
}

void Validity::append_json(std::string& text) const {
  text += "{\"status\":\"";
  text += word();
  text += "\",\"n\":";
  append_number(text, n);
  text += ",\"typical_pct\":";
  append_number(text, typical_pct);
  text += ",\"worst_pct\":";
  append_number(text, worst_pct);
  text += ",\"beyond\":[";
  for (std::size_t i = 0; i < beyond.size(); ++i) {
    if (i > 0) text += ',';
    append_text(text, beyond[i]);
  }
  text += "]}";
}

TrackRecord::TrackRecord(std::vector<RecordRow> rows) : rows_(std::move(rows)) {
  std::map<PredictionKind, std::vector<const RecordRow*>> own;
  std::map<PredictionKind, std::vector<const RecordRow*>> wider;
  for (const RecordRow& row : rows_) {
    own[row.kind].push_back(&row);
    wider[any_network(row.kind)].push_back(&row);
    wider[{}].push_back(&row);
  }
  for (const auto& [kind, of] : own)
    by_kind_[kind] = std::make_shared<const Errors>(of);
  for (const auto& [kind, of] : wider)
    wider_[kind] = std::make_shared<const Errors>(of);
}

const TrackRecord& TrackRecord::shipped() {
  struct Kept {
    Kept(const std::string& path, const std::string& text)
        : record(parse_record(text, path)), file(path, sha1_of(text)) {}
    TrackRecord record;
    KeptInput file;
  };
  static const std::string path = (data_dir() / "traces" / "record.jsonl").string();
  static const Kept kept(path, text_at(path));
  kept.file.use();
  return kept.record;
}

Assessment TrackRecord::assess(Prediction p) const {
  const auto enough = [](const auto& map, auto found) -> const Errors* {
    return found == map.end() || found->second->rows < kLeastRows ? nullptr : found->second.get();
  };
  Assessment result;
  Validity& domain = result.domain;
  domain.beyond = std::move(p.beyond);
  double factor = kFloor;
  bool device_is_validated = !p.modelled;
  if (p.modelled) {
    if (p.modelled->rows < kLeastDeviceRows) {
      factor *= 1 + std::max(p.modelled->worst_pct, kUnknownDevicePct) / 100;
      domain.beyond.push_back(
          fmt::format("{} measurements stand behind the device's times, expected at least {}",
                      p.modelled->rows, kLeastDeviceRows));
    } else {
      factor *= 1 + p.modelled->worst_pct / 100;
    }
    device_is_validated =
        p.modelled->rows >= kLeastDeviceRows && p.modelled->typical_pct <= kMostDevicePct;
    if (p.modelled->typical_pct > kMostDevicePct) {
      domain.beyond.push_back(
          fmt::format("the device's times are typically {:.1f} % off, expected "
                      "at most {:.0f} %",
                      p.modelled->typical_pct, kMostDevicePct));
    }
  }
  if (p.workers == 1) {  // nothing is communicated: the compute times are all that counts
    domain.status = !device_is_validated    ? Validity::Status::kUnvalidated
                    : domain.beyond.empty() ? Validity::Status::kValidated
                                            : Validity::Status::kExtrapolated;
    if (p.modelled) {
      domain.n = p.modelled->rows;
      domain.typical_pct = p.modelled->typical_pct;
      domain.worst_pct = p.modelled->worst_pct;
    }
    result.step_s = {p.step_s / factor, p.step_s * factor};
    return result;
  }
  const double share = p.share();
  const auto own = by_kind_.find(*p.kind);
  if (own == by_kind_.end()) {
    domain.status = Validity::Status::kUnvalidated;
    domain.beyond.push_back("no measurement of " + p.kind->text());
  } else {
    const Errors& errors = *own->second;
    domain.n = errors.rows;
    domain.typical_pct = errors.typical_pct;
    domain.worst_pct = errors.worst_pct;
    if (errors.rows < kLeastRows || errors.testbeds < kLeastTestbeds) {
      domain.beyond.push_back(
          fmt::format("{} measurement{} of {}, on {} testbed{}; expected {} on {}", errors.rows,
                      errors.rows == 1 ? "" : "s", p.kind->text(), errors.testbeds,
                      errors.testbeds == 1 ? "" : "s", kLeastRows, kLeastTestbeds));
    }
    if (static_cast<double>(p.workers) >
        kWorkersBeyond * static_cast<double>(errors.most_workers)) {
      domain.beyond.push_back(fmt::format(FMT_COMPILE("{} workers, measured with {} at most"),
                                          p.workers, errors.most_workers));
    }
    if (share > kShareBeyond * errors.most_share) {
      domain.beyond.push_back(fmt::format(
          FMT_COMPILE("communication has a share of {:.2f} in the step, measured {:.2f} at most"),
          share - kLeastShare, errors.most_share - kLeastShare));
    }
    domain.status = !device_is_validated    ? Validity::Status::kUnvalidated
                    : domain.beyond.empty() ? Validity::Status::kValidated
                                            : Validity::Status::kExtrapolated;
  }
  double widening = kOwnKind;
  const Errors* nearest = enough(by_kind_, own);
  if (nearest == nullptr) {
    widening = kOtherNetwork;
    nearest = enough(wider_, wider_.find(any_network(*p.kind)));
  }
  if (nearest == nullptr) {
    widening = kAnyRow;
    nearest = enough(wider_, wider_.find({}));
  }
  const double low = nearest == nullptr ? 0 : nearest->low * widening * share;
  const double high = nearest == nullptr ? 0 : nearest->high * widening * share;
  result.step_s = {std::max(p.step_s / (1 - low), p.compute_s) / factor,
                   p.step_s * (1 + high) * factor};
  const double exposed = std::max(p.step_s - p.compute_s, 0.0);
  result.step_s.low =
      std::max(result.step_s.low - exposed * (1 - 1 / p.fastest_rate), p.compute_s / factor);
  result.step_s.high += p.comm_busy_s * (1 / p.slowest_rate - 1);
  return result;
}

std::vector<RecordRow> TrackRecord::rows_of(const PredictionKind& kind) const {
  std::vector<RecordRow> rows;
  std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(rows),
               [&](const RecordRow& row) { return row.kind == kind; });
  return rows;
}

Assessment TrackRecord::assess_without(const std::string& testbed,
                                       const Prediction& prediction) const {
  std::vector<RecordRow> others;
  std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(others),
               [&](const RecordRow& row) { return row.testbed != testbed; });
  return TrackRecord(std::move(others)).assess(prediction);
}

std::string record_text(std::span<const RecordRow> rows) {
  std::string text;
  for (const RecordRow& row : rows) {
    text += Json{{"id", row.id},
                 {"testbed", row.testbed},
                 {"system", row.kind.system},
                 {"transport", row.kind.transport},
                 {"network", row.kind.network},
                 {"workers", row.workers},
                 {"share", std::round(row.share * 1e4) / 1e4},
                 {"error_pct", std::round(row.error_pct * 1e2) / 1e2}}
                .dump() +
            "\n";
  }
  return text;
}

std::vector<RecordRow> parse_record(const std::string& text, const std::string& file) {
  std::vector<RecordRow> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string place = fmt::format("{}:{}", file, rows.size() + 1);
    const Config row(std::make_shared<Document>(Document{place, parse_json(line, place)}),
                     row_params());
    rows.push_back({.id = row.get<std::string>("id"),
                    .testbed = row.get<std::string>("testbed"),
                    .kind = {row.get<std::string>("system"), row.get<std::string>("transport"),
                             row.get<std::string>("network")},
                    .workers = row.get<std::int64_t>("workers"),
                    .share = row.get<double>("share"),
                    .error_pct = row.get<double>("error_pct")});
  }
  return rows;
}

}  // namespace steptime
