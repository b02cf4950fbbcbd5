// Memory of a step = weights + gradients + optimizer's state + what the forward pass keeps for the
// backward pass + the context of driver and framework.
//
// A layer with X input and Y output values per sample keeps
//
//   kind                       values
//   with macs, batch-norm, layer-norm
//                              X
//   activation                 X in networks on sequences; else none: it works in place, and its
//                              result counts where it goes in
//   dropout                    Y, of a byte each: the mask
//   pooling                    X, and Y positions of 8 bytes
//   lrn                        X + Y
//   softmax                    Y, unless the next layer keeps it; at the end X + 2Y: the loss, with
//                              the first gradient
//   add, concat, embedding     none
//
// where X are the values that the table says are kept, of those that say so: none of an input that
// an earlier layer has kept, as the products of queries, keys and values have one. So a model's
// table and its shape (models/transformer_work.cpp) count the same, and memory_bytes is that of a
// layout of ones but for what memory_test.cpp derives: logits, indices of the embedding, norms
// under autocast.
//
// Fused attention keeps queries, keys and values, and a float32 sum of each head's softmax for each
// token; its result counts where it goes in. Values have the precision's bytes; in mixed precision
// those of layer norm and softmax in networks on sequences are float32, and a copy of the weights
// in the precision is kept.
//
// Scope: PyTorch without checkpointing, in mixed precision under autocast, on one device; shapes
// are as Megatron-LM has them, with norms and softmax in the precision. Not counted: workspaces of
// cuDNN, what the allocator cannot use, copies of gradients in buckets (DistributedDataParallel
// without gradient_as_bucket_view): it is the least that a step needs. Branches of convolutional
// networks that share an input count it each.
// Parameters: none. kDriverContext: PyTorch with CUDA 11.7 or later loads kernels as they are
// needed: 300 to 430 MB (pytorch/pytorch issues 107667 and 109888); before, 1.0 to 1.4 GB.
// Validation: tests/models/memory_test.cpp: three published peaks of BERT-Large are 4 to 13 %
// higher.
#include "models/memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace steptime {
namespace {

constexpr double kPositionBytes = 8;
constexpr double kWideBytes = 4;

class Activations {
 public:
  Activations(const LayerTable& table, const Device& device, const Training& training)
      : table_(table),
        fuses_attention_(device.fuses_attention),
        value_bytes_(static_cast<double>(bytes_of(training.precision))),
        wide_bytes_(table.has_sequences && training.is_mixed() ? kWideBytes : value_bytes_) {}

  /// B per sample.
  double bytes() const {
    double sum = 0;
    for (std::size_t i = 0; i < table_.layers.size(); ++i) {
      const std::size_t parts = fuses_attention_ ? attention_at(table_, i) : 0;
      if (parts == 0) {
        sum += kept(i);
        continue;
      }
      const TableLayer& scores = table_.layers[i];
      const TableLayer& softmax = table_.layers[i + 1];
      const TableLayer& result = table_.layers[i + parts - 1];
      const auto values = static_cast<double>(result.output);
      sum += (attention_values(table_, i, parts) - values) * value_bytes_;
      // Multiply-accumulates of the scores over the result's values: tokens.
      sum += kWideBytes * static_cast<double>(softmax.output) * values /
             static_cast<double>(scores.macs);
      i += parts - 1;
    }
    return sum;
  }

 private:
  double kept(std::size_t i) const {
    const TableLayer& layer = table_.layers[i];
    const auto x = static_cast<double>(layer.keeps.value_or(layer.input));
    const auto y = static_cast<double>(layer.output);
    switch (layer.kind) {
      case LayerKind::kConvolution:
      case LayerKind::kDepthwiseConvolution:
      case LayerKind::kFullyConnected:
      case LayerKind::kMatrixProduct:
      case LayerKind::kBatchNorm:
        return x * value_bytes_;
      case LayerKind::kLayerNorm:
        return x * wide_bytes_;
      case LayerKind::kActivation:
        return table_.has_sequences || layer.keeps ? x * value_bytes_ : 0;
      case LayerKind::kDropout:
        return y;
      case LayerKind::kPooling:
        return x * value_bytes_ + y * kPositionBytes;
      case LayerKind::kLrn:
        return (x + y) * value_bytes_;
      case LayerKind::kSoftmax:
        if (i + 1 == table_.layers.size()) return (x + 2 * y) * wide_bytes_;
        return table_.layers[i + 1].kind == LayerKind::kMatrixProduct ? 0 : y * wide_bytes_;
      case LayerKind::kAdd:
      case LayerKind::kConcat:
      case LayerKind::kEmbedding:
        return layer.keeps ? x * value_bytes_ : 0;
    }
    return 0;
  }

  const LayerTable& table_;
  bool fuses_attention_;
  double value_bytes_;
  double wide_bytes_;
};

/// At most an exabyte, so that the sum has a value, too.
Bytes in_bytes(double bytes) {
  return {std::llround(std::min(bytes, 1e18))};
}

}  // namespace

TrainingMemory training_memory(const LayerTable& table, const Device& device, std::int64_t batch,
                               const Training& training) {
  double params = 0;
  for (const TableLayer& layer : table.layers) {
    for (const Tensor& tensor : layer.tensors)
      params += static_cast<double>(tensor.params);
  }
  const auto weight_bytes = static_cast<double>(training.weight_bytes);
  const auto casts = static_cast<double>(training.is_mixed() ? bytes_of(training.precision) : 0);
  return {.weights = in_bytes(params * (weight_bytes + casts)),
          .gradients = in_bytes(params * weight_bytes),
          .optimizer = in_bytes(params * weight_bytes * training.optimizer.state),
          .activations =
              in_bytes(static_cast<double>(batch) * Activations(table, device, training).bytes()),
          .context = kDriverContext,
          .device = device.memory};
}

}  // namespace steptime
