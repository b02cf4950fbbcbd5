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
//                        4 times, 5 with dropout                  / t
//   activation           2f, gated 3f                             / t
//   rotary positions     2 (a + k) e                              / t
//   norms                2h each                                  / t with sequence parallelism
//   residuals            3h each, with dropout and its mask 3.5h  / t with sequence parallelism
//
// Backward a product takes as long for the gradient of its input, and again for that of its
// weights, which in mixed precision is added to float32 values; other kernels move kBackwardTraffic
// times as much. A fused attention takes the time of the whole core, as in the roofline: it does
// half of it, with a causal mask, but at about half of the share of the peak that products reach.
//
// Parameters: the device's. kBackwardTraffic [1].
// Validation: tests/models/transformer_work_test.cpp: activations of arXiv 2205.05198 (table 2,
// figures 1 and 7), operations of layer tables. No time is validated.
// Source: operators of Megatron-LM; activations: arXiv 2205.05198 section 4; logits, embedding:
// Megatron-LM@d98e8a64 megatron/training/theoretical_memory_usage.py.
#include "models/transformer_work.h"

#include "models/kernel_time.h"

#include <algorithm>
#include <cmath>
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

/// Adds up the kernels of a pass over a micro-batch.
class Work {
 public:
  Work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
       const Training& training)
      : shape_(shape),
        part_(shape, cut),
        time_(device, training.precision),
        is_mixed_(training.is_mixed()),
        fuses_attention_(device.fuses_attention) {}

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
    product(part_.hidden, part_.vocabulary);
    // In mixed precision in float32, in copies of it.
    const Kernel loss{.values = 2 * part_.vocabulary * (is_mixed_ ? 4 : 1)};
    forward(loss);
    input_gradient(loss);
    return rounded();
  }

 private:
  void forward(const Kernel& kernel) { forward_ += time_.seconds(kernel, part_.tokens); }
  void input_gradient(const Kernel& kernel) { input_ += time_.seconds(kernel, part_.tokens); }
  void weight_gradient(const Kernel& kernel) { weight_ += time_.seconds(kernel, part_.tokens); }

  void product(double inputs, double outputs) {
    Kernel kernel{.flops = product_flops(2 * inputs * outputs, inputs, outputs, time_.rates()),
                  .efficiency = time_.rates().gemm_efficiency,
                  .values = inputs + outputs,
                  .weights = inputs * outputs};
    forward(kernel);
    input_gradient(kernel);
    if (is_mixed_) kernel.weights *= 4;  // read and written in float32
    weight_gradient(kernel);
  }

  void moves(double values) {
    forward({.values = values});
    input_gradient({.values = kBackwardTraffic * values});
  }

  void norm() { moves(2 * part_.hidden / part_.outside); }
  void residual() { moves((shape_.dropout ? 3 + kMask : 3) * part_.hidden / part_.outside); }

  void attention_core() {
    const double flops = 2 * part_.sequence * part_.queries;  // of each product
    if (fuses_attention_) {
      const auto [there, back] =
          fused_attention(2 * flops, 2 * (part_.queries + part_.keys), time_.rates());
      forward(there);
      input_gradient(back);
      return;
    }
    const double scores = part_.heads * part_.sequence;
    Kernel of_heads{.flops = flops,
                    .efficiency = time_.rates().gemm_efficiency,
                    .values = part_.queries + part_.keys + scores};
    const Kernel softmax{.values = (shape_.dropout ? 3 : 2) * scores};
    forward(of_heads);
    forward(softmax);
    forward(of_heads);
    of_heads.flops *= 2;
    input_gradient(of_heads);
    input_gradient(softmax);
    input_gradient(of_heads);
  }

  PassWork rounded() const {
    return {from_seconds(forward_), from_seconds(input_), from_seconds(weight_)};
  }

  const TransformerShape& shape_;
  Part part_;
  KernelTime time_;
  bool is_mixed_;
  bool fuses_attention_;
  double forward_ = 0;
  double input_ = 0;
  double weight_ = 0;
};

}  // namespace

PassWork layer_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                    const Training& training) {
  return Work(shape, cut, device, training).layer();
}

Duration attention_core_forward(const TransformerShape& shape, const ShapeCut& cut,
                                const Device& device, const Training& training) {
  return Work(shape, cut, device, training).core().forward;
}

PassWork embedding_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                        const Training& training) {
  return Work(shape, cut, device, training).embedding();
}

PassWork head_work(const TransformerShape& shape, const ShapeCut& cut, const Device& device,
                   const Training& training) {
  return Work(shape, cut, device, training).head();
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
                         std::int64_t value_bytes, bool fuses_attention) {
  const Part part(shape, cut);
  const double bytes = real(value_bytes);
  const double input = part.hidden * bytes / part.outside;
  // Inputs and outputs of both norms; the masks of both dropouts, a byte each.
  const double outside = (4 * bytes + (shape.dropout ? 2 : 0)) * part.hidden / part.outside;
  const double inside =
      (2 * part.queries + 2 * part.keys + (shape.gated ? 3 : 2) * part.ffn) * bytes +
      (fuses_attention ? kFloatBytes * part.heads : 0);  // sums of the softmax
  const double scores = part.heads * part.sequence;
  // Softmax, and with dropout its mask and its result.
  const double core = fuses_attention ? 0 : scores * (shape.dropout ? 2 * bytes + 1 : bytes);
  return {.input = rounded(part.tokens * input),
          .operators = rounded(part.tokens * (outside + inside)) - rounded(part.tokens * input),
          .attention_core = rounded(part.tokens * core)};
}

Bytes embedding_memory(const TransformerShape& shape, const ShapeCut& cut) {
  const Part part(shape, cut);
  return rounded(part.tokens * (kTokenBytes + (shape.dropout ? part.hidden : 0)) / part.outside);
}

HeadMemory head_memory(const TransformerShape& shape, const ShapeCut& cut,
                       std::int64_t value_bytes) {
  const Part part(shape, cut);
  const double bytes = real(value_bytes);
  const double copy = bytes < kFloatBytes ? kFloatBytes : 0;
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
