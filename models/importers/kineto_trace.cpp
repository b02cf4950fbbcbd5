#include "models/importers/kineto_trace.h"

#include "models/importers/kineto_steps.h"
#include "models/importers/profile_text.h"
#include "sim/core/error.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::int64_t kMostStep = 1'000'000'000'000'000;  // 10^6 s
/// Ranks that end a collective together have one clock, so that their starts can be compared.
constexpr std::int64_t kTogether = 10'000;
constexpr std::string_view kAsWhole = "; --set layers=whole imports the step as one layer";
constexpr std::array<const char*, kStepParts> kPartKeys{
    "forward_s", "backward_s", "optimizer_s", "copies_s", "communication_s", "other_s"};

using Source = ProfiledCollective::Source;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

std::string milliseconds(double s) {
  return fmt::format("{:.3f} ms", s * 1e3);
}

class TraceMaker {
 public:
  TraceMaker(const ImportRequest& request, const std::vector<KinetoProfile>& ranks, bool whole,
             std::vector<std::string> missing)
      : request_(request), ranks_(ranks), whole_(whole), missing_(std::move(missing)) {
    for (const KinetoProfile& rank : ranks) {
      for (const ProfiledStep& step : rank.steps)
        steps_.push_back(&step);
    }
  }

  Imported make() {
    if (!whole_) check_layers();
    std::vector<Layer> layers = whole_ ? whole_layer() : each_layer();
    if (!request_.layer_table.empty()) take_names(layers);
    const Duration update = mean(sum(StepPart::kOptimizer));
    if (update > Duration{}) layers.insert(layers.begin(), optimizer(update));
    Json measured{{"from", "PyTorch's profiler"},
                  {"ranks", ranks_.size()},
                  {"steps", steps_json()},
                  {"collectives", collectives_json()}};
    say_what_is_missing();
    Trace trace = empty_trace(
        request_,
        fmt::format("Device times by correlation id, means over {} step{} of {} rank{}; "
                    "{}.{}{}",
                    steps_.size(), plural(steps_.size()), ranks_.size(), plural(ranks_.size()),
                    whole_ ? "the step is one layer"
                           : "a layer is a module, or the operators of one sequence number",
                    missing_.empty() ? "" : " ", fmt::join(missing_, " ")));
    trace.layers = std::move(layers);
    trace.update = update;
    trace.host = host();
    const std::int64_t multiprocessors = ranks_.front().header.multiprocessors;
    if (multiprocessors > 0 && multiprocessors <= kMostMultiprocessors)
      trace.multiprocessors = multiprocessors;
    check_imported(trace, request_.file);
    trace.provenance["measured"] = std::move(measured);
    trace.domain = domain();
    return {.trace = std::move(trace), .missing = std::move(missing_)};
  }

 private:
  static const char* plural(std::size_t count) { return count == 1 ? "" : "s"; }

  [[noreturn]] static void refuse(const KinetoProfile& rank, const std::string& reason) {
    throw InputError(fmt::format("{}: no per-layer times: {}{}", rank.file, reason, kAsWhole));
  }

  Duration mean(std::int64_t sum_ns) const {
    const auto n = static_cast<std::int64_t>(steps_.size());
    if (sum_ns / n > kMostStep) {
      throw InputError(
          fmt::format("{}: expected at most 1e+06 s of compute in one step, got {:g} s",
                      request_.file, seconds(sum_ns / n)));
    }
    return Duration(sum_ns / n * 1000 + (sum_ns % n * 1000 + n / 2) / n);
  }

  // ---- layers

  void check_layers() const {
    const std::vector<ProfiledLayer>& first = ranks_.front().steps.front().layers;
    for (const KinetoProfile& rank : ranks_) {
      if (!rank.compiled.empty()) {
        refuse(rank,
               fmt::format("the backward pass is inside {}, which is one operator", rank.compiled));
      }
      for (const ProfiledStep& step : rank.steps) {
        if (const std::string difference = difference_of(first, step.layers); !difference.empty()) {
          refuse(rank,
                 fmt::format("{} differs from {} of {}: {}", step.name,
                             ranks_.front().steps.front().name, ranks_.front().file, difference));
        }
      }
    }
    const bool has_gradients = std::any_of(
        first.begin(), first.end(), [](const ProfiledLayer& l) { return !l.gradients.empty(); });
    if (!has_gradients) {
      refuse(ranks_.front(),
             fmt::format("{} has no gradient with a shape (AccumulateGrad, with the "
                         "profiler's record_shapes)",
                         ranks_.front().steps.front().name));
    }
  }

  /// The trace has tensors in forward order: the gradients' from the last to the first.
  static std::vector<Tensor> tensors(const std::string& layer,
                                     const std::vector<ProfiledGradient>& gradients) {
    std::vector<Tensor> tensors;
    for (auto gradient = gradients.rbegin(); gradient != gradients.rend(); ++gradient) {
      tensors.push_back(
          {fmt::format("{}.{} {}", layer, tensors.size(), gradient->shape), gradient->elements});
    }
    return tensors;
  }

  std::vector<Layer> each_layer() const {
    std::vector<Layer> layers;
    const std::vector<ProfiledLayer>& first = steps_.front()->layers;
    for (std::size_t i = 0; i < first.size(); ++i) {
      std::int64_t forward = 0;
      std::int64_t backward = 0;
      for (const ProfiledStep* step : steps_) {
        forward += step->layers[i].forward_ns;
        backward += step->layers[i].backward_ns;
      }
      layers.push_back({.name = first[i].name,
                        .forward = mean(forward),
                        .backward = mean(backward),
                        .tensors = tensors(first[i].name, first[i].gradients)});
    }
    return layers;
  }

  std::vector<Layer> whole_layer() {
    std::vector<ProfiledGradient> gradients;
    const ProfiledStep& first = *steps_.front();
    for (auto layer = first.layers.rbegin(); layer != first.layers.rend(); ++layer)
      gradients.insert(gradients.end(), layer->gradients.begin(), layer->gradients.end());
    const bool has_table = !request_.layer_table.empty();
    if (gradients.empty() && !has_table) {
      for (const ProfiledCollective& c : first.collectives) {
        if (c.operation == "all-reduce" && c.bytes > 0)
          gradients.push_back({"all-reduced", (c.bytes + 3) / 4});
      }
      missing_.push_back(gradients.empty()
                             ? "No gradient has a size: a run communicates nothing."
                             : fmt::format("No gradient has a shape: the tensors are the {} "
                                           "all-reduces of a step, as values of 4 bytes.",
                                           gradients.size()));
    }
    return {{.name = "step",
             .forward = mean(sum(StepPart::kForward)),
             .backward = mean(sum(StepPart::kBackward)),
             .tensors = tensors("step", gradients)}};
  }

  /// It runs when gradients are summed and before weights are used, as the first of the next pass.
  static Layer optimizer(Duration update) {
    return {.name = "optimizer", .forward = update, .backward = {}, .tensors = {}};
  }

  /// Of the layer table, whose tensors are the trace's, one by one; or, where no gradient has a
  /// shape, are taken for the whole step's.
  void take_names(std::vector<Layer>& layers) {
    const LearnableLayers table = learnable_layers(request_, "");
    std::vector<Tensor> named;
    for (const Layer& layer : table.layers)
      named.insert(named.end(), layer.tensors.begin(), layer.tensors.end());
    std::vector<Tensor*> own;
    for (Layer& layer : layers) {
      for (Tensor& tensor : layer.tensors)
        own.push_back(&tensor);
    }
    if (own.empty()) {
      layers.front().tensors = std::move(named);
      missing_.push_back(
          fmt::format("No gradient has a shape: the tensors are those of {}.", table.table));
      return;
    }
    if (own.size() != named.size()) {
      throw InputError(
          fmt::format("{}: --layer-table {}: expected the trace's {} gradients, got {}",
                      request_.file, table.table, own.size(), named.size()));
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i]->params != named[i].params) {
        throw InputError(
            fmt::format("{}: --layer-table {}: expected {} values as {} of the trace, "
                        "got {} of {}",
                        request_.file, table.table, own[i]->params, brief(own[i]->name),
                        named[i].params, brief(named[i].name)));
      }
      own[i]->name = named[i].name;
    }
  }

  std::int64_t sum(StepPart part) const {
    std::int64_t sum = 0;
    for (const ProfiledStep* step : steps_)
      sum += step->part_ns[static_cast<std::size_t>(part)];
    return sum;
  }

  /// Of the steps that have a mark.
  Duration host() const {
    std::int64_t sum = 0;
    std::int64_t marked = 0;
    for (const ProfiledStep* step : steps_) {
      sum += step->wall_ns;
      marked += step->wall_ns > 0 ? 1 : 0;
    }
    return marked > 0 ? Duration(sum / marked * 1000) : Duration{};
  }

  // ---- what else was measured

  Json steps_json() const {
    Json list = Json::array();
    for (const KinetoProfile& rank : ranks_) {
      for (const ProfiledStep& step : rank.steps) {
        Json row{{"step", step.name}};
        if (rank.header.rank >= 0) row["rank"] = rank.header.rank;
        if (step.wall_ns > 0) row["host_s"] = seconds(step.wall_ns);
        row["device_s"] = seconds(step.device_ns());
        for (std::size_t i = 0; i < kStepParts; ++i)
          row[kPartKeys[i]] = seconds(step.part_ns[i]);
        list.push_back(std::move(row));
      }
    }
    return list;
  }

  /// Whether all ranks have as many steps, with the same collectives in the same order.
  bool ranks_agree() const {
    const std::vector<ProfiledStep>& first = ranks_.front().steps;
    return std::all_of(ranks_.begin(), ranks_.end(), [&](const KinetoProfile& rank) {
      return std::equal(first.begin(), first.end(), rank.steps.begin(), rank.steps.end(),
                        [](const ProfiledStep& a, const ProfiledStep& b) {
                          return same_collectives(a, b, false);
                        });
    });
  }

  static bool same_collectives(const ProfiledStep& a, const ProfiledStep& b, bool with_sizes) {
    return std::equal(a.collectives.begin(), a.collectives.end(), b.collectives.begin(),
                      b.collectives.end(),
                      [with_sizes](const ProfiledCollective& x, const ProfiledCollective& y) {
                        return x.operation == y.operation && (!with_sizes || x.bytes == y.bytes);
                      });
  }

  /// The collectives of a step in order: means over the steps if all are alike, else the last.
  Json collectives_json() {
    Json list = Json::array();
    const std::vector<ProfiledStep>& steps = ranks_.front().steps;
    if (!ranks_agree()) {
      missing_.push_back(
          "The ranks' collectives differ in number or order: those of one rank are listed.");
    }
    const std::size_t ranks = ranks_agree() ? ranks_.size() : 1;
    std::size_t from = 0;
    for (const ProfiledStep& step : steps) {
      if (!same_collectives(step, steps.back(), true)) from = steps.size() - 1;
    }
    if (from > 0) {
      missing_.push_back(
          fmt::format("The steps' collectives differ: those of {} are listed.", steps.back().name));
    }
    for (std::size_t i = 0; i < steps.back().collectives.size(); ++i)
      list.push_back(collective_json(i, from, ranks));
    return list;
  }

  Json collective_json(std::size_t i, std::size_t from, std::size_t ranks) {
    const std::vector<ProfiledStep>& steps = ranks_.front().steps;
    const ProfiledCollective* largest = &steps.back().collectives[i];
    const auto n = static_cast<double>(steps.size() - from);
    double time = 0;
    double transfer = 0;
    std::int64_t starts_differ = 0;
    std::int64_t ends_differ = 0;
    for (std::size_t s = from; s < steps.size(); ++s) {
      const ProfiledCollective& first = steps[s].collectives[i];
      auto [start, end] = std::pair{first.start_ns, first.end_ns};
      auto [first_start, first_end] = std::pair{start, end};
      for (std::size_t r = 0; r < ranks; ++r) {
        const ProfiledCollective& c = ranks_[r].steps[s].collectives[i];
        if (c.bytes > largest->bytes) largest = &c;
        time += seconds(c.end_ns - c.start_ns) / n / static_cast<double>(ranks);
        start = std::max(start, c.start_ns);
        end = std::max(end, c.end_ns);
        first_start = std::min(first_start, c.start_ns);
        first_end = std::min(first_end, c.end_ns);
      }
      transfer += seconds(end - start) / n;
      starts_differ = std::max(starts_differ, start - first_start);
      ends_differ = std::max(ends_differ, end - first_end);
    }
    Json row{{"operation", largest->operation}};
    if (largest->bytes >= 0) row["bytes"] = largest->bytes;
    row["bytes_from"] = largest->source == Source::kSaid        ? "trace"
                        : largest->source == Source::kAllocator ? "inferred from the allocator"
                                                                : "missing";
    if (ranks_.front().header.ranks > 0) row["group"] = ranks_.front().header.ranks;
    row["device_s"] = rounded(time);
    if (ranks > 1) {
      row["starts_differ_s"] = seconds(starts_differ);
      row["ends_differ_s"] = seconds(ends_differ);
      if (ends_differ <= kTogether) row["transfer_s"] = rounded(transfer);
    }
    ++sources_[largest->source];
    ++operations_[largest->operation];
    return row;
  }

  /// To a picosecond, so that a mean does not end in the noise of its sum.
  static double rounded(double s) { return to_seconds(from_seconds(s)); }

  // ---- what is missing

  void say_what_is_missing() {
    for (const KinetoProfile& rank : ranks_)
      say_of(rank);
    const auto updates = std::ranges::count_if(steps_, [](const ProfiledStep* step) {
      return step->part_ns[static_cast<std::size_t>(StepPart::kOptimizer)] > 0;
    });
    if (updates > 0 && updates < std::ssize(steps_)) {
      missing_.push_back(
          fmt::format("The optimizer ran in {} of {} steps: its time is the mean over all of them.",
                      updates, steps_.size()));
    }
    const std::int64_t world = ranks_.front().header.ranks;
    if (world > static_cast<std::int64_t>(ranks_.size()) && !operations_.empty()) {
      missing_.push_back(
          fmt::format("{} of {} ranks: a collective's time includes waiting for ranks whose traces "
                      "are not here.",
                      ranks_.size(), world));
    }
    if (sources_.contains(Source::kAllocator)) {
      missing_.push_back(
          fmt::format("The sizes of {} collectives a step are inferred from the "
                      "allocation of the copy that each works on, which is rounded "
                      "up to 512 B.",
                      sources_[Source::kAllocator]));
    }
    if (sources_.contains(Source::kMissing)) {
      missing_.push_back(
          fmt::format("{} collectives a step have no size.", sources_[Source::kMissing]));
    }
  }

  void say_of(const KinetoProfile& rank) {
    const std::string where = ranks_.size() > 1 ? fmt::format("Rank {}: ", rank.header.rank) : "";
    const auto say_odd = [&](const Odd& odd, std::string_view what) {
      if (odd.count == 0) return;
      missing_.push_back(fmt::format("{}{} of {} device activities ({} us) {}.", where, odd.count,
                                     rank.activities, odd.ns / 1000, what));
    };
    say_odd(rank.unlaunched,
            "have no launch in the trace, as work from before it, and are left out");
    say_odd(rank.lost, "have no launch in the trace and are left out");
    say_odd(rank.outside, "were launched outside the marked steps and are left out");
    say_odd(rank.unmatched, "are of backward operators without a forward one and count as other");
    say_odd(rank.early, "start before their launch, the longest time given: the clocks differ");
    say_odd(rank.overlapping, "start before their stream is free, the longest time given");
    if (rank.steps_left_out > 0) {
      missing_.push_back(
          fmt::format("{}{} earlier steps are left out.", where, rank.steps_left_out));
    }
    if (rank.unsized_gradients > 0) {
      missing_.push_back(fmt::format("{}{} gradients in {} step{} have no shape and are left out.",
                                     where, rank.unsized_gradients, rank.steps.size(),
                                     plural(rank.steps.size())));
    }
    if (rank.steps.front().wall_ns == 0) {
      missing_.push_back(where + "No ProfilerStep marks: all of the trace is one step.");
    }
  }

  /// What a run on this trace does not know.
  std::string domain() const {
    const double n = static_cast<double>(steps_.size());
    const double rest = seconds(sum(StepPart::kCopies) + sum(StepPart::kOther)) / n;
    std::string text =
        fmt::format("imported device times: {} a step of copies and other work are left out",
                    milliseconds(rest));
    double device = 0;
    for (const ProfiledStep* step : steps_)
      device += seconds(step->device_ns()) / n;
    if (const double took = to_seconds(host()); took > device) {
      text += fmt::format("; the host took {} a step, the device {}", milliseconds(took),
                          milliseconds(device));
    }
    if (whole_) text += "; one layer, so that no gradient is ready before the end";
    for (const auto& [operation, count] : operations_) {
      if (operation != "all-reduce")
        text += fmt::format("; {} {} a step are left out", count, operation);
    }
    return text;
  }

  const ImportRequest& request_;
  const std::vector<KinetoProfile>& ranks_;
  bool whole_;
  std::vector<const ProfiledStep*> steps_;  ///< the profiled steps of all ranks
  std::vector<std::string> missing_;
  std::map<Source, std::int64_t> sources_;
  std::map<std::string, std::int64_t> operations_;
};

}  // namespace

Imported trace_of(const ImportRequest& request, const std::vector<KinetoProfile>& ranks, bool whole,
                  std::vector<std::string> missing) {
  return TraceMaker(request, ranks, whole, std::move(missing)).make();
}

}  // namespace steptime
