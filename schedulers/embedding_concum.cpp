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
#include "sim/mxnet/rank.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

Params concum_params() {
  Params params{{.key = "outstanding",
                 .kind = Kind::kInteger,
                 .help = "keys between two barriers",
                 .need = Need::kDefault,
                 .fallback = 2,
                 .range = {.low = 1, .high = 1e6}},
                {.key = "communicators",
                 .kind = Kind::kInteger,
                 .help = "key k uses number k modulo this; 0: one per key",
                 .need = Need::kDefault,
                 .fallback = 0,
                 .range = {.low = 0, .high = 1e6}},
                {.key = "barrier",
                 .kind = Kind::kText,
                 .help = "before or after the push of every outstanding-th key",
                 .need = Need::kDefault,
                 .fallback = "before",
                 .words = {"before", "after"}}};
  const Params pool = collective_pool_params();
  params.insert(params.end(), pool.begin(), pool.end());
  return mxnet_params(params);
}

class ConCum final : public Embedding {
 public:
  explicit ConCum(const Config& c)
      : Embedding(read_mxnet_settings(c, read_collective_pool(c))),
        outstanding_(c.get<std::int64_t>("outstanding")),
        communicators_(c.get<std::int64_t>("communicators")),
        barrier_before_(c.get<std::string>("barrier") == "before") {}

  std::int64_t communicators(std::int64_t keys) const override {
    return communicators_ == 0 ? keys : communicators_;
  }

 private:
  Process aggregate(MxnetRank& worker) const override {
    std::int64_t number = 0;
    for (const std::int32_t key : worker.keys()) {
      const bool is_due = number++ % outstanding_ == 0;
      if (is_due && barrier_before_) co_await worker.barrier();
      co_await worker.python_call();  // KVStore.Push
      co_await worker.copy_to_host(key);
      co_await worker.wait_for_host_buffer(key);
      co_await worker.push_all_reduce(key);
      if (is_due && !barrier_before_) co_await worker.barrier();
      co_await worker.pull(key);
      co_await worker.update(key);
    }
  }

  std::int64_t outstanding_;
  std::int64_t communicators_;
  bool barrier_before_;
};

const bool kRegistered = Embeddings::instance().add(
    "concum", "the engine's threads all-reduce a few keys at a time, each on its own communicator",
    concum_params(), [](const Config& c) { return std::make_unique<ConCum>(c); });

}  // namespace
}  // namespace steptime
