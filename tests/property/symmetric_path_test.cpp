// The symmetric path equals the general one wherever it is taken.
#include "netmodels/programs.h"
#include "tests/support/play.h"

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

std::unique_ptr<Program> arbitrary_program(Rank nodes, Rank gpus, std::int64_t bytes) {
  const Rank n = nodes * gpus;
  if (gpus > 1) return hierarchical_all_reduce(nodes, gpus, {0, bytes});
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return ring_all_reduce(n, {0, bytes});
    case 1:
      return ring_reduce_scatter(n, {0, bytes});
    case 2:
      return ring_all_gather(n, {0, bytes});
    case 3:
      return binomial_reduce(n, {0, bytes});
    case 4:
      return binomial_broadcast(n, {0, bytes});
    case 5:
      return binomial_all_reduce(n, {0, bytes});
    case 6:
      return recursive_doubling(n, {0, bytes});
    default:
      return halving_doubling(n, {0, bytes});
  }
}

RC_GTEST_PROP(SymmetricPath, EqualsTheGeneralPath, ()) {
  const auto nodes = *rc::gen::inRange<Rank>(1, 41);
  const auto gpus = *rc::gen::element<Rank>(1, 1, 1, 2, 3, 8);
  const auto bytes = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 100),
                                     rc::gen::inRange<std::int64_t>(0, 1'000'000'000));
  Cluster cluster{.nodes = nodes, .gpus_per_node = gpus};
  cluster.network = {Duration(*rc::gen::inRange(0, 100'000'000)),
                     {*rc::gen::inRange(1, 100'000) * 1.3e5}};
  cluster.intra_node = {Duration(*rc::gen::inRange(0, 10'000'000)),
                        {*rc::gen::inRange(1, 100'000) * 1.7e6}};
  cluster.reduction = {*rc::gen::element(0.0, 1e-11, 3.3e-10)};
  cluster.messages.eager_limit = {*rc::gen::inRange<std::int64_t>(0, 100'000)};
  cluster.messages.rendezvous_overhead = Duration(*rc::gen::inRange(0, 1'000'000));
  const auto programs = one(arbitrary_program(nodes, gpus, bytes));
  const Machine machine(cluster);
  const auto symmetric = symmetric_time(programs, machine, cluster.reduction, cluster.messages);
  RC_ASSERT(symmetric.has_value());
  RC_ASSERT(*symmetric == played_time(programs, machine, cluster.reduction, cluster.messages));
}

RC_GTEST_PROP(Programs, CarryTheDataAcrossAnyMachine, ()) {
  const auto n = *rc::gen::inRange<Rank>(1, 34);
  const auto bytes = *rc::gen::inRange<std::int64_t>(0, 600);
  Cluster cluster = star_cluster(n, {*rc::gen::element(0.0, 1e-9)});
  cluster.fifo_ports = *rc::gen::arbitrary<bool>();
  cluster.messages.store_and_forward = *rc::gen::arbitrary<bool>();
  const std::int64_t third = bytes / 3;
  // Several at once, of different shapes, contending for the ports.
  Programs programs;
  programs.push_back(ring_all_reduce(n, {0, third}));
  programs.push_back(halving_doubling(n, {third, third}));
  programs.push_back(tree_all_reduce(n, {2 * third, bytes - 2 * third}, 3, first_tree));
  RC_ASSERT(all_reduces(programs, n, bytes, cluster));
}

}  // namespace
}  // namespace steptime
