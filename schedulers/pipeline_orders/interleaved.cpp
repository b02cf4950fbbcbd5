// Interleaved 1F1B: a rank has several chunks of the model, through which groups of micro-batches
// go in turn, so that the pipeline fills and empties in smaller pieces.
//
// With m micro-batches on p ranks, v chunks and groups of g: forward passes go through a group
// chunk by chunk, backward passes with the chunks reversed; 2 (p - r - 1) + (v - 1) g of them come
// first on rank r. Makespan m (F + B) + (p - 1)(F + B) / v. Scope: p <= g <= m, and m mod g is 0 or
// at least p; Megatron refuses the rest. One chunk is 1f1b, with any group, as Megatron takes it.
// Sends of the first and the last passes, those that are not in pairs, are awaited
// (overlap_p2p_comm without overlap_p2p_comm_warmup_flush).
// Parameters: chunks; microbatch_group, by default the ranks of the pipeline. Source: Narayanan et
// al., 2104.04473 section 2.2; Megatron-LM schedules.py get_schedule_table,
// get_pp_rank_microbatches, forward_backward_pipelining_with_interleaving; arguments.py (a virtual
// pipeline of 1 is none).
#include "sim/layouts/pipeline_order.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

namespace steptime {
namespace {

class Interleaved final : public PipelineOrder {
 public:
  Interleaved(std::int32_t chunks, std::optional<std::int32_t> group)
      : chunks_(chunks), group_(group) {}

  std::int32_t chunks() const override { return chunks_; }

  std::string refusal(const PipelineShape& shape) const override {
    if (chunks_ == 1) return "";
    const std::int32_t group = group_of(shape);
    if (shape.ranks < 2)
      return "interleaves chunks of a pipeline, which has one rank; expected 1f1b";
    if (group < shape.ranks || group > shape.micro_batches) {
      return fmt::format(
          "found groups of {} micro-batches, expected from {}, the pipeline's ranks, "
          "to {}, the micro-batches of a step",
          group, shape.ranks, shape.micro_batches);
    }
    const std::int32_t rest = shape.micro_batches % group;
    if (rest == 0 || rest >= shape.ranks) return "";
    return fmt::format(
        "{} micro-batches in groups of {} leave a group of {}, expected none or at "
        "least {}, the pipeline's ranks",
        shape.micro_batches, group, rest, shape.ranks);
  }

  std::int64_t passes(const PipelineShape& shape, std::int32_t) const override {
    return 2 * all(shape);
  }

  Pass pass(const PipelineShape& shape, std::int32_t rank, std::int64_t k) const override {
    const std::int64_t ahead = std::min(forwards_ahead(shape, rank), all(shape));
    const std::int64_t pairs = all(shape) - ahead;
    const std::int64_t behind = k - ahead;
    Pass pass;
    if (behind < 0)
      pass = forward(shape, k);
    else if (behind >= 2 * pairs)
      pass = backward(shape, behind - pairs);
    else
      pass = behind % 2 == 0 ? forward(shape, ahead + behind / 2) : backward(shape, behind / 2);
    pass.awaits_send = chunks_ == 1 || behind < 0 || behind >= 2 * pairs;
    return pass;
  }

 private:
  std::int32_t group_of(const PipelineShape& shape) const { return group_.value_or(shape.ranks); }
  std::int64_t all(const PipelineShape& shape) const {
    return std::int64_t{shape.micro_batches} * chunks_;
  }
  std::int64_t forwards_ahead(const PipelineShape& shape, std::int32_t rank) const {
    const std::int64_t later_ranks = shape.ranks - rank - 1;
    return chunks_ == 1 ? later_ranks
                        : 2 * later_ranks + std::int64_t{chunks_ - 1} * group_of(shape);
  }
  /// Micro-batch and chunk of the k-th forward pass.
  Pass forward(const PipelineShape& shape, std::int64_t k) const {
    const std::int64_t group = group_of(shape);
    const std::int64_t whole = shape.micro_batches / group * group;
    const std::int64_t first = k < whole * chunks_ ? k / (group * chunks_) * group : whole;
    const std::int64_t size = k < whole * chunks_ ? group : shape.micro_batches - whole;
    const std::int64_t place = k - first * chunks_;
    return {PassKind::kForward, static_cast<std::int32_t>(first + place % size),
            static_cast<std::int32_t>(place / size)};
  }
  Pass backward(const PipelineShape& shape, std::int64_t k) const {
    const Pass mirrored = forward(shape, k);
    return {PassKind::kBackward, mirrored.micro_batch, chunks_ - 1 - mirrored.chunk};
  }

  std::int32_t chunks_;
  std::optional<std::int32_t> group_;
};

const bool kRegistered = PipelineOrders::instance().add(
    "interleaved", "1f1b over several chunks of each rank",
    {{.key = "chunks",
      .kind = Kind::kInteger,
      .help = "of the model on each rank",
      .need = Need::kDefault,
      .fallback = 2,
      .range = {.low = 1, .high = 1e4}},
     {.key = "microbatch_group",
      .kind = Kind::kInteger,
      .help =
          "micro-batches that go through a chunk before the next one; default: the ranks of the "
          "pipeline",
      .need = Need::kOptional,
      .range = {.low = 1, .high = 1e6}}},
    [](const Config& c) {
      std::optional<std::int32_t> group;
      if (c.has("microbatch_group"))
        group = static_cast<std::int32_t>(c.get<std::int64_t>("microbatch_group"));
      return std::make_unique<Interleaved>(static_cast<std::int32_t>(c.get<std::int64_t>("chunks")),
                                           group);
    });

}  // namespace
}  // namespace steptime
