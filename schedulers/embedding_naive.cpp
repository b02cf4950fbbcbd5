// Naive: push hands MPI_Allreduce to the engine's threads, which take what is ready, all
// on one communicator. Ranks whose gradients become ready in another order call in another order,
// and deadlock: 000 section 2.3.
//
// Parameters: threads and order of the pool that runs the collectives, and those of every embedding
// (sim/mxnet/embedding.cpp).
// Source: 000 figures 5 and 6, with the push that section 4.1 says is wrong.
#include "sim/mxnet/embedding.h"
#include "sim/mxnet/mpi_rank.h"

#include <memory>

namespace steptime {
namespace {

class NaiveEmbedding final : public Embedding {
 public:
  using Embedding::Embedding;

 private:
  Task aggregate(MpiRank& worker) const override {
    for (const std::int32_t key : worker.keys()) {
      co_await worker.python_call();  // KVStore.Push
      co_await worker.copy_to_host(key);
      co_await worker.push_all_reduce(key);
      co_await worker.pull(key);
      co_await worker.use(key);
    }
  }
};

const Bindings<MxnetSettings> kKeys = collective_pool_keys().with(mxnet_keys());

const bool kRegistered = Embeddings::instance().add(
    "naive", "the engine's threads all-reduce what is ready on one communicator: can deadlock",
    kKeys.params(),
    [](const Config& c) { return std::make_unique<NaiveEmbedding>(kKeys.read(c)); });

}  // namespace
}  // namespace steptime
