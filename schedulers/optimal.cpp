// Optimal merge: the partition into messages that ends the step earliest.
//
// One sequential channel and gradients that become ready in order: contiguous messages suffice.
// With R_k the ready time of the k-th gradient, S_k the sum of the first k sizes and F(k) the
// earliest end of a partition of the first k,
//
//   F(0) = 0,   F(k) = min over j < k of  max(F(j), R_k) + T(S_k - S_j).
//
// O(L^2) for any cost T. For T(M) = a + b M, O(L): F does not decrease, so the j with F(j) <= R_k
// are a prefix that only grows. Of that prefix the largest j is best, as it leaves the fewest
// bytes; of the others the one with the least F(j) - b S_j, kept in a monotone queue. Exact up to
// the rounding of each message's time to a picosecond.
#include "sim/step/schedule.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

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

BucketPlan any_cost(std::span<const GradientUnit> units, const Collective& collective) {
  const std::size_t n = units.size();
  std::vector<Duration> finish(n + 1, Duration{});
  std::vector<std::int32_t> best(n + 1, 0);
  for (std::size_t k = 1; k <= n; ++k) {
    const Duration ready = units[k - 1].ready;
    Bytes bytes{};
    finish[k] = Duration::max();
    for (std::size_t j = k; j-- > 0;) {
      bytes += units[j].bytes;
      const Duration end = checked_add(std::max(finish[j], ready), collective.time(bytes));
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
    std::uint32_t late = 0;  ///< of the queue: what stands at this place
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

class Optimal final : public Schedule {
 public:
  using Schedule::Schedule;
  BucketPlan plan(std::span<const GradientUnit> units,
                  const Collective& collective) const override {
    const auto line = collective.linear();
    return line ? linear_cost(units, *line) : any_cost(units, collective);
  }
  bool plans_for_the_recurrence() const override { return true; }
};

const bool kRegistered = Schedules::instance().add(
    "optimal",
    "the partition that ends the step earliest: exact where all-reduces go one after another",
    {granularity_param()},
    [](const Config& c) { return std::make_unique<Optimal>(read_granularity(c)); });

}  // namespace
}  // namespace steptime
