#include "sim/experiment/track_record.h"

#include "sim/config/config.h"
#include "sim/config/data_dir.h"
#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "sim/experiment/attribute_spread.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr double kFloor = 1.03;
constexpr std::int64_t kLeastRows = 5;
constexpr std::size_t kLeastTestbeds = 3;
constexpr std::int64_t kLeastDeviceRows = 5;
/// The worst that any row of a shipped device is off: AlexNet at batch 1024 on a V100.
constexpr double kUnknownDevicePct = 62;
/// Typical errors of a device's times, and of a kind, beyond which nothing is validated.
constexpr double kMostTypicalPct = 10;
// So far beyond what was measured, a result is still of its kind.
constexpr double kTimesBeyond = 2;
constexpr double kShareBeyond = 1.25;
constexpr unsigned kGpu = 1U << static_cast<unsigned>(Attribute::kGpu);
/// Of steps that tell nothing of another one, whatever is given up.
constexpr unsigned kTellsNothing = 1U << kAttributes;

double rounded(double value) {
  return std::round(value * 10) / 10;
}

/// Ends of what the rows of a kind cover.
struct Covered {
  std::int64_t most_workers = 0;
  std::int64_t most_gpus = 0;
  std::int64_t least_samples = 0;
  std::int64_t most_samples = 0;
  double most_latency_us = 0;
  double most_share = 0;

  void add(const RecordRow& row) {
    least_samples = most_workers == 0 ? row.samples : std::min(least_samples, row.samples);
    most_workers = std::max(most_workers, row.workers);
    most_gpus = std::max(most_gpus, row.gpus_per_node);
    most_samples = std::max(most_samples, row.samples);
    most_latency_us = std::max(most_latency_us, row.latency_us);
    most_share = std::max(most_share, row.share);
  }

  std::vector<std::string> left_by(const Prediction& p) const {
    std::vector<std::string> beyond;
    if (static_cast<double>(p.workers) > kTimesBeyond * static_cast<double>(most_workers)) {
      beyond.push_back(fmt::format(FMT_COMPILE("{} workers, measured with {} at most"), p.workers,
                                   most_workers));
    }
    if (p.gpus_per_node > most_gpus) {
      beyond.push_back(fmt::format(FMT_COMPILE("{} GPUs a node, measured with {} at most"),
                                   p.gpus_per_node, most_gpus));
    }
    const auto samples = static_cast<double>(p.samples);
    if (samples > kTimesBeyond * static_cast<double>(most_samples) ||
        samples * kTimesBeyond < static_cast<double>(least_samples)) {
      beyond.push_back(fmt::format(FMT_COMPILE("{} samples a worker, measured with {} to {}"),
                                   p.samples, least_samples, most_samples));
    }
    if (p.latency_s * 1e6 > kTimesBeyond * most_latency_us) {
      beyond.push_back(
          fmt::format(FMT_COMPILE("a latency of {:.3g} us, measured with {:.3g} at most"),
                      p.latency_s * 1e6, most_latency_us));
    }
    if (p.share() > kShareBeyond * most_share) {
      beyond.push_back(fmt::format(
          FMT_COMPILE("communication has a share of {:.2f} in the step, measured {:.2f} at most"),
          p.share() - kLeastShare, most_share - kLeastShare));
    }
    return beyond;
  }
};

/// The logarithm of how far a device's modelled times may be off, where nothing like them is in the
/// record.
double device_width(const ModelErrors& modelled) {
  const double pct = modelled.rows < kLeastDeviceRows
                         ? std::max(modelled.worst_pct, kUnknownDevicePct)
                         : modelled.worst_pct;
  return std::log1p(pct / 100);
}

/// "framework, fabric": what `bits` names.
std::string named(unsigned bits) {
  std::vector<std::string> words;
  for (std::size_t a = 0; a < kAttributes; ++a) {
    if ((bits >> a & 1U) != 0) words.emplace_back(attribute_names()[a]);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

/// Everything that does not depend on the prediction.
struct TrackRecord::State {
  std::uint64_t number = next_number();  ///< another one in each record of the process
  std::vector<RecordRow> rows;
  std::vector<std::string> testbeds;
  /// Rows of one kind and testbed.
  struct Cell {
    KindOfStep kind;
    std::size_t testbed = 0;
    std::vector<std::size_t> rows{};
    double squares = 0;  ///< sum of those of the logarithmic errors
  };
  std::vector<Cell> cells;
  std::array<AttributeSpread, kAttributes> spreads;

  explicit State(std::vector<RecordRow> all) : rows(std::move(all)) {
    std::map<std::string, std::size_t> known;
    std::map<std::pair<std::string, KindOfStep>, std::size_t> places;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto [testbed, is_new] = known.try_emplace(rows[i].testbed, known.size());
      if (is_new) testbeds.push_back(rows[i].testbed);
      const auto [place, is_first] =
          places.try_emplace({rows[i].testbed, rows[i].kind}, cells.size());
      if (is_first) cells.push_back({.kind = rows[i].kind, .testbed = testbed->second});
      Cell& cell = cells[place->second];
      cell.rows.push_back(i);
      cell.squares += rows[i].log_error() * rows[i].log_error();
    }
    spreads = attribute_spreads(rows);
  }

  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  /// What stands behind a w.
  struct Width {
    double squared = 0;
    unsigned missing = 0;  ///< attributes that none of the steps behind it shares
  };

  /// Cells of one testbed that differ from a kind in the same attributes.
  struct Likes {
    unsigned differing = 0;
    std::size_t testbed = 0;
    double squares = 0;
    double rows = 0;
  };
  std::vector<Likes> likes(std::span<const unsigned> differing) const {
    std::map<std::pair<unsigned, std::size_t>, Likes> found;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      Likes& all = found[{differing[c], cells[c].testbed}];
      all.differing = differing[c];
      all.testbed = cells[c].testbed;
      all.squares += cells[c].squares;
      all.rows += static_cast<double>(cells[c].rows.size());
    }
    std::vector<Likes> sorted;
    sorted.reserve(found.size());
    for (const auto& [key, all] : found)
      sorted.push_back(all);
    return sorted;
  }

  /// By what shares all that is not given up; nothing when that is of too few testbeds.
  std::optional<Width> width(const Prediction& p, std::span<const Likes> all, unsigned given_up,
                             std::size_t least_testbeds, std::vector<Likes>& by_testbed) const {
    by_testbed.assign(testbeds.size(), {});
    unsigned missing = ~0U;
    for (const Likes& each : all) {
      if ((each.differing & ~given_up) != 0) continue;
      by_testbed[each.testbed].squares += each.squares;
      by_testbed[each.testbed].rows += each.rows;
      missing &= each.differing;
    }
    double sum = 0;
    double squared = 0;
    std::size_t n = 0;
    for (const Likes& testbed : by_testbed) {
      if (testbed.rows == 0) continue;
      const double mean = testbed.squares / testbed.rows;
      sum += mean;
      squared += mean * mean;
      ++n;
    }
    if (n < least_testbeds) return std::nullopt;
    const double worth = squared > 0 ? sum * sum / squared : static_cast<double>(n);
    const double t = students_t_of(worth);
    Width found{t * t * sum / static_cast<double>(n), missing};
    for (std::size_t a = 0; a < kAttributes; ++a) {
      if ((missing >> a & 1U) == 0) continue;
      double d = spreads[a].d;
      if (p.modelled && 1U << a == kGpu) d = std::max(d, device_width(*p.modelled));
      found.squared += d * d;
    }
    return found;
  }

  Width narrowest(const Prediction& p, std::span<const unsigned> differing) const {
    const std::vector<Likes> all = likes(differing);
    std::vector<Likes> by_testbed;
    std::optional<Width> best;
    for (const std::size_t least : {kLeastTestbeds, std::size_t{1}}) {
      for (unsigned given_up = 0; given_up < 1U << kAttributes; ++given_up) {
        const auto found = width(p, all, given_up, least, by_testbed);
        if (found && (!best || found->squared < best->squared)) best = found;
      }
      if (best) return *best;
    }
    const double unknown = std::log1p(kUnknownDevicePct / 100);
    return {unknown * unknown, (1U << kAttributes) - 1};
  }

  /// Between whole numbers on a line, which is a little too much. `worth`: at least 1.
  static double students_t_of(double worth) {
    static const std::array<double, 65> known = [] {
      std::array<double, 65> t{};
      for (std::size_t n = 1; n < t.size(); ++n)
        t[n] = boost::math::quantile(boost::math::students_t(static_cast<double>(n)), 0.975);
      return t;
    }();
    const double most = static_cast<double>(known.size()) - 1;
    const double bounded = std::clamp(worth, 1.0, most);
    const auto below = static_cast<std::size_t>(bounded);
    const std::size_t above = std::min(below + 1, known.size() - 1);
    return std::lerp(known[below], known[above], bounded - static_cast<double>(below));
  }
};

TrackRecord::TrackRecord(std::vector<RecordRow> rows)
    : state_(std::make_unique<const State>(std::move(rows))) {}
TrackRecord::~TrackRecord() = default;
TrackRecord::TrackRecord(TrackRecord&&) noexcept = default;

double RecordRow::log_error() const {
  return std::log1p(unexplained_pct / 100);
}

double Prediction::share() const {
  const double busy = compute_s > 0 ? comm_busy_s / compute_s : 1;
  const double exposed = step_s > 0 ? (step_s - compute_s) / step_s : 0;
  return kLeastShare + std::min(1., std::max({0., busy, exposed}));
}

std::pair<double, double> Prediction::range_s() const {
  const double exposed = std::max(step_s - compute_s, 0.0);
  return {step_s - exposed * (1 - 1 / fastest_rate), step_s + comm_busy_s * (1 / slowest_rate - 1)};
}

namespace {

/// A file of a shipped record.
struct KeptRecord {
  explicit KeptRecord(const std::string& path) : KeptRecord(path, text_at(path)) {}
  KeptRecord(const std::string& path, const std::string& text)
      : record(parse_record(text, path)), file(path, sha1_of(text)) {}
  const TrackRecord& use() const {
    file.use();
    return record;
  }
  TrackRecord record;
  KeptInput file;
};

std::string path_of(const char* record) {
  return (data_dir() / "traces" / record).string();
}

}  // namespace

const TrackRecord& TrackRecord::of(const KindOfStep& kind) {
  if (kind.is_layout()) {
    static const KeptRecord layouts(path_of("layouts.jsonl"));
    return layouts.use();
  }
  static const KeptRecord others(path_of("record.jsonl"));
  return others.use();
}

namespace {

/// Why the times of a device's model are not validated by its own rows.
std::vector<std::string> doubts_of(const ModelErrors& modelled) {
  std::vector<std::string> doubts;
  if (modelled.rows < kLeastDeviceRows) {
    doubts.push_back(
        fmt::format("{} measurements stand behind the device's times, expected at least {}",
                    modelled.rows, kLeastDeviceRows));
  }
  if (modelled.typical_pct > kMostTypicalPct) {
    doubts.push_back(
        fmt::format("the device's times are typically {:.1f} % off, expected at most {:.0f} %",
                    modelled.typical_pct, kMostTypicalPct));
  }
  return doubts;
}

/// Of a worker that talks to nobody: the compute times are all that counts.
Assessment alone(Prediction p) {
  Assessment result;
  Validity& domain = result.domain;
  domain.beyond = std::move(p.beyond);
  double factor = kFloor;
  bool is_doubted = false;
  if (p.modelled) {
    factor *= std::exp(device_width(*p.modelled));
    for (std::string& doubt : doubts_of(*p.modelled)) {
      domain.beyond.push_back(std::move(doubt));
      is_doubted = true;
    }
    domain.n = p.modelled->rows;
    domain.typical_pct = p.modelled->typical_pct;
    domain.worst_pct = p.modelled->worst_pct;
  }
  domain.status = is_doubted              ? Validity::Status::kUnvalidated
                  : domain.beyond.empty() ? Validity::Status::kValidated
                                          : Validity::Status::kExtrapolated;
  result.step_s = {p.step_s / factor, p.step_s * factor};
  return result;
}

}  // namespace

/// What the record says of all predictions of a kind.
struct TrackRecord::Behind {
  std::uint64_t record = 0;  ///< its State's number
  KindOfStep kind{};
  std::optional<double> device{};  ///< device_width() of a modelled one
  std::int64_t n = 0;
  double typical_pct = 0;
  std::optional<double> worst_pct{};
  Covered covered{};
  double width_squared = 0;
  /// Why it is not validated, whatever the prediction's own size.
  std::vector<std::string> beyond{};

  bool is_of(const State& of, const Prediction& p, const std::optional<double>& its_device) const {
    return record == of.number && device == its_device && kind == p.kind;
  }
};

TrackRecord::Behind TrackRecord::behind(const Prediction& p) const {
  const State& s = *state_;
  std::vector<unsigned> differing;
  differing.reserve(s.cells.size());
  static const KindWord measured("measured");
  const bool is_reckoned = p.kind[Attribute::kCompute] != measured;
  for (const State::Cell& cell : s.cells) {
    const bool tells = !is_reckoned || cell.kind[Attribute::kCompute] != measured;
    differing.push_back(p.kind.differs_from(cell.kind) | (tells ? 0 : kTellsNothing));
  }

  Behind found{.record = s.number, .kind = p.kind};
  if (p.modelled) found.device = device_width(*p.modelled);
  std::set<std::size_t> testbeds;
  std::vector<double> errors_pct;
  for (std::size_t c = 0; c < s.cells.size(); ++c) {
    if (differing[c] != 0) continue;
    testbeds.insert(s.cells[c].testbed);
    for (const std::size_t row : s.cells[c].rows) {
      found.covered.add(s.rows[row]);
      errors_pct.push_back(std::abs(s.rows[row].error_pct));
    }
  }
  found.n = std::ssize(errors_pct);
  if (found.n > 0) {
    if (testbeds.size() >= kLeastTestbeds)
      found.worst_pct = rounded(*std::max_element(errors_pct.begin(), errors_pct.end()));
    found.typical_pct = rounded(boost::math::statistics::median(errors_pct));
  }
  const State::Width width = s.narrowest(p, differing);
  found.width_squared = width.squared;
  if (p.kind.is_layout()) {
    double worst = 0;
    for (const RecordRow& row : s.rows)
      worst = std::max(worst, std::abs(row.error_pct));
    found.beyond.push_back(fmt::format("published steps of layouts are up to {:.0f} % off", worst));
  }
  if (found.n < kLeastRows) {
    found.beyond.push_back(fmt::format("{} measured step{} of its kind ({}), expected {}",
                                       found.n == 0 ? "no" : std::to_string(found.n),
                                       found.n == 1 ? "" : "s", p.kind.text(), kLeastRows));
    if (width.missing != 0)
      found.beyond.push_back("none of the nearest shares its " + named(width.missing));
  }
  return found;
}

Assessment TrackRecord::assess(Prediction p) const {
  if (p.workers == 1 && !p.has_servers && !p.kind.is_layout()) return alone(std::move(p));
  // The points of a sweep are of a few kinds, one for each schedule, say.
  constexpr std::size_t kMostKnown = 32;
  thread_local std::vector<Behind> known;
  const std::optional<double> device =
      p.modelled ? std::optional(device_width(*p.modelled)) : std::nullopt;
  auto found = std::find_if(known.begin(), known.end(),
                            [&](const Behind& b) { return b.is_of(*state_, p, device); });
  if (found == known.end()) {
    if (known.size() == kMostKnown) known.clear();
    known.push_back(behind(p));
    found = std::prev(known.end());
  }
  const Behind& last = *found;

  Assessment result;
  Validity& domain = result.domain;
  domain.beyond = std::move(p.beyond);
  domain.n = last.n;
  domain.typical_pct = last.typical_pct;
  domain.worst_pct = last.worst_pct;
  if (domain.n > 0) {
    if (domain.typical_pct > kMostTypicalPct) {
      domain.beyond.push_back(
          fmt::format("steps of its kind are typically {:.1f} % off, expected at most {:.0f} %",
                      domain.typical_pct, kMostTypicalPct));
    }
    for (std::string& reason : last.covered.left_by(p))
      domain.beyond.push_back(std::move(reason));
  }
  if (p.modelled) {
    for (std::string& doubt : doubts_of(*p.modelled))
      domain.beyond.push_back(std::move(doubt));
  }
  domain.beyond.insert(domain.beyond.end(), last.beyond.begin(), last.beyond.end());
  domain.status = domain.n == 0           ? Validity::Status::kUnvalidated
                  : domain.beyond.empty() ? Validity::Status::kValidated
                                          : Validity::Status::kExtrapolated;
  const double factor = std::exp(std::sqrt(last.width_squared));
  // Of a layout rates reckon the compute time, too.
  const double floor = p.modelled || p.kind.is_layout() ? 0 : p.compute_s / kFloor;
  const auto [fast, slow] = p.range_s();
  result.step_s = {std::min(std::max(fast / factor, floor), p.step_s), slow * factor};
  return result;
}

std::vector<RecordRow> TrackRecord::rows_of(const KindOfStep& kind) const {
  std::vector<RecordRow> rows;
  std::copy_if(state_->rows.begin(), state_->rows.end(), std::back_inserter(rows),
               [&](const RecordRow& row) { return kind.differs_from(row.kind) == 0; });
  return rows;
}

TrackRecord TrackRecord::without(const std::string& testbed) const {
  std::vector<RecordRow> others;
  std::copy_if(state_->rows.begin(), state_->rows.end(), std::back_inserter(others),
               [&](const RecordRow& row) { return row.testbed != testbed; });
  return TrackRecord(std::move(others));
}

const std::array<AttributeSpread, kAttributes>& TrackRecord::spreads() const {
  return state_->spreads;
}

}  // namespace steptime
