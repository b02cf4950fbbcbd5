#include "sim/layouts/shared_gpu.h"

#include <algorithm>
#include <utility>

namespace steptime {

void SharedGpu::compute(Suspended program, Duration work) {
  program_ = program;
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
  tell_all();
}

void SharedGpu::tell_all() const {
  tell();
  if (on_change_) on_change_(computes_);
}

void SharedGpu::change_speed() {
  if (!computes_) return;
  stretch_.change(world_.now(), slowdown());
  if (!program_) return;
  world_.engine.cancel(end_);
  await_end();
}

}  // namespace steptime
