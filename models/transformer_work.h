// What a layer of a transformer costs a rank: time on a device, floating-point operations, bytes
// that its forward pass keeps. See models/transformer_work.cpp.
#pragma once
#include "models/device.h"
#include "models/roofline.h"
#include "models/transformer.h"
#include "sim/core/units.h"

#include <cstdint>
#include <string>

namespace steptime {

/// Of a micro-batch, what a rank has. `tensor` divides heads, kv_heads, ffn and vocabulary,
/// `context` the sequence.
struct ShapeCut {
  std::int64_t samples = 1;
  std::int64_t sequence = 1;  ///< tokens of a sample
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  bool sequence_parallel = false;  ///< tensor ranks split norms, residuals and dropout, too

  double tokens() const {
    return static_cast<double>(samples) * static_cast<double>(sequence) /
           static_cast<double>(context);
  }
};

/// How attention is computed.
enum class AttentionKernel : std::uint8_t {
  kUnfused,    ///< products, and scores in memory between them: the whole core
  kFused,      ///< one kernel, which leaves out what the causal mask hides: FlashAttention-2, cuDNN
  kFirstFused  ///< the same of the first generation: FlashAttention-1, in CUDA or Triton
};

/// How a framework makes kernels of a layer's operators.
struct Software {
  AttentionKernel attention = AttentionKernel::kFused;
  bool fuses_operators = true;  ///< norms, activations, residuals; else they move values more often
  bool fuses_loss = false;      ///< no copies of the logits in float32
  std::string products{};       ///< the recipe of products narrower than the precision; "": none
  Duration host_per_kernel{};   ///< the host launches one kernel in this time
  bool gathers_products = false;  ///< tensor ranks gather values in the type of `products`
  bool delays_scales = false;     ///< products in float8 take scales of steps before
  /// A value that a narrow product has kept of its input, for its weights' gradient, B; 0: as wide
  /// as the precision.
  double kept_bytes = 0;

  bool fuses_attention() const { return attention != AttentionKernel::kUnfused; }
};
/// Where nothing is said: attention as the device's file has it.
Software usual_software(const Device& device);

/// Of one micro-batch, without communication.
struct PassWork {
  Duration forward{};
  Duration input_gradient{};
  Duration weight_gradient{};
  Duration backward() const { return input_gradient + weight_gradient; }
};

PassWork layer_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                    const Training& training, const Software& software);
/// Scores, softmax and their product with the values: of a layer's forward pass what selective
/// recomputation does again.
Duration attention_core_forward(const TransformerShape& shape, const ShapeCut& cut,
                                const Device& device, const Training& training,
                                const Software& software);
PassWork embedding_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                        const Training& training, const Software& software);
/// Final norm, logits and loss.
PassWork head_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                   const Training& training, const Software& software);
/// Gradient norm, update and zeroed gradients of so many parameters of a rank.
Duration optimizer_time(std::int64_t parameters, const Device& device, const Training& training);

/// Bytes that a layer's forward pass keeps for its backward pass, of one micro-batch. All of them
/// are whole(); selective recomputation keeps selective(), full recomputation `input`, and while a
/// layer is done again the others are there, too.
struct LayerMemory {
  Bytes input{};           ///< the layer's input; as much goes to the next stage of a pipeline
  Bytes operators{};       ///< what its operators keep, but for the attention core's
  Bytes attention_core{};  ///< softmax and dropout between queries and values; none where fused
  Bytes norms{};  ///< the part of `operators` that norms of several kernels keep between these
  Bytes selective() const { return input + operators; }
  Bytes whole() const { return selective() + attention_core; }
};
LayerMemory layer_memory(const TransformerShape& shape, const ShapeCut& cut,
                         std::int64_t value_bytes, const Software& software);
/// Tokens, and the mask of the embedding's dropout.
Bytes embedding_memory(const TransformerShape& shape, const ShapeCut& cut);
/// Of the last stage.
struct HeadMemory {
  Bytes inputs{};  ///< inputs of the final norm and of the head's product
  Bytes logits{};  ///< in the precision, in float32, and their gradient
};
HeadMemory head_memory(const TransformerShape& shape, const ShapeCut& cut, std::int64_t value_bytes,
                       bool fuses_loss);

/// Forward multiply-accumulates of one sample of the whole model, as a layer table counts them:
/// products with weights, and attention without its mask.
std::int64_t multiply_accumulates(const TransformerShape& shape, std::int64_t sequence);

/// Forward floating-point operations of one sample of the whole model.
struct SampleFlops {
  double layers = 0;          ///< products with the layers' weights
  double attention_core = 0;  ///< without the mask
  double head = 0;
  /// With the causal mask, half of the core.
  double forward() const { return layers + attention_core / 2 + head; }
  /// Of training: a backward pass is two forward passes. Megatron-LM's convention of today.
  double model() const { return 3 * forward(); }
  /// What the device does beside, when all layers are done again; only their attention.
  double full_recompute() const { return layers + attention_core / 2; }
  double selective_recompute() const { return attention_core / 2; }
};
SampleFlops sample_flops(const TransformerShape& shape, std::int64_t sequence);

}  // namespace steptime
