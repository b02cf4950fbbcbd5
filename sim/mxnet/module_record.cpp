#include "sim/mxnet/module_record.h"

#include <optional>
#include <string>
#include <utility>

namespace steptime {

ModuleRecord::ModuleRecord(Engine& clock, const TrainingGraph& graph, RankRecord& recorder,
                           const Shown& shown)
    : clock_(clock),
      graph_(graph),
      recorder_(recorder),
      period_(shown.period),
      timeline_(shown.timeline) {
  for (const KeyRange& keys : shown.calls)
    calls_.push_back({.keys = keys});
}

void ModuleRecord::watch(const NodeRank& process) {
  process_ = &process;
  for (std::int32_t gpu = 0; gpu < process.ops().gpus(); ++gpu)
    drawn_.emplace_back(timeline_, gpu);
  drawn_.emplace_back(timeline_, "host");
}

void ModuleRecord::awaits_samples() {
  awaits_samples_ = true;
  tell_missing_samples();
}

void ModuleRecord::samples_came(Time awaited_since) {
  awaits_samples_ = false;
  recorder_.samples_came();
  if (timeline_ != nullptr)
    drawn_.back().add("main thread", "next batch", awaited_since, clock_.now());
}

void ModuleRecord::tell_missing_samples() {
  if (awaits_samples_ && process_->next_is_free()) recorder_.waits_for_samples();
}

void ModuleRecord::started(OperationId id) {
  if (timeline_ != nullptr) starts_[id] = clock_.now();
  const NodeOps::Operation& operation = process_->operation(id);
  if (operation.kind == NodeOps::Kind::kCompute && operation.gpu == 0) segment_started(id);
  if (index_of(id) >= calls_.size()) return;
  Call& call = calls_[index_of(id)];
  if (std::exchange(call.is_under_way[parity_of(process_->step(id))], true)) return;
  for (std::size_t key = call.keys.first; key < call.keys.first + call.keys.count; ++key)
    recorder_.collective_started({static_cast<std::int32_t>(key), exchange_step(call)});
}

void ModuleRecord::segment_started(OperationId id) {
  const Ops::Variable waited_for = process_->engine().last_granted(id);
  const std::size_t key =
      waited_for == Ops::kPushed ? graph_.keys.size() : process_->ops().key_of(waited_for);
  recorder_.segment_started(
      index_of(id) - calls_.size(), process_->step(id),
      key < graph_.keys.size() ? std::optional(static_cast<std::int32_t>(key)) : std::nullopt);
}

void ModuleRecord::segment_ended(const ComputeSegment& segment) {
  recorder_.segment_ended();
  if (!segment.is_backward) return;
  for (const std::int32_t key : segment.keys)
    recorder_.gradient_ready(key);
}

void ModuleRecord::ended(OperationId id) {
  const NodeOps::Operation& operation = process_->operation(id);
  const auto step = static_cast<std::size_t>(process_->step(id));
  if (ends_.size() <= step) ends_.resize(step + 1);
  ends_[step] = since_start(clock_.now());
  if (timeline_ != nullptr) draw(id);
  if (operation.kind == NodeOps::Kind::kCompute && operation.gpu == 0)
    segment_ended(graph_.segments[index_of(id) - calls_.size()]);
  if (index_of(id) < calls_.size()) {
    Call& call = calls_[index_of(id)];
    const std::size_t parity = parity_of(process_->step(id));
    ++call.ended[parity];
    end_if_over(call, parity);
  }
  tell_missing_samples();
}

void ModuleRecord::pushed(std::size_t call, std::int64_t step) {
  calls_[call].is_pushed[parity_of(step)] = true;
  end_if_over(calls_[call], parity_of(step));
}

void ModuleRecord::end_if_over(Call& call, std::size_t parity) {
  if (!call.is_pushed[parity] || call.ended[parity] < call.operations) return;
  call.ended[parity] = 0;
  call.is_pushed[parity] = call.is_under_way[parity] = false;
  for (std::size_t key = call.keys.first; key < call.keys.first + call.keys.count; ++key)
    recorder_.collective_ended({static_cast<std::int32_t>(key), exchange_step(call)});
  ++call.over;
}

void ModuleRecord::draw(OperationId id) {
  const NodeOps::Operation& operation = process_->operation(id);
  if (operation.kind == NodeOps::Kind::kWait) return;
  const bool computes = operation.kind == NodeOps::Kind::kCompute;
  const std::size_t index = index_of(id);
  const std::string& name = computes ? graph_.segments[index - calls_.size()].name
                                     : graph_.keys[calls_[index].keys.first].name;
  constexpr std::array kLanes{"copies", "sums", "NCCL launches", "NCCL", "compute", "updates"};
  const char* lane = kLanes[static_cast<std::size_t>(operation.kind)];
  const bool on_gpu = operation.gpu != NodeOps::kHost;
  RankTimeline& actor = on_gpu ? drawn_[static_cast<std::size_t>(operation.gpu)] : drawn_.back();
  actor.add(lane, name, starts_[id], clock_.now(), details_of(id));
}

/// The flow of a key goes from its gradient on each GPU through all that is done to it.
Timeline::Details ModuleRecord::details_of(OperationId id) const {
  const NodeOps::Operation& operation = process_->operation(id);
  const auto& keys = graph_.keys;
  Timeline::Details details;
  std::size_t key = keys.size();
  if (operation.kind != NodeOps::Kind::kCompute) {
    key = calls_[index_of(id)].keys.first;
    if (operation.kind == NodeOps::Kind::kCopy) details.bytes = operation.bytes;
  } else if (const auto& segment = graph_.segments[index_of(id) - calls_.size()];
             segment.is_backward && !segment.keys.empty()) {
    key = static_cast<std::size_t>(segment.keys.front());
  }
  if (key == keys.size()) return details;
  const auto step = static_cast<std::size_t>(process_->step(id));
  details.bucket = static_cast<std::int64_t>(keys.size() - 1 - key);  // they are in forward order
  details.tensors = keys[key].name;
  details.flow = flow_of(0, step * keys.size() + key);
  return details;
}

}  // namespace steptime
