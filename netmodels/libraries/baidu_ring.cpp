// Baidu's all-reduce: a ring over MPI's sends and receives on GPU buffers. The cut is that of the
// collective `ring`; after each of the N - 1 steps that reduce, the host starts a kernel that adds
// up and waits for its stream.
//
//   a = 2 (N - 1) alpha + (N - 1) kernel      b = that of `ring`
//
// Scope: as `ring`. The copy from the input to the output of the call, within the GPU, is left out.
// Parameters: kernel [time]; alpha, beta and gamma are those of the cluster. Assumed: a call of
// CUDA takes 7 us (rapidsai/ucx-py issue 334), and there are two.
// Source: baidu-research/baidu-allreduce 73c7b7f8 collectives.cu; tensorflow
// contrib/mpi_collectives.
#include "netmodels/libraries/delayed.h"
#include "sim/collective/collective.h"

namespace steptime {
namespace {

const Params kParams{{.key = "kernel",
                      .kind = Kind::kTime,
                      .help = "to start a kernel that adds up, and to wait for its end",
                      .need = Need::kDefault,
                      .fallback = "14 us",
                      .range = kNotNegative}};

const bool kRegistered = Collectives::instance().add(
    "baidu-ring", "Baidu's ring over MPI's sends, with a kernel for each sum", kParams,
    [](const Config& c, const Cluster& cluster) {
      return delayed(Collectives::instance().make_default("ring", cluster),
                     {.per_sum = c.get<Duration>("kernel")});
    });

}  // namespace
}  // namespace steptime
