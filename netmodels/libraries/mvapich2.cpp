// MVAPICH2's all-reduce of GPU buffers, as it was and as paper 002 proposes (MPI-Opt): the faster
// of two algorithms, as tuning tables name one for each size.
//
//   recursive doubling    both: between the GPUs' buffers, in log2 N rounds; the CPU adds up.
//                         Before each round the library asks the driver what its pointers are:
//                         `queries` x `query`. A pointer cache leaves these out: whether the first
//                         look-up fills it or intercepted allocations do, it is full after the
//                         first message.
//   halving-doubling      both: half of the data goes to the nearest rank, as in MPICH, so that
//                         most of it stays in a node.
//                         MPI-Opt: between the GPUs' buffers; a kernel adds up, which takes
//                         `kernel` to start, and the GPU's gamma.
//                         As it was: on the host, between copies of `copy` and `call`, of which
//                         there are two where the buffer is reduced in place, and three where it is
//                         not (the receive buffer is copied to the host, too); the CPU adds up.
//
// Scope: the GDR release is closed: the copies are those of the open one.
// Parameters: above, and `reduction`, the CPU's gamma; alpha, beta and gamma are the cluster's.
// Source: 002 section V; MVAPICH2 2.3.3 src/mpi/coll/allreduce_osu.c
// MPIR_Allreduce_index_tuned_intra_MV2 (buffers from malloc, hence pageable copies); MPICH
// src/mpi/coll/allreduce (halving begins with processes that are distance 1 apart). A query takes
// 0.25 to 0.5 us (openucx/ucx pull 2362; rapidsai/ucx-py issue 402 has 0.33), pageable copies 5 to
// 6 GB/s (rapidsai/dask-cuda pull 98), a call of cudaMemcpy over 7 us (rapidsai/ucx-py issue 334),
// which the start of a kernel is assumed to take, too. Eight queries: two for a fragment at both
// ends (openucx/ucx pull 6115), of what is sent and of what is received. The CPU's sums: as for the
// backend `host`.
#include "netmodels/backends/host.h"
#include "netmodels/libraries/delayed.h"
#include "sim/collective/collective.h"
#include "sim/config/key_use.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {
namespace {

/// Recursive doubling or another algorithm. The less of two times that do not decrease with size
/// does not, either.
class Faster final : public Collective {
 public:
  Faster(std::shared_ptr<const Collective> doubling, std::shared_ptr<const Collective> other,
         std::string name)
      : doubling_(std::move(doubling)), other_(std::move(other)), name_(std::move(name)) {}
  Duration time(Bytes m) const override { return of(m).time(m); }
  Duration startup() const override { return time(Bytes{0}); }
  std::vector<Stage> stages(Bytes m) const override { return of(m).stages(m); }
  std::string outside_domain(Bytes m) const override { return of(m).outside_domain(m); }
  std::string choice(Bytes m) const override {
    return &of(m) == doubling_.get() ? "recursive-doubling" : name_;
  }
  std::optional<ErrorBound> error_bound() const override {
    const auto a = doubling_->error_bound();
    const auto b = other_->error_bound();
    if (!a || !b) return a ? a : b;
    return ErrorBound{std::min(a->least, b->least), std::max(a->most, b->most)};
  }
  Programs programs(Bytes m) const override { return of(m).programs(m); }

 private:
  const Collective& of(Bytes m) const {
    return doubling_->time(m) <= other_->time(m) ? *doubling_ : *other_;
  }
  std::shared_ptr<const Collective> doubling_;
  std::shared_ptr<const Collective> other_;
  std::string name_;
};

Param query() {
  return {.key = "query",
          .kind = Kind::kTime,
          .help = "of the driver, about one pointer",
          .need = Need::kDefault,
          .fallback = "0.5 us",
          .range = kNotNegative};
}
Param queries() {
  return {.key = "queries",
          .kind = Kind::kInteger,
          .help = "that a rank makes in a round",
          .need = Need::kDefault,
          .fallback = 8,
          .range = {.low = 0, .high = 1e6}};
}
Param reduction() {
  return {.key = "reduction",
          .kind = Kind::kTimePerByte,
          .help = "gamma of the CPU: the time to add one more byte of gradients",
          .need = Need::kDefault,
          .fallback = "0.25 ns/B",
          .range = kNotNegative};
}

const Params& params() {
  static const Params params{
      query(),
      queries(),
      reduction(),
      {.key = "call",
       .kind = Kind::kTime,
       .help = "of a copy, whatever it copies",
       .need = Need::kDefault,
       .fallback = "7 us",
       .range = kNotNegative},
      {.key = "copy",
       .kind = Kind::kBandwidth,
       .help = "between a GPU and pageable memory of its host",
       .need = Need::kDefault,
       .fallback = "5.5 GB/s",
       .range = kPositive},
      {.key = "in_place",
       .kind = Kind::kBoolean,
       .help = "one buffer holds what is sent and received, as Horovod has it; else, as in OSU's "
               "benchmark, two do",
       .need = Need::kDefault,
       .fallback = true}};
  return params;
}

const Params& opt_params() {
  static const Params params{{.key = "pointer_cache",
                              .kind = Kind::kBoolean,
                              .help = "what pointers are is known without asking the driver",
                              .need = Need::kDefault,
                              .fallback = true},
                             query(),
                             queries(),
                             reduction(),
                             {.key = "kernel",
                              .kind = Kind::kTime,
                              .help = "to start a kernel that adds up",
                              .need = Need::kDefault,
                              .fallback = "7 us",
                              .range = kNotNegative}};
  return params;
}

std::shared_ptr<const Collective> halving(const Cluster& cluster) {
  static const Params params = [] {
    Params all = Collectives::instance().items().at("halving-doubling").params;
    for (Param& p : all) {
      if (p.key == "first") p.fallback = "nearest";
    }
    return all;
  }();
  return Collectives::instance().make_from("halving-doubling", Config(params), cluster);
}

Cluster with_host_sums(const Config& c, Cluster cluster) {
  cluster.reduction = c.get<TimePerByte>("reduction");
  return cluster;
}

/// Of a round, where no cache knows the pointers.
Duration all_queries(const Config& c) {
  return from_seconds(to_seconds(c.get<Duration>("query")) *
                      static_cast<double>(c.get<std::int64_t>("queries")));
}

std::shared_ptr<const Collective> doubling(const Cluster& hosts, Duration queries) {
  return delayed(Collectives::instance().make_default("recursive-doubling", hosts),
                 {.per_step = queries, .reduction = hosts.reduction});
}

std::unique_ptr<Collective> as_it_was(const Config& c, const Cluster& cluster) {
  const Cluster hosts = with_host_sums(c, cluster);
  const HostCopies copies{.copy = inverse(c.get<Bandwidth>("copy")),
                          .call = c.get<Duration>("call"),
                          .before = c.get<bool>("in_place") ? 1 : 2,
                          .reduction = hosts.reduction};
  return std::make_unique<Faster>(doubling(hosts, all_queries(c)), on_host(halving(hosts), copies),
                                  "staged halving-doubling");
}

std::unique_ptr<Collective> opt(const Config& c, const Cluster& cluster) {
  const Duration queries = c.get<bool>("pointer_cache") ? Duration{} : all_queries(c);
  return std::make_unique<Faster>(
      doubling(with_host_sums(c, cluster), queries),
      delayed(halving(cluster), {.per_step = queries, .per_sum = c.get<Duration>("kernel")}),
      "halving-doubling");
}

const bool kUses = idle_beside("query", "pointer_cache", {true}) &&
                   idle_beside("queries", "pointer_cache", {true});

const bool kRegistered =
    Collectives::instance().add("mvapich2-gdr",
                                "MVAPICH2 on GPU buffers: pointer queries, large ones by the host",
                                params(), as_it_was) &&
    Collectives::instance().add("mpi-opt",
                                "MVAPICH2 with a pointer cache and kernels that add up, as 002",
                                opt_params(), opt);

}  // namespace
}  // namespace steptime
