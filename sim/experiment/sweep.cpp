#include "sim/experiment/sweep.h"

#include "sim/core/error.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

namespace steptime {
namespace {

constexpr std::int64_t kMostPoints = 1'000'000'000;
constexpr std::size_t kMostValues = 1'000'000;  // of one key

[[noreturn]] void fail(const Document& document, const std::string& pointer,
                       const std::string& message) {
  throw InputError(
      fmt::format("{}: {}: {}", document.file, join_pointer("/sweep", pointer), message));
}

/// A whole number as an integer where it fits: keys such as /cluster/nodes take no other.
Json number(double value) {
  constexpr double kInt64 = 0x1p63;
  const bool whole = std::abs(value) < kInt64 && value == std::floor(value);
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

/// {"from": 1, "to": 1024, "times": 2} or with "plus".
std::vector<Json> progression(const Document& document, const std::string& pointer,
                              const Json& range) {
  static const Params params{
      {.key = "from", .kind = Kind::kNumber},
      {.key = "to", .kind = Kind::kNumber},
      {.key = "times",
       .kind = Kind::kNumber,
       .need = Need::kOptional,
       .range = {.low = 1, .low_is_allowed = false}},
      {.key = "plus", .kind = Kind::kNumber, .need = Need::kOptional, .range = kPositive}};
  static const Params wrapper{{.key = "sweep", .kind = Kind::kObject}};
  const Params level{{.key = pointer, .kind = Kind::kObject}};
  const auto copy =
      std::make_shared<Document>(Document{document.file, Json{{"sweep", Json{{pointer, range}}}}});
  const Config config = Config(copy, wrapper).object("sweep", level).object(pointer, params);
  const auto from = config.get<double>("from");
  const auto to = config.get<double>("to");
  if (config.has("times") == config.has("plus")) {
    fail(document, pointer, "expected either \"times\" or \"plus\"");
  }
  if (from > to) fail(document, pointer, fmt::format("\"from\" {} is above \"to\" {}", from, to));
  if (config.has("times") && from <= 0) fail(document, pointer, "\"from\" must be positive");
  const bool grows = config.has("times");
  const double step = config.get<double>(grows ? "times" : "plus");
  // A last value that rounding pushes past "to" is still meant: 0.1 + 2 * 0.1 > 0.3.
  const double limit = to + 1e-9 * std::abs(to);
  std::vector<Json> values;
  double value = from;
  for (std::size_t k = 1; value <= limit; ++k) {
    if (values.size() >= kMostValues) fail(document, pointer, "more than a million values");
    values.push_back(number(std::min(value, to)));
    const auto exponent = static_cast<double>(k);
    const double next = grows ? from * std::pow(step, exponent) : from + step * exponent;
    if (next <= value) fail(document, pointer, "the step is too small to advance");
    value = next;
  }
  return values;
}

std::vector<Json> values_of(const Document& document, const std::string& pointer,
                            const Json& values) {
  if (values.is_object()) return progression(document, pointer, values);
  if (!values.is_array()) {
    fail(document, pointer,
         fmt::format("expected a list, {{\"from\", \"to\", \"times\" or \"plus\"}} or {{\"zip\"}}, "
                     "got {}",
                     brief(values)));
  }
  if (values.empty()) fail(document, pointer, "expected at least one value, got an empty list");
  return {values.begin(), values.end()};
}

/// One is the other, or lies in the other's subtree.
bool overlap(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.substr(0, a.size()) == a && (b.size() == a.size() || b[a.size()] == '/');
}

void check_pointer(const Document& document, const std::string& pointer) {
  const bool known = std::any_of(std::begin(kParts), std::end(kParts), [&](Part part) {
    const auto all = sections(part);
    return std::any_of(all.begin(), all.end(),
                       [&](std::string_view s) { return overlap(pointer, s); });
  });
  if (pointer.empty() || !known) {
    fail(document, pointer, "expected a JSON pointer into /workload, /cluster, /strategy or /run");
  }
  Json scratch = document.root;
  if (place_in_experiment(scratch, pointer) == nullptr) {
    fail(document, pointer, "does not name a place in the config");
  }
}

}  // namespace

Sweep::Sweep(std::shared_ptr<const Document> document) : document_(std::move(document)) {
  const Config config(document_, experiment_params());
  if (!config.has("sweep")) return;
  const Json& sweep = config.raw("sweep");
  if (!sweep.is_object()) {
    config.fail("sweep", fmt::format("expected an object, got {}", brief(sweep)));
  }
  std::optional<std::size_t> zip;
  for (const auto& [pointer, value] : sweep.items()) {
    for (const std::string& other : pointers()) {
      if (overlap(pointer, other)) {
        fail(*document_, pointer, fmt::format("overlaps \"{}\"", other));
      }
    }
    const bool zipped = value.is_object() && value.contains("zip");
    if (zipped && value.size() > 1) fail(*document_, pointer, "\"zip\" stands alone");
    const std::vector<Json> values =
        values_of(*document_, pointer, zipped ? value.at("zip") : value);
    if (zipped && zip) {
      Axis& axis = axes_[*zip];
      if (axis.values.size() != values.size()) {
        fail(*document_, pointer,
             fmt::format("{} values, but \"{}\" has {}", values.size(), axis.pointers.front(),
                         axis.values.size()));
      }
      for (std::size_t i = 0; i < values.size(); ++i)
        axis.values[i].push_back(values[i]);
      axis.pointers.push_back(pointer);
      check_pointer(*document_, pointer);
      continue;
    }
    if (zipped) zip = axes_.size();
    Axis axis{.pointers = {pointer}};
    for (const Json& each : values)
      axis.values.push_back({each});
    check_pointer(*document_, pointer);
    if (static_cast<std::int64_t>(values.size()) > kMostPoints / points_) {
      config.fail("sweep", fmt::format("more than {} points", kMostPoints));
    }
    points_ *= static_cast<std::int64_t>(values.size());
    axes_.push_back(std::move(axis));
  }
  for (Axis& axis : axes_) {
    for (const auto& values : axis.values) {
      std::string text;
      for (std::size_t k = 0; k < values.size(); ++k) {
        text += fmt::format("{}{}:{}", k == 0 ? "" : ",", Json(axis.pointers[k]).dump(),
                            values[k].dump());
      }
      axis.texts.push_back(std::move(text));
    }
  }
}

void Sweep::append_params(std::string& text, std::int64_t point) const {
  const auto at = places(point);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (a > 0) text += ',';
    text += axes_[a].texts[at[a]];
  }
}

std::vector<std::string> Sweep::pointers() const {
  std::vector<std::string> all;
  for (const Axis& axis : axes_)
    all.insert(all.end(), axis.pointers.begin(), axis.pointers.end());
  return all;
}

std::vector<std::size_t> Sweep::places(std::int64_t point) const {
  std::vector<std::size_t> places(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const auto size = static_cast<std::int64_t>(axes_[a].values.size());
    places[a] = static_cast<std::size_t>(point % size);
    point /= size;
  }
  return places;
}

std::vector<Json> Sweep::params(std::int64_t point) const {
  std::vector<Json> all;
  const auto at = places(point);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const auto& values = axes_[a].values[at[a]];
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// For every part, the axes that it depends on and the experiments built for their places so far.
struct PointRunner::State {
  struct Cache {
    std::vector<std::size_t> axes;
    std::map<std::vector<std::size_t>, Experiment> built;  // only the one part of each is used
  };
  static constexpr std::size_t kMostBuilt = 1024;  // per part: bounds the memory of a huge sweep

  explicit State(const Sweep& s) : sweep(s), document(std::make_shared<Document>(s.document())) {
    document->root.erase("sweep");
    // A place that is created moves its neighbours, so all are created before any is kept.
    for (const std::string& pointer : sweep.pointers()) {
      place_in_experiment(document->root, pointer);
    }
    for (std::size_t a = 0; a < sweep.axes_.size(); ++a) {
      for (const std::string& pointer : sweep.axes_[a].pointers) {
        slots.push_back(place_in_experiment(document->root, pointer));
        for (const Part part : kParts) {
          const auto all = sections(part);
          auto& axes = caches[static_cast<std::size_t>(part)].axes;
          if (std::any_of(all.begin(), all.end(),
                          [&](std::string_view x) { return overlap(pointer, x); }) &&
              (axes.empty() || axes.back() != a)) {
            axes.push_back(a);
          }
        }
      }
    }
    const Config config(document, experiment_params());
    experiment.name = read_name(config);
    experiment.file = document->file;
  }

  const Sweep& sweep;
  std::shared_ptr<Document> document;
  std::vector<Json*> slots;  ///< where each swept pointer's value stands
  Cache caches[std::size(kParts)];
  Experiment experiment;
};

PointRunner::PointRunner(const Sweep& sweep) : state_(std::make_unique<State>(sweep)) {}
PointRunner::~PointRunner() = default;
const Experiment& PointRunner::experiment() const {
  return state_->experiment;
}
const Json& PointRunner::config() const {
  return state_->document->root;
}

namespace {

void take_part(Part part, const Experiment& from, Experiment& to) {
  switch (part) {
    case Part::kWorkload:
      to.workload = from.workload;
      return;
    case Part::kCluster:
      to.cluster = from.cluster;
      return;
    case Part::kCollective:
      to.aggregation = from.aggregation;
      to.update = from.update;
      to.collective = from.collective;
      return;
    case Part::kSchedule:
      to.schedule = from.schedule;
      to.embedding = from.embedding;
      return;
    case Part::kRun:
      to.run = from.run;
      return;
  }
}

}  // namespace

const Experiment& PointRunner::read(std::int64_t point) {
  const auto places = state_->sweep.places(point);
  std::size_t slot = 0;
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (const Json& value : state_->sweep.axes_[a].values[places[a]])
      *state_->slots[slot++] = value;
  }
  std::vector<std::size_t> key;
  for (const Part part : kParts) {
    State::Cache& cache = state_->caches[static_cast<std::size_t>(part)];
    key.clear();
    for (const std::size_t axis : cache.axes)
      key.push_back(places[axis]);
    auto found = cache.built.find(key);
    if (found == cache.built.end()) {
      read_part(state_->document, part, state_->experiment);
      if (cache.built.size() >= State::kMostBuilt) cache.built.clear();
      found = cache.built.emplace(key, Experiment{}).first;
      take_part(part, state_->experiment, found->second);
    } else {
      take_part(part, found->second, state_->experiment);
    }
  }
  check_combination(state_->document, state_->experiment);
  return state_->experiment;
}

Result PointRunner::run(std::int64_t point, std::vector<SentBucket>* buckets,
                        const OnProgress& on_progress) {
  return simulate(read(point), buckets, on_progress);
}

namespace {

struct Chunk {
  std::int64_t first = 0;
  std::vector<SweepRow> rows;
  std::vector<std::string> lines;
};

/// `buckets`: null for a row without them and without the config.
void append_line(std::string& line, const Sweep& sweep, const PointRunner& runner,
                 const SweepRow& row, const std::vector<SentBucket>* buckets) {
  fmt::format_to(std::back_inserter(line), "{{\"point\":{},\"params\":{{", row.point);
  sweep.append_params(line, row.point);
  line += "},";
  if (!row.result) {
    line += "\"error\":" + Json(row.error).dump() + "}\n";
    return;
  }
  append_json(line, *row.result);
  if (buckets != nullptr) {
    const Json extra = full_json(*row.result, *buckets, runner.config());
    line +=
        ",\"buckets\":" + extra.at("buckets").dump() + ",\"config\":" + extra.at("config").dump();
  }
  line += "}\n";
}

}  // namespace

std::int64_t run_sweep(const Sweep& sweep, const SweepOptions& options) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(options.threads));
  // Small enough to share the work and to report often, large enough to keep the parts warm.
  const std::int64_t size =
      std::clamp<std::int64_t>(sweep.points() / (std::int64_t{8} * options.threads), 1, 1024);
  tbb::enumerable_thread_specific<PointRunner> runners([&] { return PointRunner(sweep); });
  std::int64_t next = 0;
  std::int64_t done = 0;
  std::int64_t failed = 0;
  bool cut_short = false;  // rows behind a hole are dropped, so that what is kept is a prefix
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  std::mutex telling;                 // rows and progress
  std::atomic<double> under_way = 0;  // points, those that wait for their turn included
  const auto advance = [&](double& share, double to) {
    under_way += to - share;
    share = to;
  };

  const auto cut = [&](tbb::flow_control& control) -> std::int64_t {
    if (next >= sweep.points() || stopped()) {
      control.stop();
      return 0;
    }
    return std::exchange(next, next + size);
  };
  const auto run = [&](std::int64_t first) {
    auto chunk = std::make_shared<Chunk>(Chunk{.first = first});
    PointRunner& runner = runners.local();
    const std::int64_t end = std::min(first + size, sweep.points());
    for (std::int64_t point = first; point < end && !stopped(); ++point) {
      SweepRow row{.point = point};
      std::vector<SentBucket> sent;
      std::vector<SentBucket>* const buckets = options.full ? &sent : nullptr;
      double share = 0;
      const auto on_progress = [&](double now) {
        if (stopped()) throw Interrupted();
        advance(share, now);
        const std::unique_lock lock(telling, std::try_to_lock);
        if (lock && options.on_progress)
          options.on_progress(done, static_cast<double>(done) + under_way);
      };
      try {
        row.result = runner.run(point, buckets, on_progress);
      } catch (const Interrupted&) {
        break;
      } catch (const InputError& e) {
        row.error = one_line(e.what());
      } catch (const ModelFailure& e) {
        row.error = e.what();  // which may have several lines
      }
      chunk->lines.emplace_back();
      append_line(chunk->lines.back(), sweep, runner, row, buckets);
      chunk->rows.push_back(std::move(row));
      advance(share, 1);
    }
    return chunk;
  };
  const auto emit = [&](const std::shared_ptr<Chunk>& chunk) {
    if (cut_short) return;
    const std::lock_guard lock(telling);
    const auto expected = std::min(size, sweep.points() - chunk->first);
    cut_short = static_cast<std::int64_t>(chunk->rows.size()) < expected;
    for (std::size_t i = 0; i < chunk->rows.size(); ++i) {
      if (!chunk->rows[i].result) ++failed;
      if (options.on_row) options.on_row(chunk->rows[i], chunk->lines[i]);
    }
    const auto rows = static_cast<std::int64_t>(chunk->rows.size());
    done += rows;
    under_way -= static_cast<double>(rows);
    if (options.on_progress) options.on_progress(done, static_cast<double>(done) + under_way);
  };
  tbb::parallel_pipeline(
      static_cast<std::size_t>(options.threads) * 4,
      tbb::make_filter<void, std::int64_t>(tbb::filter_mode::serial_in_order, cut) &
          tbb::make_filter<std::int64_t, std::shared_ptr<Chunk>>(tbb::filter_mode::parallel, run) &
          tbb::make_filter<std::shared_ptr<Chunk>, void>(tbb::filter_mode::serial_in_order, emit));
  return failed;
}

}  // namespace steptime
