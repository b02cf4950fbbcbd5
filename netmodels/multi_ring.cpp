// Several rings side by side, each with its share of the data. Ring i connects rank r to r + s,
// s the i-th number from 1 on that has no divisor in common with N.
//
//   a = 2 (N - 1) alpha      b = 2 (N - 1) / N beta / L + (N - 1) / N gamma
//
// with L = 1 when the rings share the ports (`links` = "shared", the default), or the number of
// rings when each has links of its own ("own").
// Scope of the closed form: no other traffic; rings in step, each of which adds up in turn. Equal
// to the messages for gamma = 0. With gamma > 0 the rings fall out of step at the device, and one
// adds up while another sends: the messages take less. They take the cluster's routes, whatever
// "links" says: "own" holds where the strides' routes have no link in common. Parameters: rings,
// links. Source: the ring of 004 Table II; paper 001 section 5 for several rings.
#include "netmodels/programs.h"
#include "sim/collective.h"

#include <memory>
#include <numeric>
#include <string>

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

LinearCost cost(const Config& config, const Cluster& cluster) {
  const auto n = static_cast<double>(cluster.workers());
  const double own = config.get<std::string>("links") == "own"
                         ? static_cast<double>(config.get<std::int64_t>("rings"))
                         : 1;
  const double beta = inverse(cluster.bottleneck().bandwidth).seconds_per_byte / own;
  const double gamma = cluster.reduction.seconds_per_byte;
  return {from_seconds(2 * (n - 1) * to_seconds(cluster.bottleneck().latency)),
          {(n - 1) / n * (2 * beta + gamma)}};
}

class MultiRing final : public LinearCollective {
 public:
  MultiRing(const Config& c, const Cluster& cluster)
      : LinearCollective(cost(c, cluster)), ranks_(static_cast<Rank>(cluster.workers())) {
    const auto rings = static_cast<std::size_t>(c.get<std::int64_t>("rings"));
    for (Rank stride = 1; strides_.size() < rings && stride < std::max<Rank>(ranks_, 2); ++stride) {
      if (std::gcd(stride, ranks_) == 1) strides_.push_back(stride);
    }
    if (strides_.size() < rings && ranks_ > 1) {
      c.fail("rings", fmt::format("{} ranks have {} different rings at most, got {}", ranks_,
                                  strides_.size(), rings));
    }
  }

  Programs programs(Bytes m) const override {
    Programs programs;
    const auto rings = static_cast<std::int64_t>(strides_.size());
    for (std::int64_t i = 0; i < rings; ++i) {
      programs.push_back(ring_all_reduce(ranks_, part_of({0, m.count}, i, rings),
                                         strides_[static_cast<std::size_t>(i)]));
    }
    return programs;
  }

 private:
  Rank ranks_;
  std::vector<Rank> strides_;
};

const bool kRegistered = Collectives::instance().add(
    "multi-ring", "several rings side by side, each with its share of the data", kParams,
    [](const Config& c, const Cluster& cluster) {
      return std::make_unique<MultiRing>(c, cluster);
    });

}  // namespace
}  // namespace steptime
