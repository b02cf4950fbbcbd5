// Several rings side by side, each with its share of the data. Ring i connects rank r to r + s,
// s the i-th number from 1 on that has no divisor in common with N.
//
//   a = 2 (N - 1) alpha      b = 2 (N - 1) / N beta / L + (N - 1) / N gamma
//
// with L = 1 when the rings share the ports (`links` = "shared", the default), or the number of
// rings when each has links of its own ("own").
// Scope of the closed form: no other traffic; rings in step, each of which adds up in turn. Equal
// to the messages for gamma = 0 and one GPU per node, or one node. With gamma > 0 the rings fall
// out of step at the device, and one adds up while another sends: the messages take less. With
// several GPUs per node a stride s has s of a node's messages on its NIC at once; ranks then fall
// out of step, too, and T is an estimate (netmodels/rounds.h), on up to 8 nodes of up to 8 GPUs
// from -2 to +34 %. They take the cluster's routes, whatever "links" says: "own" holds where the
// strides' routes have no link in common. Parameters: rings, links. Source: the ring of 004 Table
// II; paper 001 section 5 for several rings.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"
#include "sim/config/key_use.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{{.key = "rings",
                      .kind = Kind::kInteger,
                      .help = "how many",
                      .need = Need::kDefault,
                      .fallback = 2,
                      .range = {.low = 1, .high = 64}},
                     {.key = "links",
                      .kind = Kind::kText,
                      .help = "whether the closed form takes the rings to share their links",
                      .need = Need::kDefault,
                      .fallback = "shared",
                      .words = {"shared", "own"}}};

constexpr ErrorBound kEstimate{-.28, .34};

/// The strides of the rings, which visit every rank.
std::vector<std::int64_t> read_strides(const Config& c, std::int64_t ranks) {
  std::vector<std::int64_t> strides;
  const auto rings = static_cast<std::size_t>(c.get<std::int64_t>("rings"));
  for (std::int64_t stride = 1; strides.size() < rings && stride < std::max<std::int64_t>(ranks, 2);
       ++stride) {
    if (std::gcd(stride, ranks) == 1) strides.push_back(stride);
  }
  if (strides.size() < rings && ranks > 1) {
    c.fail("rings", fmt::format("{} ranks have {} different rings at most, got {}", ranks,
                                strides.size(), rings));
  }
  return strides;
}

RoundSum costs(const Config& config, const RoundLinks& links,
               const std::vector<std::int64_t>& strides, TimePerByte gamma) {
  const auto n = static_cast<double>(links.workers());
  const auto rings = static_cast<double>(strides.size());
  RoundTime step;
  if (config.get<std::string>("links") == "own") {
    for (const std::int64_t stride : strides)
      step.add(links.rings(std::array{stride}));
    step.apart = true;  // as the config says
  } else {
    step = links.rings(strides);
  }
  RoundSum sum(gamma, kEstimate);
  sum.add_ring(n - 1, step, 1 / n / rings, 1 / n);
  sum.add_ring(n - 1, step, 1 / n / rings, 0);
  if (gamma.seconds_per_byte > 0 && rings > 1) sum.set_overlapping();
  return sum;
}

Programs programs(Rank ranks, const std::vector<std::int64_t>& strides, Slice whole) {
  Programs programs;
  const auto rings = static_cast<std::int64_t>(strides.size());
  for (std::int64_t i = 0; i < rings; ++i) {
    programs.push_back(ring_all_reduce(ranks, part_of(whole, i, rings),
                                       static_cast<Rank>(strides[static_cast<std::size_t>(i)])));
  }
  return programs;
}

const bool kUses = acts_at("analytic", "links", "rings");

const bool kRegistered = Collectives::instance().add(
    "multi-ring", "several rings side by side, each with its share of the data", kParams,
    [](const Config& c, const Cluster& cluster) {
      const RoundLinks links(cluster);
      const auto n = static_cast<Rank>(cluster.workers());
      const auto strides = read_strides(c, links.workers());
      return std::make_unique<CollectiveOfRounds>(
          costs(c, links, strides, cluster.reduction), links,
          [n, strides](Slice whole) { return programs(n, strides, whole); });
    });

}  // namespace
}  // namespace steptime
