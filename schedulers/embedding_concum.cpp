// ConCum: the main thread waits for each gradient and hands its MPI_Allreduce to the engine's
// threads, each key on a communicator of its own; a barrier after every `outstanding` keys.
//
// Free of deadlock when outstanding keys have different communicators and either a thread each or a
// FIFO pool: then no call waits for another one that waits for it.
// Parameters: outstanding, communicators (0: one per key), barrier before the push of every
// outstanding-th key or after it (the figure leaves it open), threads and order of the pool, and
// those of every embedding (sim/mxnet/embedding.cpp).
// Source: 000 figures 7 to 9.
#include "sim/mxnet/embedding.h"
#include "sim/mxnet/mpi_rank.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

/// The main-thread program's own settings.
struct Window {
  std::int64_t outstanding = 2;    ///< keys between two barriers
  std::int64_t communicators = 0;  ///< key k uses number k modulo this; 0: one per key
  bool barrier_after = false;      ///< the push of every outstanding-th key; else before it
};

const Bindings<Window>& window_keys() {
  static const Bindings<Window> keys{
      {&Window::outstanding, "outstanding", "keys between two barriers", 2, between(1, 1e6)},
      {&Window::communicators, "communicators", "key k uses number k modulo this; 0: one per key",
       0, between(0, 1e6)},
      {&Window::barrier_after, "barrier", "before or after the push of every outstanding-th key",
       "before", one_of("before", "after")}};
  return keys;
}

class ConCum final : public Embedding {
 public:
  ConCum(const MxnetSettings& settings, Window window) : Embedding(settings), window_(window) {}

  std::int64_t communicators(std::int64_t keys) const override {
    return window_.communicators == 0 ? keys : window_.communicators;
  }

 private:
  Task aggregate(MpiRank& worker) const override {
    std::int64_t number = 0;
    for (const std::int32_t key : worker.keys()) {
      const bool is_due = number++ % window_.outstanding == 0;
      if (is_due && !window_.barrier_after) co_await worker.barrier();
      co_await worker.python_call();  // KVStore.Push
      co_await worker.copy_to_host(key);
      co_await worker.wait_for_host_buffer(key);
      co_await worker.push_all_reduce(key);
      if (is_due && window_.barrier_after) co_await worker.barrier();
      co_await worker.pull(key);
      co_await worker.use(key);
    }
  }

  Window window_;
};

const Bindings<MxnetSettings> kKeys = collective_pool_keys().with(mxnet_keys());

Params params() {
  Params all = window_keys().params();
  all.insert(all.end(), kKeys.params().begin(), kKeys.params().end());
  return all;
}

const bool kRegistered = Embeddings::instance().add(
    "concum", "the engine's threads all-reduce a few keys at a time, each on its own communicator",
    params(),
    [](const Config& c) { return std::make_unique<ConCum>(kKeys.read(c), window_keys().read(c)); });

}  // namespace
}  // namespace steptime
