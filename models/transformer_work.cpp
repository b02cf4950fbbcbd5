// Work of a transformer's layer, cut over ranks, from its operators.
//
// Scope: one micro-batch on one rank, without communication and without the host. Kernels of a
// layer with T tokens, hidden h, a heads of queries and k of keys of e values, f values in the
// feed-forward network, s tokens in a sequence, over t tensor ranks:
//
//   kind                 flops, or values moved, per token        of a rank
//   products             2 x inputs x outputs: h x (a + 2k) e, a e x h, h x f (2f gated), f x h
//                                                                 / t: the first of each block
//                                                                 divides outputs, the second
//                                                                 inputs
//   attention            4 s a e; fused: queries, keys, values, result; else the scores a s, too:
//                        4 times, with dropout 6.5; backward 7 and 9.5
//                                                                 / t
//   activation           2f, gated 3f                             / t
//   rotary positions     2 (a + k) e                              / t
//   norms                2h each                                  / t with sequence parallelism
//   residuals            3h each, with dropout and its mask 3.5h  / t with sequence parallelism
//
// Backward a product is made twice, for the gradient of its input and for that of its weights,
// which in mixed precision is added to float32 values; other kernels move kBackwardTraffic times as
// much. A product of M x K by K x N values reaches share x K / (K + half size) x waves of the peak,
// where M x N comes in tiles of 128 x 256, of which the multiprocessors make one each at a time:
// waves is how full these rounds are. A fused attention computes half of the core, as the causal
// mask says, at its own share of the peak. Without rates of transformers a device has those of its
// other networks: no waves, and fused attention at half of the share of products.
//
// Products of a narrower type than the precision have their own peak, share and half size; their
// inputs are cast: kCastValues are moved for each. Attention, logits and all else stay as they are.
// Where the host takes longer to launch a pass's kernels than the device to work on them, the pass
// takes as long as the host.
//
// Parameters: the device's. kBackwardTraffic [1]. Assumed: the tile, and that a first-generation
// fused attention takes kFirstFusedTime times as long.
// Validation: tests/models/transformer_work_test.cpp: activations of arXiv 2205.05198 (table 2,
// figures 1 and 7), operations of layer tables. No time is validated.
// Source: operators of Megatron-LM; activations: arXiv 2205.05198 section 4; logits, embedding:
// Megatron-LM@d98e8a64 megatron/training/theoretical_memory_usage.py; of a fused loss
// megatron/core/tensor_parallel/cross_entropy.py, whose exp and div_ work in place; norms of
// several kernels: torchtitan@ba246978 torchtitan/models/norms.py (RMSNorm), and of gates
// torchtitan/models/llama/model.py FeedForward: F.silu(w1(x)) * w3(x).
#include "models/transformer_work.h"

#include "models/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Gradients read what the forward pass read, and write one more.
constexpr double kBackwardTraffic = 1.7;
constexpr double kFloatBytes = 4;
constexpr double kTokenBytes = 8;
/// Of a value of two bytes, what the mask of a dropout has.
constexpr double kMask = 0.5;
constexpr double kMostCount = 9e18;
/// Of a product's result that a multiprocessor makes at a time.
constexpr double kTileRows = 128;
constexpr double kTileColumns = 256;
/// Moved for each input of a product in 8 bits: it is read in two bytes and written in one, and
/// once more transposed, for the weights' gradient.
constexpr double kCastValues = 2;
/// FlashAttention-2 takes 1.7 to 3.0 times less than the first one (Dao 2023, arXiv 2307.08691
/// section 4.1): the lower end, which is that of long sequences.
constexpr double kFirstFusedTime = 1.7;

double real(std::int64_t count) {
  return static_cast<double>(count);
}

/// At most an exabyte, so that sums have a value, too.
Bytes rounded(double bytes) {
  return {std::llround(std::min(bytes, 1e18))};
}

/// Sizes on a rank.
struct Part {
  Part(const TransformerShape& shape, const ShapeCut& cut)
      : tokens(cut.tokens()),
        sequence(real(cut.sequence)),
        tensor(real(cut.tensor)),
        outside(cut.sequence_parallel ? tensor : 1),
        hidden(real(shape.hidden)),
        heads(real(shape.heads) / tensor),
        queries(real(shape.query_width()) / tensor),
        keys(real(shape.key_width()) / tensor),
        ffn(real(shape.ffn) / tensor),
        vocabulary(real(shape.vocabulary) / tensor) {}

  double tokens;
  double sequence;
  double tensor;
  double outside;  ///< ranks that split what is not between the two products of a block
  double hidden;
  double heads;
  double queries;
  double keys;
  double ffn;
  double vocabulary;
};

/// How fast the products and the attention of a shape are on a device.
class Rates {
 public:
  Rates(const Device& device, const Training& training, const Software& software)
      : peak_(device.precisions.at(training.precision).flops),
        old_(device.precisions.at(training.precision)),
        multiprocessors_(device.multiprocessors ? real(*device.multiprocessors) : 0) {
    if (const auto own = device.transformers.find(training.precision);
        own != device.transformers.end())
      wide_ = own->second;
    narrow_ = software.products.empty() ? wide_ : device.transformers.at(software.products);
    attention_ = (wide_ ? wide_->attention_efficiency : old_.gemm_efficiency / 2) /
                 (software.attention == AttentionKernel::kFirstFused ? kFirstFusedTime : 1);
    traffic_ = wide_ && !software.fuses_operators ? wide_->unfused_traffic : 1;
  }

  /// Shares of the precision's peak: what a product of m x k by k x n values reaches,
  double product(double m, double n, double k, bool is_narrow) const {
    const std::optional<TransformerRates>& of = is_narrow ? narrow_ : wide_;
    if (!of) {
      // As a layer of any network: a function of its channels, whichever the pass.
      return old_.gemm_efficiency / product_flops(1, k, n, old_);
    }
    return of->gemm_efficiency * k / (k + of->gemm_half_size) * waves(m, n) * of->flops / peak_;
  }
  /// the products of scores and of values,
  double scores() const { return wide_ ? wide_->gemm_efficiency : old_.gemm_efficiency; }
  /// and a fused attention.
  double attention() const { return attention_; }
  /// How often kernels that are neither move their values.
  double traffic() const { return traffic_; }
  /// Products of all passes are shaped as the forward pass's.
  bool is_of_channels() const { return !wide_; }

 private:
  double waves(double m, double n) const {
    if (multiprocessors_ == 0) return 1;
    const double tiles = std::ceil(m / kTileRows) * std::ceil(n / kTileColumns);
    return tiles / rounded_up(tiles, multiprocessors_);
  }

  double peak_;
  const Arithmetic& old_;
  double multiprocessors_;
  std::optional<TransformerRates> wide_{};
  std::optional<TransformerRates> narrow_{};
  double attention_ = 1;
  double traffic_ = 1;
};

/// Adds up the kernels of a pass over a micro-batch.
class Work {
 public:
  Work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
       const Training& training, const Software& software)
      : shape_(shape),
        part_(shape, cut),
        time_(device, training.precision),
        rates_(device, training, software),
        is_mixed_(training.is_mixed()),
        software_(software) {}

  PassWork layer() {
    norm();
    product(part_.hidden, part_.queries + 2 * part_.keys);
    if (shape_.positions == 0) moves(2 * (part_.queries + part_.keys));
    attention_core();
    product(part_.queries, part_.hidden);
    residual();
    norm();
    product(part_.hidden, (shape_.gated ? 2 : 1) * part_.ffn);
    moves((shape_.gated ? 3 : 2) * part_.ffn);
    product(part_.ffn, part_.hidden);
    residual();
    return rounded();
  }

  PassWork core() {
    attention_core();
    return rounded();
  }

  PassWork embedding() {
    const double h = part_.hidden;
    forward({.values = 2 * h});
    // Zeroes, to which rows are added.
    weight_gradient({.values = 2 * h, .weights = part_.vocabulary * h});
    if (shape_.positions > 0) {
      forward({.values = 3 * h});
      weight_gradient({.values = 2 * h, .weights = real(shape_.positions) * h});
    }
    if (shape_.dropout) {
      const Kernel dropout{.values = (2 + kMask) * h / part_.outside};
      forward(dropout);
      weight_gradient(dropout);
    }
    return rounded();
  }

  PassWork head() {
    norm();
    product(part_.hidden, part_.vocabulary, true);
    // In mixed precision in float32, in copies of it, unless the loss is one kernel.
    const bool copies = is_mixed_ && !software_.fuses_loss;
    const Kernel loss{.values = 2 * part_.vocabulary * (copies ? 4 : 1)};
    forward(loss);
    input_gradient(loss);
    return rounded();
  }

 private:
  struct Pass {
    double seconds = 0;
    double kernels = 0;
  };
  void add(Pass& pass, const Kernel& kernel) {
    pass.seconds += time_.seconds(kernel, part_.tokens);
    ++pass.kernels;
  }
  void forward(const Kernel& kernel) { add(forward_, kernel); }
  void input_gradient(const Kernel& kernel) { add(input_, kernel); }
  void weight_gradient(const Kernel& kernel) { add(weight_, kernel); }

  /// `is_wide`: in the precision, whatever the recipe of products.
  void product(double inputs, double outputs, bool is_wide = false) {
    const bool is_narrow = !is_wide && !software_.products.empty();
    const auto kernel = [&](double m, double n, double k) {
      return Kernel{.flops = 2 * inputs * outputs,
                    .efficiency = rates_.product(m, n, k, is_narrow),
                    .values = inputs + outputs,
                    .weights = inputs * outputs};
    };
    const double t = part_.tokens;
    const Kernel there = kernel(t, outputs, inputs);
    forward(there);
    if (is_narrow) forward_.seconds += cast(inputs);
    const bool alike = rates_.is_of_channels();
    input_gradient(alike ? there : kernel(t, inputs, outputs));
    if (is_narrow) input_.seconds += cast(outputs);
    Kernel of_weights = alike ? there : kernel(inputs, outputs, t);
    if (is_mixed_) of_weights.weights *= 4;  // read and written in float32
    weight_gradient(of_weights);
  }
  /// Seconds, in a kernel that makes the values, too.
  double cast(double values) const {
    return time_.seconds({.values = kCastValues * values}, part_.tokens) - time_.overhead();
  }

  void moves(double values) {
    forward({.values = rates_.traffic() * values});
    input_gradient({.values = kBackwardTraffic * rates_.traffic() * values});
  }

  void norm() { moves(2 * part_.hidden / part_.outside); }
  void residual() { moves((shape_.dropout ? 3 + kMask : 3) * part_.hidden / part_.outside); }

  void attention_core() {
    const double flops = 2 * part_.sequence * part_.queries;  // of each product
    if (software_.fuses_attention()) {
      // Half of both products; backward the scores are made again: 5 products for 2.
      const double values = 2 * (part_.queries + part_.keys);
      forward({flops, rates_.attention(), values});
      input_gradient({2.5 * flops, rates_.attention(), 2 * values});
      return;
    }
    const double scores = part_.heads * part_.sequence;
    const Kernel of_heads{.flops = flops,
                          .efficiency = rates_.scores(),
                          .values = part_.queries + part_.keys + scores};
    const Kernel dropout{.values = (2 + kMask) * scores};
    forward(of_heads);
    forward({.values = 2 * scores});
    if (shape_.dropout) forward(dropout);
    forward(of_heads);
    // Two gradients of each product; the softmax's of its result and of that one's gradient.
    for (int product = 0; product < 4; ++product)
      input_gradient(of_heads);
    if (shape_.dropout) input_gradient(dropout);
    input_gradient({.values = 3 * scores});
  }

  Duration rounded(const Pass& pass) const {
    return from_seconds(
        std::max(pass.seconds, pass.kernels * to_seconds(software_.host_per_kernel)));
  }
  PassWork rounded() const { return {rounded(forward_), rounded(input_), rounded(weight_)}; }

  const TransformerShape& shape_;
  Part part_;
  KernelTime time_;
  Rates rates_;
  bool is_mixed_;
  const Software& software_;
  Pass forward_;
  Pass input_;
  Pass weight_;
};

}  // namespace

Software usual_software(const Device& device) {
  return {.attention =
              device.fuses_attention ? AttentionKernel::kFused : AttentionKernel::kUnfused};
}

PassWork layer_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                    const Training& training, const Software& software) {
  return Work(shape, cut, device, training, software).layer();
}

Duration attention_core_forward(const TransformerShape& shape, const ShapeCut& cut,
                                const Device& device, const Training& training,
                                const Software& software) {
  return Work(shape, cut, device, training, software).core().forward;
}

PassWork embedding_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                        const Training& training, const Software& software) {
  return Work(shape, cut, device, training, software).embedding();
}

PassWork head_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                   const Training& training, const Software& software) {
  return Work(shape, cut, device, training, software).head();
}

Duration optimizer_time(std::int64_t parameters, const Device& device, const Training& training) {
  if (parameters == 0) return {};
  const KernelTime time(device, training.precision);
  const auto weight = real(training.weight_bytes);
  // The update, the weights that products use, the norm of the gradients, their zeroes: for Adam
  // in mixed precision 28 + 2 + 4 + 4 = 38 B.
  const double moved = training.optimizer.values * weight +
                       (training.is_mixed() ? real(bytes_of(training.precision)) : 0) + 2 * weight;
  const int kernels = std::max(1, training.optimizer.tensor_kernels) + 2;
  return from_seconds(real(parameters) * moved / time.bytes_per_second() +
                      kernels * time.overhead());
}

LayerMemory layer_memory(const TransformerShape& shape, const ShapeCut& cut,
                         std::int64_t value_bytes, const Software& software) {
  const bool fuses_attention = software.fuses_attention();
  const Part part(shape, cut);
  const double bytes = real(value_bytes);
  const double input = part.hidden * bytes / part.outside;
  const bool keeps_cast = software.kept_bytes > 0;
  const double of_product = keeps_cast ? software.kept_bytes : bytes;
  // Made of several kernels, each of both norms keeps its input in float32 alone, and what it has
  // normalized before the weight is multiplied to it.
  const bool is_one_kernel =
      software.fuses_operators || shape.norms != Norm::kRms || bytes >= kFloatBytes;
  const double norms = is_one_kernel ? 0 : 2 * (kFloatBytes + bytes) * part.hidden;
  // Inputs and outputs of both norms; the masks of both dropouts, a byte each.
  const double outside =
      ((is_one_kernel ? 2 * bytes : 0) + 2 * of_product + (shape.dropout ? 2 : 0)) * part.hidden /
      part.outside;
  // Of a gate that is a kernel of its own, what its product with the other half takes is kept, too.
  const double inner = shape.gated ? (software.fuses_operators ? 2 : 3) : 1;
  // Attention keeps its result as wide as it is, beside which a product's cast is a copy.
  const double inside = (2 * part.queries + 2 * part.keys + inner * part.ffn) * bytes +
                        (part.ffn + (keeps_cast ? part.queries : 0)) * of_product +
                        (fuses_attention ? kFloatBytes * part.heads : 0);  // sums of the softmax
  const double scores = part.heads * part.sequence;
  // Softmax, and with dropout its mask and its result.
  const double core = fuses_attention ? 0 : scores * (shape.dropout ? 2 * bytes + 1 : bytes);
  return {.input = rounded(part.tokens * input),
          .operators = rounded(part.tokens * (outside + inside + norms / part.outside)) -
                       rounded(part.tokens * input),
          .attention_core = rounded(part.tokens * core),
          .norms = rounded(part.tokens * norms / part.outside)};
}

Bytes embedding_memory(const TransformerShape& shape, const ShapeCut& cut) {
  const Part part(shape, cut);
  return rounded(part.tokens * (kTokenBytes + (shape.dropout ? part.hidden : 0)) / part.outside);
}

HeadMemory head_memory(const TransformerShape& shape, const ShapeCut& cut, std::int64_t value_bytes,
                       bool fuses_loss) {
  const Part part(shape, cut);
  const double bytes = real(value_bytes);
  // A fused loss makes probabilities of the copy in float32, and gradients of these, in their
  // place.
  const double copy = bytes < kFloatBytes && !fuses_loss ? kFloatBytes : 0;
  return {.inputs = rounded(part.tokens * 2 * part.hidden * bytes / part.outside),
          .logits = rounded(part.tokens * part.vocabulary *
                            (bytes + copy + std::max(bytes, kFloatBytes)))};
}

SampleFlops sample_flops(const TransformerShape& shape, std::int64_t sequence) {
  const Part part(shape, {.sequence = sequence});
  const double s = part.sequence;
  const double layer =
      part.hidden * (2 * part.queries + 2 * part.keys + (shape.gated ? 3 : 2) * part.ffn);
  return {.layers = 2 * real(shape.layers) * s * layer,
          .attention_core = 4 * real(shape.layers) * part.queries * s * s,
          .head = 2 * s * part.vocabulary * part.hidden};
}

std::int64_t multiply_accumulates(const TransformerShape& shape, std::int64_t sequence) {
  const SampleFlops flops = sample_flops(shape, sequence);
  if (flops.layers + flops.attention_core + flops.head > kMostCount) {
    throw std::overflow_error(
        fmt::format("{} tokens a sample are more than {} can count", sequence, shape.name));
  }
  const std::int64_t layer = shape.hidden * (2 * shape.query_width() + 2 * shape.key_width() +
                                             (shape.gated ? 3 : 2) * shape.ffn) +
                             2 * shape.query_width() * sequence;
  return sequence * (shape.layers * layer + shape.vocabulary * shape.hidden);
}

}  // namespace steptime
