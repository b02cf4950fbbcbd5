#include "sim/training/worker.h"

#include <algorithm>
#include <utility>

namespace steptime {

Worker::Worker(TrainingRun& training, std::int32_t number, std::size_t member, std::int64_t first,
               std::int64_t count)
    : training_(training),
      number_(number),
      member_(member),
      first_(first),
      count_(count),
      forward_(training.world.engine, "forward pass", training.plan.step.forward_wait),
      backward_(training.world.engine, "backward pass", training.plan.step.backward_wait),
      slower_(training.world.engine.reason("slower worker", "GPU")),
      input_(training.world.engine.reason("input", "input pipeline")),
      overlap_(training.world.engine),
      parts_(training.world, {"parts of a step", number, "worker"}),
      layers_(training.world, {"values of layers", number, "worker"}) {}

/// Of the slowest of its GPUs.
double Worker::factor(std::int64_t step) const {
  double factor = 0;
  for (std::int64_t worker = first_; worker < first_ + count_; ++worker)
    factor = std::max(factor, training_.plan.variation.factor(training_.seed, worker, step));
  return factor;
}

Duration Worker::compute(std::int64_t step) const {
  const StepPlan& plan = training_.plan.step;
  const double factor = this->factor(step);
  return scaled(plan.forward, factor) + scaled(plan.backward, factor);
}

/// A forward pass that begins at `origin` comes at `when` to what it waits for, `needed` later.
void Worker::hold_up(Time& origin, When when, Duration needed) {
  if (when.time - needed < origin) return;
  Engine& engine = training_.world.engine;
  origin = when.time - needed;
  engine.release(held_);
  held_ = engine.hold(when);
}

/// A forward pass that begins at `origin`, as far as the rest says, needs samples, which the
/// pipeline makes ready step by step, as far ahead as it can.
void Worker::await_input(Time& origin) {
  std::int64_t ready_ps = 0;
  if (__builtin_mul_overflow(training_.plan.step.input.count(), step_, &ready_ps)) refuse_range();
  const Time ready{Duration(ready_ps)};
  if (ready <= origin) return;
  Engine& engine = training_.world.engine;
  training_.record.waits_for_input(step_, ready - origin);
  const When since = engine.release(held_);
  held_ = engine.hold(engine.until(since, ready - origin, input_));
  origin = ready;
}

bool Worker::begin_step() {
  if (!training_.record.wants(step_)) return false;
  training_.record.begins(step_);
  World& world = training_.world;
  start_ = origin_ = world.now();
  factor_ = factor(step_);
  hold_up(origin_, world.present(), {});
  training_.drawing.began(number_, step_);
  return true;
}

/// The end of a pass that takes `nominal` at full speed.
When Worker::pass_end(When since, Time begin, Duration nominal, const PassReasons& reasons) {
  Engine& engine = training_.world.engine;
  const Time end = time_after(begin, scaled(nominal, factor_));
  const Time usual = std::clamp(time_after(begin, nominal), std::min(since.time, end), end);
  return engine.until(reasons.until(engine, since, usual), end, slower_);
}

void Worker::forward() {
  const StepPlan& plan = training_.plan.step;
  const Duration forward = scaled(plan.forward, factor_);
  const Duration backward = scaled(plan.backward, factor_);
  training_.record.computes(number_, step_, training_.record.layers_wait() ? origin_ : start_,
                            forward + backward);
  await_input(origin_);
  Engine& engine = training_.world.engine;
  middle_ = pass_end(engine.release(std::exchange(held_, {})), origin_, plan.forward, forward_);
  next_part_ = 0;
  drawn_to_ = origin_;
  if (!training_.plan.slows_down()) draw_parts(middle_.time);
  if (training_.learner != nullptr) training_.learner->compute(number_, step_);
  parts_.expect(1);
  if (training_.plan.slows_down()) compute_.begin(origin_, forward + backward);
  run_kernels_until(time_after(origin_, forward + backward));
  if (training_.plan.slows_down()) {
    await_end();
  } else if (!plan.buckets.empty()) {
    const std::size_t last = plan.buckets.size() - 1;
    last_gradient_ = backward_.until(engine, middle_, std::max(middle_.time, ready(last)));
  }
}

/// From its origin on, if that lies ahead.
void Worker::run_kernels_until(Time end) {
  const bool tells_links = training_.slowed_roads != nullptr;
  if (!training_.plan.slows_down() && (!tells_links || end <= training_.world.now())) return;
  Engine& engine = training_.world.engine;
  if (origin_ <= engine.now())
    set_kernels(true);
  else
    engine.at(origin_, Phase::kComplete, [this] { set_kernels(true); });
  if (training_.plan.slows_down()) return;  // the end is not known yet
  engine.at(end, Phase::kComplete, [this] { set_kernels(false); });
}

void Worker::set_kernels(bool run) {
  computes_ = run;
  change_speed();
  tell();
  if (training_.slowed_roads == nullptr) return;
  for (std::int64_t gpu = first_; gpu < first_ + count_; ++gpu)
    training_.slowed_roads->set_kernels(gpu, run);
}

Time Worker::ready(std::size_t bucket) const {
  return done(training_.plan.step.buckets[bucket].ready);
}

void Worker::await_gradient(Suspended program, std::size_t bucket) {
  World& world = training_.world;
  if (training_.plan.slows_down()) {
    gradient_ = {program, bucket, {}};
    return await_gradient();
  }
  const Time when = std::max(middle_.time, ready(bucket));
  world.wake(program, when > world.now() ? gradient_at(bucket, when) : world.present(),
             Phase::kComplete);
}

/// A gradient that is there at `when`.
When Worker::gradient_at(std::size_t bucket, Time when) {
  const StepPlan& plan = training_.plan.step;
  if (factor_ > 1) {
    return pass_end(middle_, middle_.time, plan.buckets[bucket].ready - plan.forward, backward_);
  }
  return backward_.until(training_.world.engine, middle_, last_gradient_, when);
}

void Worker::draw_gradient(std::size_t bucket) {
  if (training_.drawing.is_on())
    training_.drawing.gradient(number_, step_, static_cast<std::int32_t>(bucket), begin(bucket),
                               ready(bucket));
}

/// The end of the pass is an event, even where all else that the step waits for is over before it:
/// workers whose passes end at one instant go on in the order in which the passes began.
void Worker::backward() {
  if (training_.plan.slows_down()) return;  // await_end() has the event, as the speed changes
  const When end = pass_end(middle_, middle_.time, training_.plan.step.backward, backward_);
  draw_parts(end.time);
  if (end.time <= training_.world.now()) return parts_.came(end);
  parts_.came(end, 0);  // the cause of a step whose values are back at that instant, too
  training_.world.engine.at(end, Phase::kComplete,
                            [this] { parts_.came(training_.world.present()); });
}

/// When so much of the step's work is done, or would be if the GPU kept the speed that it has now.
Time Worker::done(Duration work) const {
  return training_.plan.slows_down() ? compute_.when(alone(work))
                                     : time_after(origin_, alone(work));
}

/// How long so much of it takes by itself. Each pass is scaled by itself, so that the last gradient
/// is there at its end, to the picosecond.
Duration Worker::alone(Duration work) const {
  const Duration forward = std::min(work, training_.plan.step.forward);
  return scaled(forward, factor_) + scaled(work - forward, factor_);
}

/// The parts of the step's compute that have ended since this was called last.
void Worker::draw_parts(Time until) {
  const auto& parts = training_.drawing.parts();
  for (; next_part_ < parts.size(); ++next_part_) {
    const Drawing::Part& part = parts[next_part_];
    const Time end = std::max(drawn_to_, done(part.work));
    if (end > until) return;
    training_.drawing.part(number_, step_, part, drawn_to_, end);
    drawn_to_ = end;
  }
}

/// So much of the step's work, which is done at `when`, and would be sooner without collectives
/// beside it, or at full speed.
When Worker::slowed(Time when, Duration work) {
  Engine& engine = training_.world.engine;
  const Time by_itself =
      std::clamp(time_after(origin_, alone(work)), middle_.time, std::max(middle_.time, when));
  const Duration nominal = work - training_.plan.step.forward;
  const Time usual = std::clamp(time_after(middle_.time, nominal), middle_.time, by_itself);
  const When ready = engine.until(backward_.until(engine, middle_, usual), by_itself, slower_);
  return engine.until(ready, std::max(ready.time, when), overlap_.compute);
}

void Worker::await_gradient() {
  World& world = training_.world;
  world.engine.cancel(gradient_.event);
  const Duration work = training_.plan.step.buckets[gradient_.bucket].ready;
  const Time when = std::max(world.now(), ready(gradient_.bucket));
  gradient_.event = world.engine.at(slowed(when, work), Phase::kComplete, [this] {
    World::resume(std::exchange(gradient_.program, {}));
  });
}

void Worker::await_end() {
  Engine& engine = training_.world.engine;
  engine.cancel(backward_end_);
  if (compute_.end() < Time{}) refuse_range();  // it has left the range of simulated time
  const StepPlan& plan = training_.plan.step;
  const When end = slowed(compute_.end(), plan.forward + plan.backward);
  backward_end_ = engine.at(end, Phase::kComplete, [this] {
    set_kernels(false);
    draw_parts(training_.world.now());
    parts_.came(training_.world.present());
  });
}

void Worker::change_speed() {
  if (!computes_ || slowdown() == compute_.slowdown()) return;
  draw_parts(training_.world.now());
  compute_.change(training_.world.now(), slowdown());
  await_end();
  if (gradient_.program) await_gradient();
}

void Worker::sends(std::size_t bucket) {
  if (number_ != 0) return training_.record.reduced_elsewhere();
  const auto one = static_cast<std::int32_t>(bucket);
  training_.record.reduced({&one, 1}, training_.bytes(bucket), ready(bucket),
                           training_.world.now());
}

void Worker::came(std::int32_t bucket, When end) {
  training_.record.came(number_, bucket, end.time);
  parts_.came(end);
}

bool Worker::counts() const {
  return training_.record.counts(step_);
}

void Worker::take() {
  if (training_.learner != nullptr) training_.learner->take(number_);
}

void Worker::descend() {
  if (training_.learner != nullptr) training_.learner->descend(number_);
}

void Worker::use_values() {
  training_.plan.aggregation.servers.count > 0 ? take() : descend();
}

void Worker::end_step() {
  World& world = training_.world;
  ++step_;
  training_.record.learnt(number_, step_);
  end_ = world.now();
  held_ = world.engine.hold(world.present());
  tell_end();
}

/// The step before the present one has ended, for what is held.
void Worker::tell_end() {
  Record& record = training_.record;
  const bool reports_all = training_.plan.reported == TrainingPlan::Reported::kAll;
  if (reports_all && !record.wants(step_)) await_input(end_);  // as a next step would
  record.ended(number_, step_ - 1, end_, held_.when);
  if (number_ == 0 && training_.on_step) training_.on_step();
}

void Worker::layer_came(std::int32_t bucket, When when) {
  const Duration needed = training_.plan.needed[static_cast<std::size_t>(bucket)];
  hold_up(origin_, when, scaled(needed, factor_));
  layers_.came(training_.world.present());
}

void Worker::look_ahead() {
  origin_of_next_ = {};
  next_factor_ = factor(step_ + 1);
  expect_layers(training_.buckets());
}

void Worker::next_layer_came(std::int32_t bucket, When when) {
  training_.record.came(number_, bucket, when.time);
  const Duration needed = training_.plan.needed[static_cast<std::size_t>(bucket)];
  hold_up(origin_of_next_, when, scaled(needed, next_factor_));
  layers_.came(training_.world.present());
}

void Worker::begin_next() {
  World& world = training_.world;
  ++step_;
  start_ = world.now();
  hold_up(origin_of_next_, world.present(), {});
}

bool Worker::begin_step_ahead() {
  Record& record = training_.record;
  origin_ = end_ = origin_of_next_;
  factor_ = next_factor_;
  record.learnt(number_, step_);
  tell_end();
  if (!record.wants(step_)) return false;
  record.begins(step_);
  training_.drawing.began(number_, step_);
  return true;
}

}  // namespace steptime
