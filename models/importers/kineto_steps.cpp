#include "models/importers/kineto_steps.h"

#include "sim/config/json.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

using StepRange = std::pair<std::int64_t, std::int64_t>;

std::vector<StepRange> ranges_of(const std::string& asked) {
  std::vector<StepRange> ranges;
  std::string_view left = asked;
  for (bool goes_on = true; goes_on;) {
    const std::string_view item = left.substr(0, left.find(','));
    goes_on = item.size() < left.size();
    left.remove_prefix(std::min(left.size(), item.size() + 1));
    const auto dash = item.find('-');
    const auto first = number_in<std::int64_t>(item.substr(0, dash));
    const auto last = dash == item.npos ? first : number_in<std::int64_t>(item.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) {
      throw InputError(
          fmt::format("--set steps: expected numbers of steps as 7, 5-8 or 5-6,9, got "
                      "{}",
                      brief(asked)));
    }
    ranges.emplace_back(*first, *last);
  }
  return ranges;
}

/// "ProfilerStep#7".
std::optional<std::int64_t> number_of(const ProfiledStep& step) {
  const auto mark = step.name.rfind('#');
  if (mark == std::string::npos) return std::nullopt;
  return number_in<std::int64_t>(std::string_view(step.name).substr(mark + 1));
}

std::int64_t sum_of(const std::vector<KinetoProfile>& ranks, StepPart part) {
  std::int64_t sum = 0;
  for (const KinetoProfile& rank : ranks) {
    for (const ProfiledStep& step : rank.steps)
      sum += step.part_ns[static_cast<std::size_t>(part)];
  }
  return sum;
}

}  // namespace

void choose_steps(std::vector<KinetoProfile>& ranks, const std::string& asked) {
  const std::vector<StepRange> ranges = ranges_of(asked);
  for (KinetoProfile& rank : ranks) {
    const std::string all =
        fmt::format("{} to {}", rank.steps.front().name, rank.steps.back().name);
    std::set<std::int64_t> known;
    for (const ProfiledStep& step : rank.steps) {
      if (const auto number = number_of(step)) known.insert(*number);
    }
    for (const auto& [first, last] : ranges) {
      if (known.contains(first) && known.contains(last)) continue;
      throw InputError(fmt::format("{}: --set steps: expected some of {}, got {}", rank.file, all,
                                   brief(asked)));
    }
    std::erase_if(rank.steps, [&](const ProfiledStep& step) {
      const auto number = number_of(step);
      return std::none_of(ranges.begin(), ranges.end(), [&](const StepRange& range) {
        return number && range.first <= *number && *number <= range.second;
      });
    });
  }
}

void check_trains(const std::vector<KinetoProfile>& ranks) {
  const std::int64_t forward = sum_of(ranks, StepPart::kForward);
  const std::int64_t backward = sum_of(ranks, StepPart::kBackward);
  if (forward + backward == 0) {
    throw InputError(fmt::format(
        "{}: no kernel of a forward or backward pass: expected a trace with the device's "
        "activities (ProfilerActivity.CUDA), of a step of training",
        ranks.front().file));
  }
  if (backward == 0) {
    throw InputError(fmt::format(
        "{}: no kernel of a backward pass, as of inference: expected a step of training",
        ranks.front().file));
  }
}

std::string difference_of(const std::vector<ProfiledLayer>& a,
                          const std::vector<ProfiledLayer>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].name != b[i].name)
      return fmt::format("layer {} in place of {}", brief(b[i].name), brief(a[i].name));
    if (a[i].gradients != b[i].gradients)
      return fmt::format("other gradients in layer {}", brief(b[i].name));
  }
  if (a.size() != b.size()) return fmt::format("{} layers, not {}", b.size(), a.size());
  return "";
}

std::vector<std::string> leave_odd_steps_out(std::vector<KinetoProfile>& ranks) {
  std::vector<const ProfiledStep*> steps;
  for (const KinetoProfile& rank : ranks) {
    for (const ProfiledStep& step : rank.steps)
      steps.push_back(&step);
  }
  // A majority is what pairs of unlike steps cancel to (Boyer and Moore), if there is one.
  const ProfiledStep* usual = nullptr;
  std::size_t lead = 0;
  for (const ProfiledStep* step : steps) {
    if (lead == 0) usual = step;
    const bool is_alike = difference_of(usual->layers, step->layers).empty();
    lead = is_alike ? lead + 1 : lead - 1;
  }
  const std::vector<ProfiledLayer> layers = usual->layers;
  const auto is_odd = [&](const ProfiledStep& step) {
    return !difference_of(layers, step.layers).empty();
  };
  const auto odd = static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [&](const ProfiledStep* step) { return is_odd(*step); }));
  const bool is_rank_odd = std::any_of(ranks.begin(), ranks.end(), [&](const KinetoProfile& rank) {
    return std::all_of(rank.steps.begin(), rank.steps.end(), is_odd);
  });
  if (2 * odd >= steps.size() || is_rank_odd) return {};
  std::vector<std::string> said;
  for (KinetoProfile& rank : ranks) {
    for (const ProfiledStep& step : rank.steps) {
      if (!is_odd(step)) continue;
      said.push_back(fmt::format("{} of {} is left out, as it differs from the others: {}.",
                                 step.name, rank.file, difference_of(layers, step.layers)));
    }
    std::erase_if(rank.steps, is_odd);
  }
  return said;
}

}  // namespace steptime
