// Module: MXNet's Module API. One process drives all GPUs of a node; its main thread pushes and
// pulls every key, with the optimizer on the kvstore, and waits only for the training metric; the
// merge of a "kvstore" adds up, and with servers its processes meet there. With one GPU and no
// server there is no kvstore: it calls the optimizer alone.
//
// Parameters: as of every embedding (sim/mxnet/settings.cpp), but for those of copies to the host
// and of jitter; gpu_operation.
// Source: sim/mxnet/module_step.h.
#include "sim/mxnet/embedding.h"

#include <array>
#include <memory>
#include <string_view>

namespace steptime {
namespace {

class Module final : public Embedding {
 public:
  using Embedding::Embedding;
  void check(const Config& strategy, const Aggregation& aggregation,
             const Update& update) const override {
    if (merge(aggregation) == nullptr) {
      strategy.fail("embedding", "drives a kvstore; elsewhere expected {\"type\": \"async\"}");
    }
    if (aggregation.issuing.any()) {
      strategy.object("aggregation", any_keys())
          .fail("issue_time", "is python_call of the embedding, as updater_time is; expected 0 s");
    }
    if (update.sends_parameters()) {
      strategy.fail("update",
                    "sends parameters, but the module's optimizer is on the kvstore, which adds up "
                    "gradients; expected sgd, with servers also asgd, or an embedding {\"type\": "
                    "\"async\"}");
    }
  }
  const Merge* merge(const Aggregation& aggregation) const override {
    if (aggregation.alone) return aggregation.alone.get();
    if (aggregation.beyond) return aggregation.merge_in_nodes.get();
    return Embedding::merge(aggregation);
  }
};

Bindings<MxnetSettings> keys() {
  constexpr std::array<std::string_view, 7> kShared{
      "key_order", "priority", "bulk", "python_call", "engine_push", "wake_up", "update"};
  return mxnet_keys().only(kShared).with(
      {{&MxnetSettings::gpu_operation, "gpu_operation",
        "of a copy, a sum or an update on a GPU, besides its bytes", "15 us", kNotNegative}});
}

const bool kRegistered = Embeddings::instance().add(
    "module", "MXNet's Module API: one process for all GPUs, with a kvstore", keys().params(),
    [](const Config& c) { return std::make_unique<Module>(keys().read(c)); });

}  // namespace
}  // namespace steptime
