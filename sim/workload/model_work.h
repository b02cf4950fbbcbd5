// What one rank computes, keeps and holds of a model whose layers are cut over tensor and context
// ranks: for one micro-batch, layer by layer, without communication.
#pragma once
#include "sim/config/config.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// How the layers of a model are cut.
struct ModelCut {
  std::int64_t tensor = 1;         ///< ranks that share every product of a layer
  std::int64_t context = 1;        ///< ranks that share the tokens of a sample
  bool sequence_parallel = false;  ///< what stands between products is cut over tensor ranks, too
};

/// A layer on one rank, for one micro-batch.
struct LayerWork {
  std::string name;
  Duration forward{};
  Duration input_gradient{};   ///< with all of the backward pass that cannot be told apart
  Duration weight_gradient{};  ///< which nobody but the optimizer waits for
  Duration attention{};  ///< the forward pass's part for scores, softmax and their sums of values
  Duration attention_gradient{};  ///< the same of input_gradient
  std::vector<Tensor> tensors{};  ///< tensors that the rank holds, in forward order
  Bytes kept{};                   ///< by the forward pass for the backward pass
  Bytes kept_attention{};  ///< the part of `kept` that attention keeps beside its inputs and result
  Bytes kept_input{};      ///< the part of `kept` that is the layer's input
  Bytes kept_norms{};      ///< the part of `kept` that norms of several kernels keep between these
  bool is_block = true;    ///< one of the layers that stages share out; else an embedding, or loss
  bool is_loss = false;    ///< logits and loss

  std::int64_t params() const;
};

/// How many bytes a parameter takes.
struct ParameterBytes {
  std::int64_t weight = 4;
  std::int64_t gradient = 4;
  std::int64_t optimizer = 0;  ///< its state, a master copy of the weight included
};

/// What ranks of a model send each other for one micro-batch; 0 where that is not known.
struct ExchangedBytes {
  Bytes hidden{};       ///< a rank's tokens between two layers, all of their values
  Bytes queries{};      ///< a rank's queries of a layer, of its heads
  Bytes keys_values{};  ///< and its keys and values
  /// `hidden` as ranks gather it for a product, which may be in a narrower type; none: the same.
  std::optional<Bytes> gathered{};
  Bytes maxima{};  ///< in each pass, a layer's largest values among all ranks that share its stage

  Bytes in_gathers() const { return gathered.value_or(hidden); }
};

struct ModelWork {
  std::vector<LayerWork> layers;  ///< in forward order
  ParameterBytes parameter{};
  ExchangedBytes exchanged{};
  Bytes logits{};                 ///< what the loss holds while it is computed
  Bytes context{};                ///< memory that driver and framework take
  std::optional<Bytes> device{};  ///< the memory of a GPU
  /// Multiprocessors of a GPU; none: it is not known.
  std::optional<std::int64_t> multiprocessors{};
  std::int64_t samples = 1;  ///< samples of a micro-batch
  std::int64_t tokens = 0;   ///< tokens of a sample; 0: it has none
  /// Of the embedding on a rank, which the loss uses, too; 0: it has weights of its own.
  std::int64_t tied_params = 0;
  double model_flops = 0;  ///< a sample's three passes, with attention as far as it is used
  /// The part of a sample's operations that one forward pass of attention is.
  double attention_flops = 0;
  double forward_flops = 0;  ///< one forward pass of all blocks
  double peak_flops = 0;     ///< the device's peak, operations a second
  /// What the optimizer takes for so many parameters; null: nothing.
  std::function<Duration(std::int64_t params)> update{};
  std::string model;
  std::string device_name;

  std::string domain = "inside";  ///< or what was extrapolated

  /// Layers that stages share out.
  std::int64_t blocks() const;
};

/// Turns a workload's "model" (the name of a shape), "device", "batch" and "sequence" into work:
/// implemented in models/.
class ShapeModel {
 public:
  static constexpr const char* kNoun = "shape-model";
  virtual ~ShapeModel() = default;
  /// Throws InputError through `request` for what it does not know, or cannot cut.
  virtual ModelWork work(const Config& request, const ModelCut& cut) const = 0;
};
using ShapeModels = Registry<ShapeModel>;

/// The model of a "workload" section, whose name is that of a shape. Throws InputError.
ModelWork read_shape(const Config& section, const ModelCut& cut);
/// The "workload" section of a layout: one micro-batch of one GPU that holds all of the model.
/// Throws InputError.
Workload read_micro_batch(const Config& section);
/// Micro-batches of a step, of so many samples on each of the replicas. Throws InputError.
std::int64_t micro_batches_of(const Config& section, std::int64_t samples, std::int64_t replicas);

/// Of a trace, whose passes nobody can cut: its backward times are all input gradients.
ModelWork work_of(const Workload& workload);
/// The step of one rank that holds all of the model.
Trace trace_of(const ModelWork& work);

}  // namespace steptime
