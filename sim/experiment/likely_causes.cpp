#include "sim/experiment/likely_causes.h"

#include "sim/core/error.h"
#include "sim/core/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include <boost/math/tools/toms748_solve.hpp>
#include <fmt/format.h>
#include <tbb/parallel_for.h>

namespace steptime {
namespace {

constexpr double kMostFactor = 1000;
constexpr double kNear = 1e-3;  // of the measured time: as close as a solution comes
constexpr std::size_t kShown = 3;

using Residual = std::function<double(double ln_factor)>;

/// The logarithm of the factor with which the residual is zero; `slope`: what it is about, and its
/// sign for sure. Each value costs a simulation.
std::optional<double> zero_of(const Residual& residual, double at_one, double slope) {
  const double most = std::log(kMostFactor);
  const double sign = at_one * slope > 0 ? -1 : 1;  // of the factor's logarithm
  double near = 0;
  double at_near = at_one;
  double far = sign * std::min(most, std::max(0.01, 1.2 * std::abs(at_one / slope)));
  double at_far = residual(far);
  while (at_far * at_near > 0) {
    if (std::abs(far) >= most) return std::nullopt;
    near = std::exchange(far, sign * std::min(most, 3 * std::abs(far)));
    at_near = std::exchange(at_far, residual(far));
  }
  if (at_far == 0) return far;
  std::uintmax_t rounds = 40;
  const bool is_forwards = near < far;
  const auto [low, high] = boost::math::tools::toms748_solve(
      residual, is_forwards ? near : far, is_forwards ? far : near, is_forwards ? at_near : at_far,
      is_forwards ? at_far : at_near, [](double a, double b) { return b - a < 1e-4; }, rounds);
  const double found = (low + high) / 2;
  if (std::abs(residual(found)) > kNear) return std::nullopt;  // a jump
  return found;
}

}  // namespace

std::vector<LikelyCause> likely_causes(const std::vector<Suspect>& suspects, double predicted,
                                       double measured,
                                       const std::function<double(const Json& config)>& time_of) {
  std::vector<std::optional<LikelyCause>> found(suspects.size());
  const double at_one = std::log(predicted / measured);
  tbb::parallel_for(std::size_t{0}, suspects.size(), [&](std::size_t i) {
    const Suspect& suspect = suspects[i];
    const Residual residual = [&](double ln_factor) {
      return std::log(time_of(suspect.with(std::exp(ln_factor))) / measured);
    };
    try {
      const auto ln_factor = zero_of(residual, at_one, suspect.elasticity);
      if (!ln_factor) return;
      const double factor = std::exp(*ln_factor);
      found[i] = LikelyCause{suspect.pointer, suspect.value, suspect.text(factor), factor};
    } catch (const InputError&) {  // a value that cannot be
      return;
    }
  });
  std::vector<LikelyCause> causes;
  for (auto& cause : found) {
    if (cause) causes.push_back(*std::move(cause));
  }
  std::stable_sort(causes.begin(), causes.end(), [](const LikelyCause& a, const LikelyCause& b) {
    return std::abs(std::log(a.factor)) < std::abs(std::log(b.factor));
  });
  causes.resize(std::min(causes.size(), kShown));
  return causes;
}

std::string MeasuredStep::text(double predicted, Interval interval) const {
  const bool is_inside = interval.low <= seconds && seconds <= interval.high;
  std::string text = fmt::format(
      "measured: {:.3f} ms, {:+.1f} % of what is predicted, {} the interval of such predictions, "
      "{:.3f} to {:.3f} ms\n",
      seconds * 1e3, (seconds / predicted - 1) * 100, is_inside ? "inside" : "outside",
      interval.low * 1e3, interval.high * 1e3);
  const std::string most = fmt::format("{:.0f} times as much or as little", kMostFactor);
  if (causes.empty()) {
    return text + fmt::format(
                      "no quantity of the experiment alone, up to {}, makes the step take "
                      "that long\n",
                      most);
  }
  TextTable table({"it takes that long with", "which is", "instead", "factor"});
  for (const LikelyCause& cause : causes)
    table.add({cause.pointer, cause.value, cause.needed, fmt::format("{:.3f}", cause.factor)});
  text += table.text();
  text += fmt::format("tried: each up to {}\n", most);
  const auto of_list = std::ranges::find_if(causes, [](const LikelyCause& cause) {
    return cause.pointer.find("/*") != std::string::npos;
  });
  if (of_list != causes.end()) {
    std::string one = of_list->pointer;
    one.replace(one.find("/*"), 2, "/0");
    text += fmt::format("*: every element alike; --set takes one at a time, as {}\n", one);
  }
  text += "compute: of the slowest worker, for which the others wait, or of all\n";
  if (is_plan_held) text += "with the messages that are planned for the experiment as it is\n";
  return text;
}

Json MeasuredStep::json() const {
  Json list = Json::array();
  for (const LikelyCause& cause : causes) {
    list.push_back({{"pointer", cause.pointer},
                    {"value", cause.value},
                    {"needed", cause.needed},
                    {"factor", cause.factor}});
  }
  return {{"step_time_s", seconds},
          {"fixed_plan", is_plan_held},
          {"most_factor", kMostFactor},
          {"causes", list}};
}

}  // namespace steptime
