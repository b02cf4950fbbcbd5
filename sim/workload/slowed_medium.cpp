#include "sim/workload/slowed_medium.h"

#include <algorithm>
#include <utility>

namespace steptime {

double ComputingGpu::slowdown() const {
  double all = 1;
  for (const Beside& each : exchanges_)
    all *= each.slowdown;
  return all;
}

void ComputingGpu::tell() const {
  for (const Beside& each : exchanges_)
    each.exchange->change();
}

void ComputingGpu::begins(SlowedExchange& exchange, double slowdown) {
  exchanges_.push_back({&exchange, slowdown});
  change_speed();
}

void ComputingGpu::ends(SlowedExchange& exchange, Duration lost) {
  std::erase_if(exchanges_, [&](const Beside& each) { return each.exchange == &exchange; });
  lost_ += lost;
  change_speed();
}

double SlowedExchange::slowdown() const {
  const auto& gpus = medium_.gpus_;
  const bool computes = std::any_of(gpus.begin(), gpus.end(),
                                    [](const ComputingGpu* gpu) { return gpu->computes(); });
  return computes ? slowdown_.collective : 1;
}

void SlowedExchange::start(Medium& medium, Bytes bytes, Callback done) {
  slowdown_ = medium_.slowdown_of(bytes);
  done_ = done;
  start_ = medium_.world_.now();
  is_through_ = false;
  progress_.begin(start_, slowdown());
  for (ComputingGpu* const gpu : medium_.gpus_)
    gpu->begins(*this, slowdown_.compute);
  medium.start(
      bytes, {[](void* self, std::uint64_t) { static_cast<SlowedExchange*>(self)->come_through(); },
              this, 0});
}

void SlowedExchange::come_through() {
  const Time now = medium_.world_.now();
  alone_ = now - start_;
  is_through_ = true;
  const Time end = progress_.when(alone_);
  if (end <= now) return this->end();
  Engine& engine = medium_.world_.engine;
  through_ = engine.hold(engine.present());
  await(end);
}

void SlowedExchange::await(Time end) {
  Engine& engine = medium_.world_.engine;
  end_ = engine.at(engine.until(through_.when, end, medium_.slowed_), Phase::kComplete,
                   [this] { this->end(); });
}

void SlowedExchange::change() {
  const double slowdown = this->slowdown();
  if (slowdown == progress_.slowdown()) return;
  const Time now = medium_.world_.now();
  progress_.change(now, slowdown);
  if (!is_through_) return;
  medium_.world_.engine.cancel(end_);
  await(std::max(now, progress_.when(alone_)));
}

void SlowedExchange::end() {
  medium_.world_.engine.release(std::exchange(through_, {}));
  const Duration lost = medium_.world_.now() - start_ - alone_;
  for (ComputingGpu* const gpu : medium_.gpus_)
    gpu->ends(*this, lost);
  const Callback done = done_;
  medium_.free_.push_back(this);
  done();
}

SlowedMedium::SlowedMedium(World& world, std::unique_ptr<Medium> medium, SlowdownOf beside,
                           std::vector<ComputingGpu*> gpus, const char* lost)
    : world_(world),
      medium_(std::move(medium)),
      beside_(std::move(beside)),
      gpus_(std::move(gpus)),
      slowed_(world.engine.reason(lost, "GPU")) {}

const Slowdown& SlowedMedium::slowdown_of(Bytes bytes) {
  const auto [at, is_new] = known_.try_emplace(bytes.count);
  if (is_new) at->second = beside_(bytes);
  return at->second;
}

void SlowedMedium::start(Bytes bytes, Callback done) {
  if (free_.empty()) free_.push_back(&exchanges_.emplace_back(*this));
  SlowedExchange& exchange = *free_.back();
  free_.pop_back();
  exchange.start(*medium_, bytes, done);
}

}  // namespace steptime
