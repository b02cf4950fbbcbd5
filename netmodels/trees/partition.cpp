#include "netmodels/trees/partition.h"

#include "netmodels/trees/shuffle.h"

#include <algorithm>
#include <cstddef>

namespace steptime {
namespace {

using Sides = std::vector<std::int32_t>;

std::size_t row_of(Gpu gpu) {
  return static_cast<std::size_t>(gpu);
}

/// The members of a group in random order: one half on each side, the smaller one first.
Sides random_halves(const Partition& partition, std::int32_t group, std::mt19937& random) {
  std::vector<Gpu> members;
  for (Gpu gpu = 0; gpu < std::ssize(partition.group); ++gpu) {
    if (partition.group[row_of(gpu)] == group) members.push_back(gpu);
  }
  shuffle(members, random);
  Sides side(partition.group.size(), 0);
  for (std::size_t i = 0; i < members.size(); ++i)
    side[row_of(members[i])] = i < members.size() / 2 ? 1 : -1;
  return side;
}

/// The exchanges of one pass, each the best after those before it, at most one for each GPU of a
/// half. `ran_dry`: fewer, because no other one saves anything.
struct Pass {
  std::vector<PairExchange> exchanges;
  bool ran_dry = false;
};
Pass pass_over(const LinkMatrix& weights, Sides side, std::size_t half) {
  Pass pass;
  std::vector<bool> used(side.size(), false);
  std::vector<float> excess = cut_excess(weights, side);
  while (pass.exchanges.size() < half) {
    const PairExchange best = best_exchange(weights, side, excess, used);
    if (!(best.gain > 0)) {
      pass.ran_dry = true;
      break;
    }
    pass.exchanges.push_back(best);
    used[row_of(best.first)] = used[row_of(best.second)] = true;
    side[row_of(best.first)] *= -1;
    side[row_of(best.second)] *= -1;
    excess = cut_excess(weights, side);
    // Only of these two: the excess of pairs that were exchanged before comes back.
    excess[row_of(best.first)] = excess[row_of(best.second)] = 0;
  }
  return pass;
}

/// Passes until one saves nothing, but at most one more than there are GPUs.
void improve(const LinkMatrix& weights, Sides& side, std::size_t half) {
  float most = 0;  // that the first `kept` exchanges of a pass save together
  std::ptrdiff_t kept = 0;
  for (std::size_t count = 0; count <= side.size(); ++count) {
    const Pass pass = pass_over(weights, side, half);
    if (pass.ran_dry) most = 0;
    float gain = 0;
    for (std::size_t k = 0; k < pass.exchanges.size(); ++k) {
      gain = k == 0 ? pass.exchanges[k].gain : gain + pass.exchanges[k].gain;
      if (gain > most) {
        most = gain;
        kept = static_cast<std::ptrdiff_t>(k) + 1;
      }
    }
    if (!(most > 0)) return;
    for (const PairExchange& each : std::span(pass.exchanges).first(static_cast<std::size_t>(kept)))
      std::swap(side[row_of(each.first)], side[row_of(each.second)]);
  }
}

}  // namespace

std::vector<float> cut_excess(const LinkMatrix& weights, std::span<const std::int32_t> side) {
  std::vector<float> excess;
  for (Gpu row = 0; row < weights.gpus(); ++row) {
    float sum = 0;
    for (Gpu column = 0; column < weights.gpus(); ++column)
      sum += weights.at(row, column) * static_cast<float>(side[row_of(column)]);
    excess.push_back(sum * -static_cast<float>(side[row_of(row)]));
  }
  return excess;
}

PairExchange best_exchange(const LinkMatrix& weights, std::span<const std::int32_t> side,
                           std::span<const float> excess, const std::vector<bool>& used) {
  PairExchange best;
  for (Gpu row = 0; row < weights.gpus(); ++row) {
    if (side[row_of(row)] == 0 || used[row_of(row)]) continue;
    for (Gpu column = row + 1; column < weights.gpus(); ++column) {
      if (side[row_of(column)] == 0 || side[row_of(column)] == side[row_of(row)]) continue;
      const float gain = excess[row_of(row)] + excess[row_of(column)] - 2 * weights.at(row, column);
      if (gain > best.gain) best = {row, column, gain};
    }
  }
  return best;
}

bool cut_groups(const LinkMatrix& weights, Partition& partition, std::vector<GroupPair>& pairs,
                std::mt19937& random) {
  const std::int32_t groups = partition.groups;
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(groups));
  for (const std::int32_t group : partition.group)
    ++sizes[static_cast<std::size_t>(group)];
  bool none = true;
  for (std::int32_t group = 0; group < groups; ++group) {
    const std::int32_t size = sizes[static_cast<std::size_t>(group)];
    if (size <= 2) {
      pairs.push_back({group, -size});
      continue;
    }
    none = false;
    Sides side = random_halves(partition, group, random);
    improve(weights, side, static_cast<std::size_t>(size / 2));
    for (std::size_t gpu = 0; gpu < side.size(); ++gpu) {
      if (side[gpu] == -1) partition.group[gpu] = partition.groups;
    }
    pairs.push_back({group, partition.groups++});
  }
  return none;
}

}  // namespace steptime
