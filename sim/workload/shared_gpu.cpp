#include "sim/workload/shared_gpu.h"

#include <algorithm>
#include <utility>

namespace steptime {

void SharedGpu::compute(Duration work, Phase phase, Callback over) {
  is_busy_ = true;
  phase_ = phase;
  over_ = over;
  if (computes_) {
    world_.engine.cancel(stop_);
  } else {
    stretch_.begin(world_.now(), slowdown());
    work_ = {};
    computes_ = true;
    tell_all();
  }
  work_ = checked_add(work_, work);
  await_end();
}

void SharedGpu::await_end() {
  end_ = world_.engine.at(std::max(world_.now(), stretch_.when(work_)), phase_,
                          [this] { end_work(); });
}

void SharedGpu::end_work() {
  is_busy_ = false;
  over_();
  if (is_busy_) return;
  // Others of this instant, and what they decide, may go on with the stretch.
  stop_ = world_.engine.at(world_.now(), Phase::kSchedule, [this] { stop(); });
}

void SharedGpu::stop() {
  computes_ = false;
  tell_all();
}

void SharedGpu::tell_all() const {
  tell();
  if (on_change_) on_change_(computes_);
}

void SharedGpu::change_speed() {
  if (!computes_ || slowdown() == stretch_.slowdown()) return;
  stretch_.change(world_.now(), slowdown());
  if (!is_busy_) return;
  world_.engine.cancel(end_);
  await_end();
}

}  // namespace steptime
