// Funnel: the main thread waits for each gradient and calls MPI_Allreduce itself. One collective at
// a time, and every call of the main thread is serial with it.
//
// Parameters: those of every embedding (sim/embedding.cpp).
// Source: 000 figures 5 to 7.
#include "sim/embedding.h"

#include <memory>

namespace steptime {
namespace {

class Funnel final : public Embedding {
 public:
  using Embedding::Embedding;

  MainThread main_thread(Worker& worker) const override {
    while (worker.next_batch()) {
      co_await worker.forward_backward();
      for (const std::int32_t key : worker.keys()) {
        co_await worker.python_call();
        co_await push(worker, key);
        co_await worker.python_call();
        co_await pull(worker, key);
        co_await worker.python_call();
        co_await worker.sgd_update(key);
      }
      co_await worker.update_metric();
    }
  }

 private:
  static MainThread push(Worker& worker, std::int32_t key) {
    co_await worker.copy_to_host(key);
    co_await worker.wait_for_host_buffer(key);
    co_await worker.all_reduce(key);
  }
  static MainThread pull(Worker& worker, std::int32_t key) { co_await worker.copy_to_device(key); }
};

const bool kRegistered = Embeddings::instance().add(
    "funnel", "the main thread waits for each gradient and all-reduces it", worker_params({}),
    [](const Config& c) { return std::make_unique<Funnel>(read_worker_settings(c, {})); });

}  // namespace
}  // namespace steptime
