#include "sim/mxnet/module_process.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

NodeProcess::Costs costs_of(const ModuleRun& run) {
  const MxnetSettings settings = module_settings(run.embedding);
  return {.engine_push = settings.engine_push,
          .gpu_operation = settings.gpu_operation,
          .copy_threads = run.aggregation.servers.copies.threads,
          .cpu_threads = run.aggregation.merge_threads,
          .update = settings.update,
          .variation = run.variation,
          .seed = run.seed};
}

}  // namespace

MxnetSettings module_settings(const Embedding& embedding) {
  return embedding.has_main_thread() ? embedding.settings() : MxnetSettings{};
}

ModuleProcess::ModuleProcess(const Shared& shared, std::int64_t node)
    : NodeProcess(shared.world, {shared.network, node}, shared.run.cluster, costs_of(shared.run),
                  shared.updater, shared.graph.keys.size(), true),
      graph_(shared.graph),
      run_(shared.run),
      settings_(module_settings(run_.embedding)),
      node_(static_cast<std::int32_t>(node)),
      is_first_(node == 0),
      first_worker_(node_ * gpus()),
      input_(shared.input),
      record_(shared.record),
      clients_(shared.steps) {
  std::vector<std::int64_t> bytes;
  for (const GradientKey& key : graph_.keys)
    bytes.push_back(key.bytes.count);
  const Merge& merge = *run_.embedding.merge(run_.aggregation);
  store_ = merge.init(*this, bytes, *run_.aggregation.servers.sharding);
  chains_ = variables(static_cast<std::size_t>(gpus()));
  outputs_ = variables(static_cast<std::size_t>(gpus()));
  const auto each = static_cast<std::size_t>(merge.keys_per_call());
  for (std::size_t done = 0; done < bytes.size(); done += each) {
    const std::size_t count = std::min(each, bytes.size() - done);
    const std::size_t first = settings_.backward_keys ? bytes.size() - done - count : done;
    calls_.push_back({.keys = {first, count}});
  }
  for (std::int32_t gpu = 0; gpu < gpus(); ++gpu)
    drawn_.emplace_back(run_.timeline, first_worker_ + gpu);
  const bool shows_gpus = std::any_of(drawn_.begin(), drawn_.end(),
                                      [](const RankTimeline& gpu) { return gpu.is_on(); });
  drawn_.emplace_back(shows_gpus ? run_.timeline : nullptr,
                      run_.served == nullptr ? "host" : fmt::format("host {}", node));
}

Task ModuleProcess::main_thread() {
  for (; wants_step(); ++steps_) {
    if (steps_ % run_.update.period() == 0)
      begin_period();
    else
      begin_step();
    if (steps_ > 0) co_await world_.pause(settings_.wake_up, reasons_.wake_ups);
    co_await samples();
    co_await pass(0, graph_.forward_segments);
    co_await pass(graph_.forward_segments, graph_.segments.size());
    if (run_.update.exchanges(steps_)) co_await exchange();
    co_await update_metric();
  }
}

bool ModuleProcess::wants_step() {
  if (run_.on_progress && is_first_)
    run_.on_progress(static_cast<double>(record_.step()) / static_cast<double>(run_.steps + 8));
  return clients_.wants_step(steps_);
}

/// Of the step, which the input pipeline makes ready.
Task ModuleProcess::samples() {
  const Time since = world_.now();
  const Time ready = input_.ready(steps_);
  if (ready <= since) co_return;
  awaits_samples_ = true;
  tell_missing_samples();
  co_await world_.pause(ready - since, record_.input());
  awaits_samples_ = false;
  if (is_first_) record_.samples_came();
  if (misses_since_) clients_.missed_samples(node_, steps_, world_.now() - *misses_since_);
  misses_since_.reset();
  drawn_.back().add("main thread", "next batch", since, world_.now());
  co_await world_.pause(settings_.wake_up, reasons_.wake_ups);
}

/// Forward or backward, of one GPU after another.
Task ModuleProcess::pass(std::size_t from, std::size_t to) {
  for (std::int32_t gpu = 0; gpu < gpus(); ++gpu) {
    co_await push([this, gpu, from, to] {
      call(settings_.python_call);
      for (std::size_t i = from; i < to; ++i)
        say_segment(gpu, i);
    });
  }
}

Task ModuleProcess::exchange() {
  const bool pushes_first =
      !run_.embedding.has_main_thread() && run_.aggregation.issuing.pushes_first;
  for (Call& each : calls_) {
    co_await push_keys(each);
    if (!pushes_first) co_await pull_keys(each);
  }
  for (Call& each : calls_) {
    if (pushes_first) co_await pull_keys(each);
  }
}

Task ModuleProcess::push_keys(Call& of) {
  const std::int64_t calls =
      store_->calls() + updater().calls(static_cast<std::int64_t>(of.keys.count));
  return push_call(of, run_.aggregation.issuing.push + calls * settings_.python_call,
                   &KvStore::push);
}

Task ModuleProcess::pull_keys(Call& of) {
  co_await push_call(of, run_.aggregation.issuing.pull + store_->calls() * settings_.python_call,
                     &KvStore::pull);
  of.is_pushed[parity_of(steps_)] = true;
  end_if_over(of, parity_of(steps_));
}

/// Key k has k times the priority of key 1.
Task ModuleProcess::push_call(Call& of, Duration takes, void (KvStore::*action)(KeyRange)) {
  return push([this, &of, takes, action] {
    const std::int32_t priority = !run_.embedding.has_main_thread()
                                      ? run_.aggregation.servers.copies.priority()
                                      : (settings_.equal_priorities ? 0 : -1);
    set_priority(priority * static_cast<std::int32_t>(of.keys.first));
    set_label(static_cast<std::uint32_t>(&of - calls_.data()));
    call(takes);
    const std::size_t before = operations();
    (store_.get()->*action)(of.keys);
    of.operations += static_cast<std::int64_t>(operations() - before);
  });
}

Task ModuleProcess::update_metric() {
  co_await push([this] {
    call(settings_.python_call);
    set_label(static_cast<std::uint32_t>(calls_.size() + graph_.segments.size()));
    wait(outputs_);
  });
  co_await waited();
}

void ModuleProcess::say_segment(std::int32_t gpu, std::size_t index) {
  const ComputeSegment& segment = graph_.segments[index];
  const auto g = static_cast<std::size_t>(gpu);
  Variables reads;
  Variables writes{chains_[g]};
  if (index + 1 == graph_.forward_segments) writes.push_back(outputs_[g]);
  const bool is_last = index + 1 == graph_.segments.size();
  const auto add = [&](std::size_t key) {
    if (segment.is_backward)
      writes.push_back(gradient(key, gpu));
    else
      reads.push_back(weight(key, gpu));
  };
  if (graph_.after_backward && is_last) {
    for (std::size_t key = 0; key < graph_.keys.size(); ++key)
      add(key);
  } else if (!graph_.after_backward || !segment.is_backward) {
    for (const std::int32_t key : segment.keys)
      add(static_cast<std::size_t>(key));
  }
  set_label(static_cast<std::uint32_t>(calls_.size() + index));
  compute(gpu, segment.duration, segment.is_backward ? reasons_.backward : reasons_.forward, reads,
          writes);
}

void ModuleProcess::has_pushed(OperationId id, Time since) {
  if (run_.timeline == nullptr || world_.now() == since) return;
  const bool waits = operation(id).kind == Kind::kWait;
  drawn_.back().add("main thread", waits ? "update_metric" : name_of(id), since, world_.now());
}

void ModuleProcess::has_started(OperationId id) {
  if (run_.timeline != nullptr) starts_[id] = world_.now();
  const Operation& of = operation(id);
  if (of.kind == Kind::kCompute && of.gpu == 0 && is_first_)
    record_.segment_started(label(id) - calls_.size(), step(id), key_of(last_granted(id)));
  if (of.gpu == 0 && is_segment(id) && label(id) - calls_.size() == graph_.forward_segments)
    clients_.forward_pass_ended(node_, step(id));
  if (of.kind == Kind::kAsk) asked_in_ = step(id);
  if (is_segment(id)) return;
  Call& call = calls_[label(id)];
  if (std::exchange(call.is_under_way[parity_of(step(id))], true)) return;
  tell(&RankRecord::collective_started, call);
}

void ModuleProcess::has_ended(OperationId id) {
  const Operation& of = operation(id);
  if (run_.timeline != nullptr) draw(id);
  if (of.kind == Kind::kCompute && of.gpu == 0 && is_first_) record_.segment_ended();
  if (!is_segment(id)) {
    Call& call = calls_[label(id)];
    const std::size_t parity = parity_of(step(id));
    ++call.ended[parity];
    end_if_over(call, parity);
  }
  // The host has a key's weights when its pull is over.
  if (of.kind == Kind::kAsk && of.request == &Servers::pull)
    clients_.updated(node_, static_cast<std::int32_t>(graph_.keys.size()) - 1 - of.bucket,
                     step(id));
  clients_.operation_ended(node_, step(id));
  tell_missing_samples();
}

/// Of all keys of the call, in the exchange that is over next.
void ModuleProcess::tell(void (RankRecord::*what)(Communicators::Subject), const Call& of) {
  if (!is_first_) return;
  for (std::size_t key = of.keys.first; key < of.keys.first + of.keys.count; ++key)
    (record_.*what)({static_cast<std::int32_t>(key), (of.over + 1) * run_.update.period() - 1});
}

void ModuleProcess::end_if_over(Call& of, std::size_t parity) {
  if (!of.is_pushed[parity] || of.ended[parity] < of.operations) return;
  of.ended[parity] = 0;
  if (!of.is_under_way[parity]) tell(&RankRecord::collective_started, of);  // it has no operations
  of.is_pushed[parity] = of.is_under_way[parity] = false;
  tell(&RankRecord::collective_ended, of);
  ++of.over;
}

/// When GPU 0, whose first segment comes next, waits for nothing else.
void ModuleProcess::tell_missing_samples() {
  if (!awaits_samples_ || !next_is_free()) return;
  if (!misses_since_) misses_since_ = world_.now();
  if (is_first_) record_.waits_for_samples();
}

const std::string& ModuleProcess::name_of(OperationId id) const {
  return is_segment(id) ? segment(id).name : graph_.keys[calls_[label(id)].keys.first].name;
}

void ModuleProcess::draw(OperationId id) {
  const Operation& of = operation(id);
  if (of.kind == Kind::kWait || of.kind == Kind::kAsk) return;  // the servers draw what is asked
  const auto key = is_segment(id)
                       ? segment(id).first_gradient()
                       : std::optional(static_cast<std::int32_t>(calls_[label(id)].keys.first));
  Timeline::Details details = graph_.details(first_worker_, step(id), key);
  if (of.kind == Kind::kCopy) details.bytes = of.bytes;
  constexpr std::array kLanes{"copies", "sums", "NCCL launches", "NCCL", "compute", "updates"};
  RankTimeline& actor = of.gpu != kHost ? drawn_[static_cast<std::size_t>(of.gpu)] : drawn_.back();
  actor.add(kLanes[static_cast<std::size_t>(of.kind)], name_of(id), starts_[id], world_.now(),
            std::move(details));
}

}  // namespace steptime
