// Optimal merge: the partition into messages that ends the step earliest.
//
// One sequential channel and gradients that become ready in order: contiguous messages suffice.
// With R_k the ready time of the k-th gradient, S_k the sum of the first k sizes and F(k) the
// earliest end of a partition of the first k,
//
//   F(0) = 0,   F(k) = min over j < k of  max(F(j), R_k) + T(S_k - S_j).
//
// O(L^2) for any cost T; a model of more than 180 gradients asks for more sums S_k - S_j than there
// is time to play collectives of, and has T between sizes that are at most 1/128 apart. For T(M) =
// a + b M, O(L): F does not decrease, so the j with F(j) <= R_k are a prefix that only grows. Of
// that prefix the largest j is best, as it leaves the fewest bytes; of the others the one with the
// least F(j) - b S_j, kept in a monotone queue. Exact up to the rounding of each message's time to
// a picosecond.
#include "sim/core/error.h"
#include "sim/step/schedule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Walks back from the last of so many gradients along the best predecessors.
template <class BestOf>
BucketPlan unwind(std::size_t gradients, BestOf best_of) {
  BucketPlan plan;
  for (std::size_t k = gradients; k > 0;) {
    const auto j = static_cast<std::size_t>(best_of(k));
    plan.sizes.push_back(static_cast<std::int32_t>(k - j));
    k = j;
  }
  std::reverse(plan.sizes.begin(), plan.sizes.end());
  return plan;
}

/// T of any size up to the largest: as it is, or straight between the sizes that have eight binary
/// digits.
class Times {
 public:
  Times(const Collective& collective, std::span<const GradientUnit> units)
      : collective_(collective), is_exact_(units.size() * (units.size() + 1) / 2 <= kMostExact) {
    for (const GradientUnit& unit : units)
      most_ += unit.bytes.count;
  }

  Duration operator()(Bytes m) {
    const int octave =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(m.count))) - kDigits;
    if (is_exact_ || octave <= 0) return collective_.time(m);
    const std::int64_t step = std::int64_t{1} << octave;
    const std::int64_t low = m.count & ~(step - 1);
    const std::int64_t high = std::min(low + step, most_);
    const auto place =
        static_cast<std::size_t>(std::int64_t{octave} * kSteps + (low >> octave) - kSteps);
    const Duration at_low = known(place, low);
    if (m.count == low) return at_low;
    const Duration more = known(place + 1, high) - at_low;
    const double share = static_cast<double>(m.count - low) / static_cast<double>(high - low);
    return at_low + Duration(std::llround(static_cast<double>(more.count()) * share));
  }

 private:
  static constexpr std::size_t kMostExact = std::size_t{1} << 14;
  static constexpr int kDigits = 8;
  static constexpr int kSteps = 1 << (kDigits - 1);  // an octave has

  Duration known(std::size_t place, std::int64_t bytes) {
    if (place >= known_.size()) known_.resize(place + 1);
    if (!known_[place]) known_[place] = collective_.time(Bytes{bytes});
    return *known_[place];
  }

  const Collective& collective_;
  bool is_exact_;
  std::int64_t most_ = 0;
  std::vector<std::optional<Duration>> known_;
};

BucketPlan any_cost(std::span<const GradientUnit> units, const Collective& collective) {
  Times time(collective, units);
  const std::size_t n = units.size();
  std::vector<Duration> finish(n + 1, Duration{});
  std::vector<std::int32_t> best(n + 1, 0);
  for (std::size_t k = 1; k <= n; ++k) {
    const Duration ready = units[k - 1].ready;
    Bytes bytes{};
    finish[k] = Duration::max();
    for (std::size_t j = k; j-- > 0;) {
      bytes += units[j].bytes;
      const Duration end = checked_add(std::max(finish[j], ready), time(bytes));
      if (end < finish[k]) {
        finish[k] = end;
        best[k] = static_cast<std::int32_t>(j);
      }
    }
  }
  return unwind(n, [&](std::size_t k) { return best[k]; });
}

BucketPlan linear_cost(std::span<const GradientUnit> units, const LinearCost& cost) {
  struct Sent {
    double finish = 0;  ///< F(k), ps
    double bytes = 0;   ///< b S_k, ps
    std::uint32_t best = 0;
    std::uint32_t late = 0;  ///< what stands at this place of the queue
    double key() const { return finish - bytes; }
  };
  const std::size_t n = units.size();
  const auto a = static_cast<double>(cost.a.count());  // ps
  const double b = cost.b.seconds_per_byte * 1e12;     // ps/B
  std::vector<Sent> sent(n + 1);
  const auto late = [&](std::size_t place) -> std::uint32_t& { return sent[place].late; };
  // j with F(j) > R_k, keys increasing: a queue from `front` up to `back`.
  std::size_t front = 0;
  std::size_t back = 0;
  std::size_t early = 0;  // the largest j with F(j) <= R_k
  for (std::size_t k = 1; k <= n; ++k) {
    const auto ready = static_cast<double>(units[k - 1].ready.count());
    const double bytes = sent[k - 1].bytes + b * static_cast<double>(units[k - 1].bytes.count);
    while (early + 1 < k && sent[early + 1].finish <= ready)
      ++early;
    while (front < back && late(front) <= early)
      ++front;
    double finish = ready + a + (bytes - sent[early].bytes);
    auto best = static_cast<std::uint32_t>(early);
    if (front < back) {
      const double end = a + bytes + sent[late(front)].key();
      if (end < finish) {
        finish = end;
        best = late(front);
      }
    }
    sent[k].finish = finish;
    sent[k].bytes = bytes;
    sent[k].best = best;
    while (front < back && sent[late(back - 1)].key() >= finish - bytes)
      --back;
    late(back++) = static_cast<std::uint32_t>(k);
  }
  return unwind(n, [&](std::size_t k) { return sent[k].best; });
}

constexpr std::size_t kMostGradients = 20'000;  // of any cost: 2 s

class Optimal final : public Schedule {
 public:
  /// `where`: of the schedule in its config, for messages.
  Optimal(Granularity granularity, std::string where)
      : Schedule(granularity), where_(std::move(where)) {}
  BucketPlan plan(std::span<const GradientUnit> units,
                  const Collective& collective) const override {
    const auto line = collective.linear();
    if (line) return linear_cost(units, *line);
    if (units.size() > kMostGradients) {
      throw InputError(
          fmt::format("{}: {} gradients, expected at most {} of a collective whose time is no line "
                      "in the size; "
                      "mg-wfbp takes any number, and \"granularity\": \"layer\" makes fewer",
                      where_, units.size(), kMostGradients));
    }
    return any_cost(units, collective);
  }
  bool plans_for_the_recurrence() const override { return true; }

 private:
  std::string where_;
};

const bool kRegistered = Schedules::instance().add(
    "optimal",
    "the partition that ends the step earliest: exact where all-reduces go one after another",
    {granularity_param()}, [](const Config& c) {
      return std::make_unique<Optimal>(read_granularity(c),
                                       fmt::format("{}: {}", c.file(), c.pointer()));
    });

}  // namespace
}  // namespace steptime
