#include "sim/layouts/shared_gpu.h"

#include <algorithm>
#include <utility>

namespace steptime {

double SharedGpu::slowdown() const {
  double all = 1;
  for (const Exchange& exchange : exchanges_)
    all *= exchange.slowdown;
  return all;
}

void SharedGpu::compute(Suspended program, Duration work) {
  program_ = program;
  if (computes_) {
    world_.engine.cancel(stop_);
  } else {
    stretch_.begin(world_.now(), slowdown());
    work_ = {};
    computes_ = true;
    for (const Exchange& exchange : exchanges_)
      exchange.medium->change();
  }
  work_ = checked_add(work_, work);
  await_end();
}

void SharedGpu::await_end() {
  end_ = world_.engine.at(std::max(world_.now(), stretch_.when(work_)), Phase::kNormal,
                          [this] { end_work(); });
}

void SharedGpu::end_work() {
  // Others of this instant may go on with the stretch.
  stop_ = world_.engine.at(world_.now(), Phase::kSchedule, [this] { stop(); });
  World::resume(std::exchange(program_, {}));
}

void SharedGpu::stop() {
  computes_ = false;
  for (const Exchange& exchange : exchanges_)
    exchange.medium->change();
}

void SharedGpu::change_speed() {
  if (!computes_) return;
  stretch_.change(world_.now(), slowdown());
  if (!program_) return;
  world_.engine.cancel(end_);
  await_end();
}

void SharedGpu::begins(SlowedMedium& exchange, double slowdown) {
  exchanges_.push_back({&exchange, slowdown});
  change_speed();
}

void SharedGpu::ends(SlowedMedium& exchange, Duration lost) {
  std::erase_if(exchanges_, [&](const Exchange& e) { return e.medium == &exchange; });
  lost_ += lost;
  change_speed();
}

const Slowdown& SlowedMedium::slowdown_of(Bytes bytes) {
  const auto [at, is_new] = known_.try_emplace(bytes.count);
  if (is_new) at->second = beside_(bytes);
  return at->second;
}

double SlowedMedium::slowdown() const {
  const bool computes =
      std::any_of(gpus_.begin(), gpus_.end(), [](const SharedGpu* gpu) { return gpu->computes(); });
  return computes ? slowdown_.collective : 1;
}

void SlowedMedium::start(Bytes bytes, Duration longer, Callback done) {
  slowdown_ = slowdown_of(bytes);
  done_ = done;
  start_ = world_.now();
  is_through_ = false;
  progress_.begin(start_, slowdown());
  for (SharedGpu* const gpu : gpus_)
    gpu->begins(*this, slowdown_.compute);
  medium_->start(
      bytes, longer,
      {[](void* self, std::uint64_t) { static_cast<SlowedMedium*>(self)->come_through(); }, this,
       0});
}

void SlowedMedium::come_through() {
  alone_ = world_.now() - start_;
  is_through_ = true;
  const Time end = progress_.when(alone_);
  if (end <= world_.now()) return this->end();
  end_ = world_.engine.at(end, Phase::kComplete, [this] { this->end(); });
}

void SlowedMedium::change() {
  const double slowdown = this->slowdown();
  if (slowdown == progress_.slowdown()) return;
  progress_.change(world_.now(), slowdown);
  if (!is_through_) return;
  world_.engine.cancel(end_);
  end_ = world_.engine.at(std::max(world_.now(), progress_.when(alone_)), Phase::kComplete,
                          [this] { end(); });
}

void SlowedMedium::end() {
  const Duration lost = world_.now() - start_ - alone_;
  for (SharedGpu* const gpu : gpus_)
    gpu->ends(*this, lost);
  const Callback done = done_;
  done();
}

}  // namespace steptime
