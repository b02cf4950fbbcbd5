// Funnel: the main thread waits for each gradient and calls MPI_Allreduce itself. One collective at
// a time, and every call of the main thread is serial with it.
//
// Parameters: those of every embedding (sim/mxnet/embedding.cpp).
// Source: 000 figures 5 to 7.
#include "sim/mxnet/embedding.h"
#include "sim/mxnet/mpi_rank.h"

#include <memory>

namespace steptime {
namespace {

class Funnel final : public Embedding {
 public:
  using Embedding::Embedding;
  bool waits_in_calls() const override { return true; }

 private:
  Task aggregate(MpiRank& worker) const override {
    for (const std::int32_t key : worker.keys()) {
      co_await worker.python_call();  // KVStore.Push
      co_await worker.copy_to_host(key);
      co_await worker.wait_for_host_buffer(key);
      co_await worker.all_reduce(key);
      co_await worker.pull(key);
      co_await worker.use(key);
    }
  }
};

const bool kRegistered = Embeddings::instance().add(
    "funnel", "the main thread waits for each gradient and all-reduces it", mxnet_keys().params(),
    [](const Config& c) { return std::make_unique<Funnel>(mxnet_keys().read(c)); });

}  // namespace
}  // namespace steptime
