// Ring: N - 1 steps of reduce-scatter, then N - 1 steps of all-gather, each of M / N bytes.
//
//   a = 2 (N - 1) alpha      b = 2 (N - 1) / N beta + (N - 1) / N gamma
//
// Scope: no other traffic. The ring visits a node's GPUs in sequence, so that every NIC carries it
// once in and once out; the slowest of its links sets the pace, and where one has the largest alpha
// and another the largest beta, T is the larger of the two at each size. Exact while no two of its
// messages share a link inside a node.
// The messages are segments of whole bytes: M / N rounded down, and the first M mod N one byte
// longer, so that message fidelity costs 2 (N - 1) (alpha + ceil(M / N) beta). An empty segment is
// sent all the same and costs its alpha.
// Parameters: startups, "2(N-1)" as in 004, or "N-1" as printed in 001 section 5, which counts the
// start-ups of one of the two halves. No messages take so little: it is then known by its time
// only, and message fidelity refuses it. operation: one of its two halves alone. Source: 004 Table
// II; 001 section 5.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "startups",
                      .kind = Kind::kText,
                      .help = "how many alphas: 2(N-1), or the N-1 of paper 001, analytic only",
                      .need = Need::kDefault,
                      .fallback = "2(N-1)",
                      .words = {"2(N-1)", "N-1"}},
                     {.key = "operation",
                      .kind = Kind::kText,
                      .help = "what its ranks do together; default: all-reduce",
                      .need = Need::kOptional,
                      .words = {"all-reduce", "all-gather", "reduce-scatter"}}};

RoundSum costs(const Config& config, const RoundLinks& links, TimePerByte gamma) {
  const auto n = static_cast<double>(links.workers());
  const RoundTime step = links.ring();
  RoundSum sum(gamma);
  sum.add_ring(n - 1, step, 1 / n, 1 / n);
  if (config.get<std::string>("startups") == "2(N-1)") {
    sum.add_ring(n - 1, step, 1 / n, 0);
    return sum;
  }
  RoundTime without_startup;
  for (const Line& line : step.slowest.lines())
    without_startup.add({0, line.beta}, !step.apart);
  sum.add_ring(n - 1, without_startup, 1 / n, 0);
  return sum;
}

const bool kRegistered = Collectives::instance().add(
    "ring", "reduce-scatter and all-gather around a ring", kParams,
    [](const Config& c, const Cluster& cluster) -> std::unique_ptr<Collective> {
      if (c.has("operation") && c.get<std::string>("operation") != "all-reduce")
        return Collectives::instance().make_default(c.get<std::string>("operation"), cluster);
      const RoundLinks links(cluster);
      CollectiveOfRounds::MakePrograms programs;
      if (c.get<std::string>("startups") == "2(N-1)") {
        programs = [n = static_cast<Rank>(cluster.workers())](Slice whole) {
          return one(ring_all_reduce(n, whole));
        };
      }
      return std::make_unique<CollectiveOfRounds>(costs(c, links, cluster.reduction), links,
                                                  programs);
    });

}  // namespace
}  // namespace steptime
