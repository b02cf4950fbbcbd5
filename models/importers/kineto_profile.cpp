#include "models/importers/kineto_profile.h"

#include "sim/config/json.h"
#include "sim/core/error.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// The clocks of host and device agree within microseconds; a trace where they do not is broken.
constexpr std::int64_t kMostEarly = 1'000'000;
/// So that the sum over hundreds of ranks stays in 63 bits.
constexpr std::int64_t kMostTotal = 10'000'000'000'000'000;
constexpr std::string_view kEvaluates = "autograd::engine::evaluate_function: ";

using Kind = HostSpan::Kind;

std::string without(std::string_view prefix, const std::string& text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// Operators from one that makes a node of autograd's graph, or some of one module.
struct Group {
  std::int64_t first = 0;  ///< sequence numbers
  std::int64_t last = 0;
  std::int64_t start_ns = 0;
  const HostSpan* module = nullptr;
  ProfiledLayer layer{};
  bool used = false;
};

struct Step {
  std::int64_t start_ns = INT64_MIN;
  std::vector<Group> groups;
};

/// What a launch is part of.
struct Owner {
  StepPart part = StepPart::kOther;
  std::int32_t step = -1;
  std::int32_t layer = -1;
  bool is_unmatched = false;
  const HostSpan* collective = nullptr;
  std::int64_t allocated = -1;  ///< bytes of the copy that the collective works on, if known
};

class Attribution {
 public:
  explicit Attribution(KinetoRecords& records) : r_(records) {
    profile_.file = r_.file;
    profile_.header = r_.header;
    profile_.steps_left_out = r_.steps_left_out;
    profile_.activities = static_cast<std::int64_t>(r_.activities.size());
  }

  KinetoProfile run() {
    make_steps();
    sort();
    owners_.resize(r_.launches.size());
    sweep(main_);
    std::set<std::uint32_t> others;
    for (const HostSpan& span : r_.spans)
      others.insert(span.thread);
    for (const Launch& launch : r_.launches)
      others.insert(launch.thread);
    others.erase(main_);
    for (const std::uint32_t thread : others)
      sweep(thread);
    assign_activities();
    finish();
    return std::move(profile_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(r_.file + ": " + message);
  }
  const std::string& text(std::uint32_t name) const { return r_.names.text(name); }

  void make_steps() {
    if (!r_.steps.empty()) main_ = r_.steps.front().thread;
    for (const StepMark& mark : r_.steps) {
      steps_.push_back({.start_ns = mark.start_ns});
      profile_.steps.push_back({.name = mark.name, .wall_ns = mark.end_ns - mark.start_ns});
    }
    if (!r_.steps.empty()) {
      end_ns_ = r_.steps.back().end_ns;
      return;
    }
    steps_.emplace_back();
    profile_.steps.push_back({.name = "the whole trace"});
    std::map<std::uint32_t, std::size_t> forward;
    for (const HostSpan& span : r_.spans) {
      if (span.kind == Kind::kForward) ++forward[span.thread];
    }
    for (const auto& [thread, count] : forward) {
      if (count > forward[main_]) main_ = thread;
    }
  }

  void sort() {
    // A span comes before those inside it, which end no later; equal ones stay as in the file.
    std::stable_sort(r_.spans.begin(), r_.spans.end(), [](const HostSpan& a, const HostSpan& b) {
      return std::tie(a.thread, a.start_ns, b.end_ns) < std::tie(b.thread, b.start_ns, a.end_ns);
    });
    std::stable_sort(r_.launches.begin(), r_.launches.end(), [](const Launch& a, const Launch& b) {
      return std::tie(a.thread, a.start_ns) < std::tie(b.thread, b.start_ns);
    });
    std::stable_sort(r_.allocations.begin(), r_.allocations.end(),
                     [](const Allocation& a, const Allocation& b) {
                       return std::tie(a.thread, a.time_ns) < std::tie(b.thread, b.time_ns);
                     });
  }

  std::int32_t step_of(std::int64_t time) const {
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), time,
                         [](std::int64_t t, const Step& step) { return t < step.start_ns; });
    return time > end_ns_ ? -1 : static_cast<std::int32_t>(after - steps_.begin()) - 1;
  }

  /// Walks through the spans and launches of a thread in order of time.
  void sweep(std::uint32_t thread) {
    const auto of_thread = [thread](const auto& records) {
      const auto less = [](const auto& r, std::uint32_t t) { return r.thread < t; };
      const auto greater = [](std::uint32_t t, const auto& r) { return t < r.thread; };
      return std::pair{std::lower_bound(records.begin(), records.end(), thread, less),
                       std::upper_bound(records.begin(), records.end(), thread, greater)};
    };
    stack_.clear();
    node_ = {};
    forward_ = {};
    clone_ = nullptr;
    auto [span, last_span] = of_thread(r_.spans);
    auto [launch, last_launch] = of_thread(r_.launches);
    while (launch != last_launch || span != last_span) {
      const bool is_span =
          span != last_span && (launch == last_launch || span->start_ns <= launch->start_ns);
      const std::int64_t now = is_span ? span->start_ns : launch->start_ns;
      while (!stack_.empty() && stack_.back()->end_ns <= now)
        stack_.pop_back();
      if (is_span) {
        begin(*span);
        stack_.push_back(&*span++);
      } else {
        owners_[static_cast<std::size_t>(launch - r_.launches.begin())] = owner(*launch);
        ++launch;
      }
    }
  }

  const HostSpan* around(Kind kind) const {
    const auto found = std::find_if(stack_.rbegin(), stack_.rend(),
                                    [kind](const HostSpan* s) { return s->kind == kind; });
    return found == stack_.rend() ? nullptr : *found;
  }

  void begin(const HostSpan& span) {
    switch (span.kind) {
      case Kind::kForward:
        if (span.thread == main_ && around(Kind::kForward) == nullptr &&
            around(Kind::kBackward) == nullptr && around(Kind::kOptimizer) == nullptr) {
          begin_forward(span);
        }
        return;
      case Kind::kBackward:
        if (around(Kind::kBackward) == nullptr) begin_node(span);
        return;
      case Kind::kAccumulate:
        return accumulate(span);
      case Kind::kCollective:
        allocated_ = clone_ != nullptr ? allocated_in(*clone_) : -1;
        clone_ = nullptr;
        return;
      case Kind::kClone:
        clone_ = &span;
        return;
      case Kind::kOptimizer:
      case Kind::kModule:
        return;
    }
  }

  void begin_forward(const HostSpan& span) {
    forward_ = {.part = StepPart::kForward, .step = step_of(span.start_ns)};
    if (forward_.step < 0) return;
    std::vector<Group>& groups = steps_[static_cast<std::size_t>(forward_.step)].groups;
    const HostSpan* module = around(Kind::kModule);
    const std::string name = module != nullptr ? without("nn.Module: ", text(module->name))
                                               : without("aten::", text(span.name));
    const bool is_first = groups.empty();
    if (!is_first && span.sequence < groups.back().last) {
      fail(fmt::format("sequence numbers decrease from {} to {} at {}, in one forward pass",
                       groups.back().last, span.sequence, brief(text(span.name))));
    }
    const bool same_number = !is_first && span.sequence == groups.back().last;
    const bool same_module = !is_first && module == groups.back().module;
    if (same_number && (same_module || groups.back().first == span.sequence)) {
      // The operators before this one made no node: they belong to the one that does.
      groups.back().module = module;
      groups.back().layer.name = name;
    } else if (same_module && module != nullptr) {
      groups.back().last = span.sequence;
    } else {
      groups.push_back({.first = span.sequence,
                        .last = span.sequence,
                        .start_ns = span.start_ns,
                        .module = module,
                        .layer = {.name = name}});
    }
    forward_.layer = static_cast<std::int32_t>(groups.size()) - 1;
  }

  void begin_node(const HostSpan& span) {
    const std::string name = without(kEvaluates, text(span.name));
    if (name.starts_with("CompiledFunction")) profile_.compiled = name;
    if (forward_thread_ != 0 && forward_thread_ != span.forward_thread) {
      fail("backward operators of forward passes on several threads (DataParallel), expected one");
    }
    forward_thread_ = span.forward_thread;
    node_ = {.part = StepPart::kBackward, .step = step_of(span.start_ns)};
    if (node_.step < 0) return;
    std::vector<Group>& groups = steps_[static_cast<std::size_t>(node_.step)].groups;
    const auto after =
        std::upper_bound(groups.begin(), groups.end(), span.sequence,
                         [](std::int64_t number, const Group& g) { return number < g.first; });
    if (after == groups.begin()) {
      node_.part = StepPart::kOther;
      node_.is_unmatched = true;
      return;
    }
    Group& group = *(after - 1);
    if (span.start_ns < group.start_ns) {
      fail(fmt::format("{} with sequence number {} starts before its forward operator", name,
                       span.sequence));
    }
    group.used = true;
    node_.layer = static_cast<std::int32_t>(after - groups.begin()) - 1;
  }

  void accumulate(const HostSpan& span) {
    if (node_.step < 0 || node_.layer < 0 || span.size < 0) {
      if (step_of(span.start_ns) >= 0) ++profile_.unsized_gradients;
      return;
    }
    steps_[static_cast<std::size_t>(node_.step)]
        .groups[static_cast<std::size_t>(node_.layer)]
        .layer.gradients.push_back({text(span.shape), span.size});
  }

  std::int64_t allocated_in(const HostSpan& span) const {
    const auto first = std::lower_bound(r_.allocations.begin(), r_.allocations.end(),
                                        std::pair{span.thread, span.start_ns},
                                        [](const Allocation& a, const auto& place) {
                                          return std::pair{a.thread, a.time_ns} < place;
                                        });
    if (first == r_.allocations.end() || first->thread != span.thread ||
        first->time_ns > span.end_ns) {
      return -1;
    }
    return first->bytes;
  }

  Owner owner(const Launch& launch) const {
    Owner owner{.step = step_of(launch.start_ns)};
    if (around(Kind::kOptimizer) != nullptr) {
      owner.part = StepPart::kOptimizer;
    } else if (around(Kind::kBackward) != nullptr || around(Kind::kAccumulate) != nullptr ||
               (launch.thread != main_ && node_.step >= 0 && node_.step == owner.step)) {
      owner = node_;
    } else if (launch.thread == main_ && around(Kind::kForward) != nullptr) {
      owner = forward_;
    }
    owner.collective = around(Kind::kCollective);
    owner.allocated = allocated_;
    return owner;
  }

  void assign_activities() {
    std::vector<std::size_t> by_correlation(r_.launches.size());
    std::iota(by_correlation.begin(), by_correlation.end(), std::size_t{0});
    const auto correlation = [this](std::size_t i) { return r_.launches[i].correlation; };
    std::stable_sort(by_correlation.begin(), by_correlation.end(),
                     [&](std::size_t a, std::size_t b) { return correlation(a) < correlation(b); });
    std::stable_sort(r_.activities.begin(), r_.activities.end(),
                     [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
    std::map<std::uint32_t, std::int64_t> ends;  // of what streams did
    std::set<std::uint32_t> launched;            // streams
    for (const Activity& activity : r_.activities) {
      std::int64_t& end = ends.try_emplace(activity.stream, INT64_MIN).first->second;
      const std::int64_t before =
          std::exchange(end, std::max(end, activity.start_ns + activity.duration_ns));
      check_overlap(activity, before);
      const auto found = std::lower_bound(
          by_correlation.begin(), by_correlation.end(), activity.correlation,
          [&](std::size_t i, std::int64_t wanted) { return correlation(i) < wanted; });
      if (found == by_correlation.end() || correlation(*found) != activity.correlation) {
        count(launched.contains(activity.stream) ? profile_.lost : profile_.unlaunched, activity);
        continue;
      }
      launched.insert(activity.stream);
      check_order(activity, r_.launches[*found]);
      assign(activity, activity.duration_ns + gap(activity, r_.launches[*found], before),
             owners_[*found]);
    }
  }

  static void count(Odd& odd, const Activity& activity) {
    ++odd.count;
    odd.ns += activity.duration_ns;
  }

  void check_order(const Activity& activity, const Launch& launch) {
    const std::int64_t early = launch.start_ns - activity.start_ns;
    if (early > kMostEarly) {
      fail(fmt::format("correlation {}: starts on the device {} us before its launch",
                       activity.correlation, early / 1000));
    }
    if (early <= 0) return;
    ++profile_.early.count;
    profile_.early.ns = std::max(profile_.early.ns, early);
  }

  /// A stream does one thing after the other.
  void check_overlap(const Activity& activity, std::int64_t before) {
    if (activity.start_ns >= before) return;
    ++profile_.overlapping.count;
    profile_.overlapping.ns = std::max(profile_.overlapping.ns, before - activity.start_ns);
  }

  /// What the device itself needs between the end of one thing and the next, which was launched by
  /// then. Longer gaps are waits for the host or for another stream.
  static std::int64_t gap(const Activity& activity, const Launch& launch, std::int64_t before) {
    constexpr std::int64_t kLongest =
        10'000;  // ns; of six profiles on an H200 the longest is 6,100
    const std::int64_t gap = launch.end_ns <= before ? activity.start_ns - before : 0;
    return gap > 0 && gap <= kLongest ? gap : 0;
  }

  /// `taken_ns`: with the gap before it.
  void assign(const Activity& activity, std::int64_t taken_ns, const Owner& owner) {
    if (owner.step < 0) return count(profile_.outside, activity);
    ProfiledStep& step = profile_.steps[static_cast<std::size_t>(owner.step)];
    if (activity.kind == Activity::Kind::kCollective) {
      step.part_ns[static_cast<std::size_t>(StepPart::kCommunication)] += activity.duration_ns;
      return add_collective(step, activity, owner);
    }
    const StepPart part =
        activity.kind == Activity::Kind::kHostCopy ? StepPart::kCopies : owner.part;
    step.part_ns[static_cast<std::size_t>(part)] += taken_ns;
    if (owner.is_unmatched && part == StepPart::kOther) count(profile_.unmatched, activity);
    if (part != StepPart::kForward && part != StepPart::kBackward) return;
    Group& group =
        steps_[static_cast<std::size_t>(owner.step)].groups[static_cast<std::size_t>(owner.layer)];
    (part == StepPart::kForward ? group.layer.forward_ns : group.layer.backward_ns) += taken_ns;
    group.used = true;
  }

  void add_collective(ProfiledStep& step, const Activity& activity, const Owner& owner) {
    using Source = ProfiledCollective::Source;
    ProfiledCollective collective{.operation = text(activity.operation),
                                  .bytes = activity.bytes,
                                  .start_ns = activity.start_ns,
                                  .end_ns = activity.start_ns + activity.duration_ns};
    const HostSpan* span = owner.collective;
    if (span != nullptr) {
      collective.operation = collective_name(text(span->name));
      if (collective.bytes < 0) collective.bytes = span->size;
    }
    if (collective.bytes >= 0) {
      collective.source = Source::kSaid;
    } else if (span != nullptr && owner.allocated >= 0) {
      collective.bytes = owner.allocated;
      collective.source = Source::kAllocator;
    }
    step.collectives.push_back(std::move(collective));
  }

  void finish() {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      ProfiledStep& step = profile_.steps[i];
      std::int64_t forward = 0;
      std::int64_t backward = 0;
      for (Group& group : steps_[i].groups) {
        if (!group.used) continue;
        forward += group.layer.forward_ns;
        backward += group.layer.backward_ns;
        group.layer.name = fmt::format("{}:{}", step.layers.size(), group.layer.name);
        step.layers.push_back(std::move(group.layer));
      }
      STEPTIME_CHECK(forward == step.part_ns[static_cast<std::size_t>(StepPart::kForward)] &&
                         backward == step.part_ns[static_cast<std::size_t>(StepPart::kBackward)],
                     "the layers' times are the passes' times");
      total += step.device_ns();
    }
    if (total > kMostTotal) {
      fail(fmt::format("{:g} s of device time, expected at most {:g}",
                       static_cast<double>(total) * 1e-9, static_cast<double>(kMostTotal) * 1e-9));
    }
  }

  KinetoRecords& r_;
  KinetoProfile profile_;
  std::vector<Step> steps_;
  std::vector<Owner> owners_;  ///< who owns each launch
  std::uint32_t main_ = 0;     ///< the thread of the forward pass
  std::int64_t end_ns_ = INT64_MAX;
  std::int32_t forward_thread_ = 0;
  // While a thread is swept:
  std::vector<const HostSpan*> stack_;
  Owner node_;     ///< the latest of autograd's nodes
  Owner forward_;  ///< the latest forward operator
  const HostSpan* clone_ = nullptr;
  std::int64_t allocated_ = -1;
};

}  // namespace

std::int64_t ProfiledStep::device_ns() const {
  return std::accumulate(part_ns.begin(), part_ns.end(), std::int64_t{0});
}

KinetoProfile profile_of(KinetoRecords&& records) {
  return Attribution(records).run();
}

}  // namespace steptime
