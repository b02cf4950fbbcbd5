// Who computes the steps of a training run: a GPU, or several that move as one, at the pace of the
// slowest. A program (programs.h) says what a worker does with its gradients, and what it waits
// for.
//
//   while (me.begin_step()) {
//     me.forward();
//     for (bucket ...) { co_await me.gradient(bucket); ... }
//     me.backward();      // its end is known, and is one of the things that all() waits for
//     co_await me.all();
//     me.end_step();
//   }
//
// A forward pass begins when its worker has the samples and what it waits for; where that is known
// layer by layer, as late as the last of them makes it.
#pragma once
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"
#include "sim/servers/servers.h"
#include "sim/step/pass_reasons.h"
#include "sim/training/drawing.h"
#include "sim/training/learner.h"
#include "sim/training/plan.h"
#include "sim/training/record.h"
#include "sim/training/roads.h"
#include "sim/workload/slowed_medium.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace steptime {

/// What the programs of a run share.
struct TrainingRun {
  World& world;
  const TrainingPlan& plan;
  std::int64_t seed;
  Record& record;
  Learner* learner;  ///< null: only time is simulated
  Drawing drawing;
  std::function<void()> on_step = {};  ///< called when the first worker ends a step; may be empty
  Roads* slowed_roads = nullptr;       ///< whose links kernels slow down; null: none

  std::size_t buckets() const { return plan.step.buckets.size(); }
  Bytes bytes(std::size_t bucket) const { return plan.step.buckets[bucket].bytes; }
};

class Worker final : public Client, public ComputingGpu {
 public:
  /// `number`: among those that train parameters of their own. `member`: of its group. `first`,
  /// `count`: the GPUs that it is.
  Worker(TrainingRun& training, std::int32_t number, std::size_t member, std::int64_t first,
         std::int64_t count);

  std::int32_t number() const { return number_; }
  std::size_t member() const { return member_; }
  std::int64_t step() const { return step_; }
  TrainingRun& training() { return training_; }

  // Of its program.
  /// A step begins now; false when the run is over.
  bool begin_step();
  /// The forward pass begins, as soon as there are samples and what held it up; and the backward
  /// pass behind it.
  void forward();
  struct Gradient {
    Worker& me;
    std::size_t bucket;
    /// Workers that have several gradients at one instant take turns.
    bool await_ready() const { return false; }
    void await_suspend(Suspended program) const { me.await_gradient(program, bucket); }
    void await_resume() const { me.draw_gradient(bucket); }
  };
  /// Awaited: the backward pass has come to the last gradient of a bucket.
  Gradient gradient(std::size_t bucket) { return {*this, bucket}; }
  /// The end of the backward pass is one of the things that all() waits for.
  void backward();
  /// So many buckets are.
  void expect(std::size_t buckets) { parts_.expect(static_cast<std::int64_t>(buckets)); }
  /// Awaited: they have come.
  Gather::All all() { return parts_.all(); }
  void end_step();

  // Of what is learnt, if anything is:
  /// It uses what it has pulled in the step.
  void take();
  /// It changes its parameters by its own gradient.
  void descend();
  /// The one or the other: servers have changed the parameters, or each worker does, by the sum.
  void use_values();

  // Where what a forward pass needs comes layer by layer:
  /// From now on the forward pass is held up by so many buckets, each at the first layer of its
  /// own.
  void expect_layers(std::size_t buckets) { layers_.expect(static_cast<std::int64_t>(buckets)); }
  /// Awaited: they have come. The forward pass has begun already, as early as they allowed.
  Gather::All layers() { return layers_.all(); }
  /// A bucket of the present step's forward pass is there at `when`.
  void layer_came(std::int32_t bucket, When when);
  /// The next step's forward pass is what layers hold up from now on; its values come one by one.
  void look_ahead();
  /// A bucket of it is there at `when`.
  void next_layer_came(std::int32_t bucket, When when);
  /// Now the next step's forward pass may begin, as far as this worker goes.
  void begin_next();
  /// Its layers have come: it has begun. False when the run is over.
  bool begin_step_ahead();

  /// A bucket's gradients leave, which nobody has to be added to first.
  void sends(std::size_t bucket);
  /// A bucket is back: one of the things that all() waits for.
  void came(std::int32_t bucket, When end) override;
  /// Whether its present step is one of those that sums over steps count.
  bool counts() const override;

  /// Whether its kernels run; known only where these and collectives slow each other down.
  bool computes() const override { return computes_; }

  // Of the record:
  Time start() const { return start_; }
  Time end() const { return end_; }
  /// How long it computes in a step, or would.
  Duration compute(std::int64_t step) const;
  Time ready(std::size_t bucket) const;
  /// When the gradient before it was ready, or the backward pass began.
  Time begin(std::size_t bucket) const { return bucket > 0 ? ready(bucket - 1) : middle_.time; }

 private:
  double factor(std::int64_t step) const;
  void await_gradient(Suspended program, std::size_t bucket);
  void await_gradient();
  void await_end();
  void change_speed() override;
  void run_kernels_until(Time end);
  void set_kernels(bool run);
  void await_input(Time& origin);
  void hold_up(Time& origin, When when, Duration needed);
  When pass_end(When since, Time begin, Duration nominal, const PassReasons& reasons);
  When gradient_at(std::size_t bucket, Time when);
  When slowed(Time when, Duration work);
  void tell_end();
  Time done(Duration work) const;
  Duration alone(Duration work) const;
  void draw_parts(Time until);
  void draw_gradient(std::size_t bucket);

  TrainingRun& training_;
  std::int32_t number_;
  std::size_t member_;
  std::int64_t first_;
  std::int64_t count_;
  PassReasons forward_;
  PassReasons backward_;
  Reason slower_;
  Reason input_;
  OverlapReasons overlap_;

  std::int64_t step_ = 0;
  Time start_{};
  Time origin_{};  ///< when the step would have started if its forward pass had not waited
  double factor_ = 1;
  Held held_{};           ///< what held the next forward pass up last, or ended the run
  When middle_{};         ///< the end of the forward pass
  When last_gradient_{};  ///< the latest one, which stands for the cause of all of a usual step
  Gather parts_;          ///< parts of the step that are not over
  Gather layers_;         ///< values that the next forward pass waits for
  Time origin_of_next_{};
  double next_factor_ = 1;
  Time end_{};
  std::size_t next_part_ = 0;  ///< the part of the step's compute that is drawn next
  Time drawn_to_{};

  // Where collectives slow kernels down:
  SharedCompute compute_;
  bool computes_ = false;  ///< kernels run
  struct Awaited {
    Suspended program{};
    std::size_t bucket = 0;
    EventId event{};
  };
  Awaited gradient_{};
  EventId backward_end_{};
};

}  // namespace steptime
