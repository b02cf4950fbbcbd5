// Module: MXNet's Module API on one node. One process drives all GPUs; its main thread pushes and
// pulls every key, with the optimizer on the kvstore, and waits only for the training metric; the
// merge of a "kvstore" adds up.
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
  bool has_one_process() const override { return true; }
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
