// DepCha: all pushes (copies to the host) first, then all pulls: all-reduce and copy back in one
// operation of the engine, chained in push order by a dummy variable that every one of them
// mutates. The main thread waits for none of it.
//
// Figure 12 prints a CopyFromTo inside the operation, which would be a new operation queued behind
// the update that waits for it; the copy is part of the operation here.
// Parameters: threads and order of the pool that runs the chain, and those of every embedding
// (sim/mxnet/embedding.cpp).
// Source: 000 figures 10 to 12.
#include "sim/mxnet/embedding.h"
#include "sim/mxnet/mpi_rank.h"

#include <memory>

namespace steptime {
namespace {

class DepCha final : public Embedding {
 public:
  using Embedding::Embedding;

 private:
  Task aggregate(MpiRank& worker) const override {
    for (const std::int32_t key : worker.keys()) {
      co_await worker.python_call();  // KVStore.Push
      co_await worker.copy_to_host(key);
    }
    for (const std::int32_t key : worker.keys()) {
      co_await worker.python_call();  // KVStore.Pull
      co_await worker.push_chained_all_reduce(key);
      co_await worker.use(key);
    }
  }
};

const Bindings<MxnetSettings> kKeys = collective_pool_keys().with(mxnet_keys());

const bool kRegistered = Embeddings::instance().add(
    "depcha", "the engine's threads all-reduce, in an order that a dummy variable enforces",
    kKeys.params(), [](const Config& c) { return std::make_unique<DepCha>(kKeys.read(c)); });

}  // namespace
}  // namespace steptime
