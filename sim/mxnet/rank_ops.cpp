#include "sim/mxnet/rank_ops.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace steptime {
namespace {

/// By kind: what an operation does, but for its time, and what the framework calls it.
struct OfKind {
  RankOps::Body body;
  const char* call;
};
constexpr std::array<OfKind, 8> kOfKinds{{
    {{.varies = true, .computes = true, .lane = "compute"}, ""},
    {{.varies = true, .lane = "copies to host"}, "CopyToHost"},
    {{.varies = true, .lane = "copies to device"}, "CopyToDevice"},
    {{.how = RankOps::Body::kCalls, .lane = "collectives"}, "MPI_Allreduce"},
    {{.how = RankOps::Body::kCallsAndCopies, .varies = true, .lane = "collectives"},
     "MPI_Allreduce"},
    {{.lane = "updates"}, "SGD.Update"},
    {{.how = RankOps::Body::kWakesMainThread}, "WaitToRead"},
    {{.how = RankOps::Body::kWakesMainThread}, "WaitToRead"},
}};

}  // namespace

RankOps::RankOps(const TrainingGraph& graph, const MxnetSettings& settings)
    : graph_(graph), settings_(settings), keys_(graph.keys.size()) {
  // Threads as by default: MXNET_GPU_WORKER_NTHREADS, MXNET_GPU_COPY_NTHREADS,
  // MXNET_CPU_WORKER_NTHREADS.
  gpu_pool_ = ops_.add_pool(2, PoolOrder::kFifo);
  copy_pool_ = ops_.add_pool(2, PoolOrder::kPriority);
  cpu_pool_ = ops_.add_pool(1, PoolOrder::kFifo);
  collective_pool_ = ops_.add_pool(settings.collective_threads, settings.collective_order);
  chain_ = ops_.add_variable();
  output_ = ops_.add_variable();
  backward_end_ = ops_.add_variable();
  dummy_ = ops_.add_variable();
  first_key_ = dummy_ + 1;
  for (const GradientKey& key : graph.keys) {
    for (int i = 0; i < 3; ++i)
      ops_.add_variable();
    copy_times_.push_back(settings.copy_latency + inverse(settings.copy_bandwidth) * key.bytes);
  }
  std::iota(keys_.begin(), keys_.end(), 0);
  if (settings.backward_keys) std::reverse(keys_.begin(), keys_.end());
}

void RankOps::keep_apart() {
  beside_ = static_cast<Variable>(ops_.variables());
  for (std::size_t i = 0; i < 2 * graph_.keys.size(); ++i)
    ops_.add_variable();
}

RankOps::Variable RankOps::source(Label label) const {
  return payload_of(label) == Payload::kGradient ? gradient(index_of(label))
                                                 : weight(index_of(label));
}

RankOps::Variable RankOps::buffer(Label label) const {
  const auto key = static_cast<Variable>(index_of(label));
  return payload_of(label) == Payload::kParametersBeside ? beside_ + 2 * key
                                                         : gradient(index_of(label)) + 1;
}

RankOps::Variable RankOps::target(Label label) const {
  return payload_of(label) == Payload::kParametersBeside ? buffer(label) + 1 : source(label);
}

void RankOps::add_segment(Label label) {
  const auto index = static_cast<std::size_t>(index_of(label));
  const ComputeSegment& segment = graph_.segments[index];
  std::vector<Variable> reads;
  std::vector<Variable> writes{chain_};
  if (index + 1 == graph_.forward_segments) writes.push_back(output_);
  if (index + 1 == graph_.segments.size()) writes.push_back(backward_end_);
  for (const std::int32_t key : segment.keys) {
    if (segment.is_backward)
      writes.push_back(gradient(key));
    else
      reads.push_back(weight(key));
  }
  ops_.add(label, gpu_pool_, 0, reads, writes);
}

void RankOps::add(Label label, std::int64_t step) {
  steps_.push_back(static_cast<std::uint32_t>(step));
  using Variables = std::initializer_list<Variable>;
  const std::int32_t key = index_of(label);
  const auto push = [&](Ops::PoolId pool, Variables reads, Variables writes) {
    ops_.add(label, pool, settings_.equal_priorities ? 0 : -key, {reads.begin(), reads.size()},
             {writes.begin(), writes.size()});
  };
  switch (kind_of(label)) {
    case Kind::kCompute:
      return add_segment(label);
    case Kind::kCopyToHost:
      if (graph_.after_backward)
        return push(copy_pool_, {source(label), backward_end_}, {buffer(label)});
      return push(copy_pool_, {source(label)}, {buffer(label)});
    case Kind::kCopyToDevice:
      return push(copy_pool_, {buffer(label)}, {target(label)});
    case Kind::kAllReduce:
      return push(collective_pool_, {source(label)}, {buffer(label)});
    case Kind::kChained:
      return push(collective_pool_, {buffer(label)}, {target(label), dummy_});
    case Kind::kUpdate:
      if (payload_of(label) == Payload::kParametersBeside)
        return push(gpu_pool_, {gradient(key), target(label)}, {weight(key)});
      return push(gpu_pool_, {gradient(key)}, {weight(key)});
    case Kind::kWait:
      return push(cpu_pool_, {buffer(label)}, {});
    case Kind::kWaitOutput:
      return push(cpu_pool_, {output_}, {});
  }
}

RankOps::Body RankOps::body(Label label) const {
  const Kind kind = kind_of(label);
  const auto index = static_cast<std::size_t>(index_of(label));
  Body body = kOfKinds[static_cast<std::size_t>(kind)].body;
  if (body.computes)
    body.time = graph_.segments[index].duration;
  else if (kind == Kind::kUpdate)
    body.time = settings_.update;
  else if (body.varies)
    body.time = copy_times_[index];
  return body;
}

Duration RankOps::Pace::time_of(Label label, const Body& body) const {
  const Duration time = body.computes ? scaled(body.time, slowness) : body.time;
  if (!body.varies || jitter == 0) return time;
  const double longer = 1 + jitter * random.uniform(static_cast<std::uint32_t>(rank),
                                                    static_cast<std::uint32_t>(step), label);
  return from_seconds(to_seconds(time) * longer);
}

std::optional<std::int32_t> RankOps::key_of(Variable variable) const {
  if (variable == Ops::kPushed || variable < first_key_) return std::nullopt;
  if (variable >= beside_) return static_cast<std::int32_t>((variable - beside_) / 2);
  return static_cast<std::int32_t>((variable - first_key_) / 3);
}

std::string RankOps::describe(Label label) const {
  const auto index = static_cast<std::size_t>(index_of(label));
  const Kind kind = kind_of(label);
  if (kind == Kind::kCompute) return graph_.segments[index].name;
  const char* const call = kOfKinds[static_cast<std::size_t>(kind)].call;
  if (kind == Kind::kWait || kind == Kind::kWaitOutput) return call;
  return fmt::format("{}({})", call, graph_.keys[index].name);
}

}  // namespace steptime
