// What a training run depends on: parts of keys on servers.
#include "sim/training/plan.h"

#include "sim/core/error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {

namespace {

/// A part of a unit's elements that no key boundary cuts.
struct Run {
  std::int64_t begin;  ///< element, counted over all tensors in forward order
  std::int64_t elements;
};

/// Where the elements of every unit lie: a unit is a tensor, or a layer's tensors; units come last
/// layer first.
std::vector<Run> runs_of_units(const Workload& workload, std::span<const GradientUnit> units,
                               Granularity granularity) {
  std::vector<std::vector<Run>> left(workload.trace.layers.size());
  std::int64_t begin = 0;
  for (std::size_t l = 0; l < left.size(); ++l) {
    for (const Tensor& tensor : workload.trace.layers[l].tensors) {
      const bool joins = granularity == Granularity::kLayer && !left[l].empty();
      if (joins) {
        left[l].back().elements += tensor.params;
      } else {
        left[l].push_back({begin, tensor.params});
      }
      begin += tensor.params;
    }
  }
  std::vector<Run> runs;
  for (const GradientUnit& unit : units) {
    auto& of_layer = left[static_cast<std::size_t>(unit.layer)];
    runs.push_back(of_layer.back());
    of_layer.pop_back();
  }
  return runs;
}

/// Where the elements of a bucket lie.
std::vector<Run> runs_of(const Bucket& bucket, std::span<const Run> of_units,
                         std::int64_t bytes_per_element) {
  const auto own = bucket.of(of_units);
  if (bucket.units > 1) return {own.begin(), own.end()};
  const std::int64_t first = bucket.offset.count / bytes_per_element;
  const std::int64_t last = (bucket.offset + bucket.bytes).count / bytes_per_element;
  return {{own.front().begin + first, last - first}};
}

/// Elements on one server.
struct Part {
  std::int32_t server = 0;
  std::vector<Run> runs;
};

/// Turns elements into bytes and into the learnt parameters that they stand for.
class Measure {
 public:
  Measure(const Workload& workload, std::size_t parameters)
      : bytes_per_element_(workload.bytes_per_param),
        total_(std::max<std::int64_t>(workload.trace.params(), 1)),
        parameters_(parameters) {}

  std::vector<Piece> pieces(std::span<const Part> parts) const {
    std::vector<Piece> pieces;
    for (const Part& part : parts) {
      pieces.push_back({.server = part.server});
      for (const Run& run : part.runs)
        add(pieces.back(), run);
    }
    return pieces;
  }
  void add(Piece& piece, Run run) const {
    piece.bytes += Bytes{run.elements * bytes_per_element_};
    const ParameterRange range{learnt(run.begin), learnt(run.begin + run.elements)};
    if (range.end > range.begin) piece.ranges.push_back(range);
  }

 private:
  std::size_t learnt(std::int64_t element) const {  // 128 bits: the product may exceed 64
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>(static_cast<Wide>(element) * parameters_ /
                                    static_cast<Wide>(total_));
  }
  std::int64_t bytes_per_element_;
  std::int64_t total_;
  std::size_t parameters_;
};

struct Placed {
  std::int32_t server;
  Run run;
};

/// The shift of a batch normalisation, as TensorFlow and MXNet name it.
bool is_beta(const Tensor& tensor) {
  return tensor.name.ends_with("beta");
}

/// The shards of all tensors, in the order of their elements.
std::vector<Placed> placed_shards(const Workload& workload, const ServerGroup& servers) {
  std::vector<std::int64_t> elements;
  std::vector<bool> has_gradient;
  for (const Layer& layer : workload.trace.layers) {
    for (const Tensor& tensor : layer.tensors)
      elements.push_back(tensor.params);
    has_gradient.resize(elements.size(), true);
    if (!servers.sharding->places_moving_averages()) continue;
    const auto beta = std::find_if(layer.tensors.begin(), layer.tensors.end(), is_beta);
    if (beta == layer.tensors.end()) continue;
    elements.insert(elements.end(), 2, beta->params);
    has_gradient.resize(elements.size(), false);
  }
  std::vector<Placed> shards;
  std::int64_t begin = 0;
  for (const Shard& shard : servers.sharding->shards(elements, servers.count)) {
    if (!has_gradient[static_cast<std::size_t>(shard.key)]) continue;
    shards.push_back({shard.server, {begin, shard.elements}});
    begin += shard.elements;
  }
  return shards;
}

/// What each server has of `runs`.
std::vector<Part> parts_of(std::span<const Run> runs, std::span<const Placed> shards) {
  std::map<std::int32_t, std::vector<Run>> of_server;
  for (const Run& run : runs) {
    const std::int64_t end = run.begin + run.elements;
    auto shard = std::partition_point(shards.begin(), shards.end(), [&](const Placed& each) {
      return each.run.begin + each.run.elements <= run.begin;
    });
    for (; shard != shards.end() && shard->run.begin < end; ++shard) {
      const std::int64_t first = std::max(run.begin, shard->run.begin);
      const std::int64_t last = std::min(end, shard->run.begin + shard->run.elements);
      of_server[shard->server].push_back({first, last - first});
    }
  }
  std::vector<Part> parts;
  parts.reserve(of_server.size());
  for (auto& [server, own] : of_server)
    parts.push_back({server, std::move(own)});
  return parts;
}

/// The shards of tensors, those of a bucket on one server together.
std::vector<std::vector<Piece>> by_server(const Workload& workload, std::span<const Run> runs,
                                          std::span<const Bucket> buckets,
                                          const ServerGroup& servers, const Measure& measure) {
  const auto shards = placed_shards(workload, servers);
  std::vector<std::vector<Piece>> pieces;
  for (const Bucket& bucket : buckets)
    pieces.push_back(
        measure.pieces(parts_of(runs_of(bucket, runs, workload.bytes_per_param), shards)));
  return pieces;
}

/// The shards of whole buckets of `elements`, whose keys may count what was declared before.
std::vector<Shard> bucket_shards(const Workload& workload, const std::vector<Bucket>& buckets,
                                 const ServerGroup& servers,
                                 std::span<const std::int64_t> elements) {
  const bool is_merged = std::any_of(buckets.begin(), buckets.end(),
                                     [](const Bucket& bucket) { return bucket.units > 1; });
  if (!is_merged) return servers.sharding->shards(elements, servers.count);
  std::int64_t tensors = 0;
  for (const Layer& layer : workload.trace.layers)
    tensors += std::ssize(layer.tensors);
  const std::int64_t kept = workload.trace.copies ? workload.trace.copies->buffers : 0;
  return servers.sharding->shards_behind(2 * tensors + kept, elements, servers.count);
}

/// The shards of buckets, which take the buckets' place.
std::vector<std::vector<Piece>> by_shard(const Workload& workload, std::span<const Run> runs,
                                         std::span<const GradientUnit> units,
                                         std::vector<Bucket>& buckets, const ServerGroup& servers,
                                         const Collective& inside, const Measure& measure) {
  std::vector<std::size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto name = [&](std::size_t b) -> const std::string& {
    return units[static_cast<std::size_t>(buckets[b].first_unit)].name;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return name(x) < name(y); });
  std::vector<std::vector<Run>> own;
  own.reserve(buckets.size());
  for (const Bucket& bucket : buckets)
    own.push_back(runs_of(bucket, runs, workload.bytes_per_param));
  std::vector<std::int64_t> elements;
  elements.reserve(order.size());
  for (const std::size_t b : order) {
    elements.push_back(std::accumulate(own[b].begin(), own[b].end(), std::int64_t{0},
                                       [](std::int64_t sum, Run r) { return sum + r.elements; }));
  }
  std::vector<std::vector<Shard>> shards(buckets.size());
  for (const Shard& shard : bucket_shards(workload, buckets, servers, elements))
    shards[order[static_cast<std::size_t>(shard.key)]].push_back(shard);

  std::vector<Bucket> parts;
  std::vector<std::vector<Piece>> pieces;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    auto next = own[b].begin();
    Run left = *next;
    Bucket part = buckets[b];
    for (const Shard& shard : shards[b]) {
      Piece piece{.server = shard.server};
      for (std::int64_t missing = shard.elements; missing > 0;) {
        while (left.elements == 0)
          left = *++next;
        const std::int64_t taken = std::min(missing, left.elements);
        measure.add(piece, {left.begin, taken});
        left = {left.begin + taken, left.elements - taken};
        missing -= taken;
      }
      part.bytes = piece.bytes;
      part.cost = inside.time(piece.bytes);
      parts.push_back(part);
      part.offset += part.bytes;
      pieces.push_back({std::move(piece)});
    }
  }
  buckets = std::move(parts);
  return pieces;
}

}  // namespace

std::vector<std::vector<Piece>> cut_pieces(const Workload& workload,
                                           std::span<const GradientUnit> units,
                                           std::vector<Bucket>& buckets, const ServerGroup& servers,
                                           const Collective& inside, Granularity granularity,
                                           std::size_t parameters) {
  if (servers.count == 0) return std::vector<std::vector<Piece>>(buckets.size());
  const auto runs = runs_of_units(workload, units, granularity);
  const Measure measure(workload, parameters);
  if (servers.sharding->keys() == KeyKind::kTensor) {
    return by_server(workload, runs, buckets, servers, measure);
  }
  return by_shard(workload, runs, units, buckets, servers, inside, measure);
}

std::vector<std::vector<Piece>> cut_pieces_beyond(const Workload& workload,
                                                  std::span<const GradientUnit> units,
                                                  std::span<const Bucket> buckets,
                                                  const ServerGroup& servers,
                                                  const ServerGroup& beyond,
                                                  Granularity granularity, std::size_t parameters) {
  const auto runs = runs_of_units(workload, units, granularity);
  const Measure measure(workload, parameters);
  const auto inside = placed_shards(workload, servers);
  const auto outside = placed_shards(workload, beyond);
  std::vector<std::vector<Piece>> pieces;
  for (const Bucket& bucket : buckets) {
    for (const Part& part : parts_of(runs_of(bucket, runs, workload.bytes_per_param), inside))
      pieces.push_back(measure.pieces(parts_of(part.runs, outside)));
  }
  return pieces;
}

std::vector<Issued> issue_times(const IssuingThread& thread, const Workload& workload,
                                std::span<const GradientUnit> units,
                                std::span<const Bucket> buckets, Granularity granularity) {
  if (!thread.any()) return {};
  std::vector<std::int64_t> keys;  // of every unit and those before it in forward order
  std::int64_t all = 0;
  for (const Layer& layer : workload.trace.layers)
    all += static_cast<std::int64_t>(layer.tensors.size());
  for (const GradientUnit& unit : units) {
    keys.push_back(all);
    const auto& layer = workload.trace.layers[static_cast<std::size_t>(unit.layer)];
    all -= granularity == Granularity::kLayer ? static_cast<std::int64_t>(layer.tensors.size()) : 1;
  }
  std::vector<Issued> issued;
  for (const Bucket& bucket : buckets) {
    const std::int64_t k = keys[static_cast<std::size_t>(bucket.first_unit)];
    issued.push_back(
        thread.pushes_first
            ? Issued{k * thread.push, keys.front() * thread.push + k * thread.pull}
            : Issued{k * thread.push + (k - 1) * thread.pull, k * (thread.push + thread.pull)});
  }
  return issued;
}

std::vector<std::string> bucket_names(std::span<const Bucket> buckets,
                                      std::span<const GradientUnit> units) {
  std::vector<std::string> names;
  for (const Bucket& bucket : buckets) {
    const GradientUnit& first = units[static_cast<std::size_t>(bucket.first_unit)];
    if (bucket.units > 1)
      names.push_back(fmt::format("{} +{}", first.name, bucket.units - 1));
    else if (bucket.bytes == first.bytes)
      names.push_back(first.name);
    else
      names.push_back(fmt::format("{} from {} B", first.name, bucket.offset.count));
  }
  return names;
}

std::vector<Duration> forward_starts(const Trace& trace, std::span<const GradientUnit> units,
                                     std::span<const Bucket> buckets) {
  std::vector<Duration> of_layer;
  Duration start{};
  for (const Layer& layer : trace.layers) {
    of_layer.push_back(start);
    if (!trace.forward_total) start += layer.forward;
  }
  std::vector<Duration> starts;
  for (const Bucket& bucket : buckets) {
    // Units come last layer first.
    starts.push_back(of_layer[static_cast<std::size_t>(bucket.of(units).back().layer)]);
  }
  return starts;
}

std::vector<BucketTimes> TrainingTimes::by_bucket() const {
  std::vector<BucketTimes> times(sent.size());
  for (const Sent& bucket : sent)
    times[static_cast<std::size_t>(bucket.buckets.front())] = {bucket.ready, bucket.start,
                                                               bucket.end};
  return times;
}

double TrainingTimes::mean_staleness() const {
  double updates = 0;
  double sum = 0;
  for (std::size_t s = 0; s < staleness.size(); ++s) {
    updates += static_cast<double>(staleness[s]);
    sum += static_cast<double>(s) * static_cast<double>(staleness[s]);
  }
  return updates > 0 ? sum / updates : 0;
}

bool TrainingPlan::layers_wait() const {
  return schedule && schedule->layers_wait_for_their_own() && !step.buckets.empty() &&
         !update->sends_parameters();
}

TrainingPlan::Reported reported_steps(const TrainingPlan& plan) {
  using Reported = TrainingPlan::Reported;
  const ServerGroup& servers = plan.aggregation.servers;
  const bool has_servers = servers.count > 0;
  if (!has_servers && !plan.layers_wait()) return Reported::kAll;
  const bool pulls_at_random = has_servers && !servers.requests->brings_values &&
                               !servers.pulls_in_order && plan.step.buckets.size() > 1;
  const bool has_clock =
      plan.schedule &&
      std::max(plan.schedule->default_steps(), plan.transport->coordinator->default_steps()) > 1;
  const bool differ = plan.variation.changes() || pulls_at_random || has_clock ||
                      !plan.update->has_met(plan.update->period());
  return differ ? Reported::kAfterTwo : Reported::kSteady;
}

namespace {

double pieces_of(const TrainingPlan& plan) {
  double pieces = 0;
  for (const auto& of_bucket : plan.pieces)
    pieces += static_cast<double>(of_bucket.size());
  return pieces;
}

}  // namespace

double work_of(const TrainingPlan& plan) {
  const auto steps = static_cast<double>(plan.played_steps());
  const auto exchanges = static_cast<double>(plan.update->exchanges_in(plan.played_steps()));
  const auto buckets = static_cast<double>(plan.step.buckets.size());
  if (plan.workers_meet()) return buckets * exchanges;
  const double reductions = plan.update->sends_parameters() && plan.members() == 1 ? 0 : buckets;
  const bool copies = plan.aggregation.servers.placement->is_on_gpus();
  double beyond = 0;  // of a node
  for (const auto& of_piece : plan.pieces_beyond)
    beyond += 2 * static_cast<double>(of_piece.size()) + (copies ? 2 : 0);
  return static_cast<double>(plan.aggregation.clients) *
             (2 * pieces_of(plan) * exchanges + reductions * steps) +
         static_cast<double>(plan.cluster.nodes) * beyond * exchanges;
}

double training_events(const TrainingPlan& plan, std::int64_t seeds) {
  const auto workers = static_cast<double>(plan.cluster.workers());
  const auto clients = static_cast<double>(plan.aggregation.clients);
  double beyond = 0;  // of a node; four events more for its copies
  for (const auto& of_piece : plan.pieces_beyond)
    beyond += 10 * static_cast<double>(of_piece.size()) + 4;
  const double step =
      workers + 2 * static_cast<double>(plan.trainers()) +
      clients * (2 * static_cast<double>(plan.step.buckets.size()) + 10 * pieces_of(plan)) +
      static_cast<double>(plan.cluster.nodes) * beyond;
  return step * static_cast<double>(plan.played_steps()) * static_cast<double>(seeds);
}

void check_training_work(const TrainingPlan& plan, std::int64_t seeds) {
  const double pieces = pieces_of(plan);
  const auto clients = static_cast<double>(plan.aggregation.clients);
  const double states = clients * (pieces + static_cast<double>(plan.pieces.size()));
  // With those that are under way, at most about 100 B each: they fit into 2 GiB.
  constexpr double kMost = 2e7;
  if (plan.aggregation.servers.count > 0 && states > kMost) {
    throw PlacedError(
        fmt::format("/cluster: {} clients of servers with {} messages each are more than fit in "
                    "memory; larger buckets are fewer",
                    clients, pieces));
  }
  const double events = training_events(plan, seeds);
  check_events(events, "/run/steps", "events", "fewer steps, workers or servers are fewer");
}

}  // namespace steptime
