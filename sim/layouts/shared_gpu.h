// A rank's GPU, where what it computes and what travels for it slow each other down while both are
// under way, as "overlap" says (sim/workload/overlap.h).
//
// What is computed takes so many times as long as each exchange beside it says, one times the
// other. An exchange goes through its medium as it would by itself, and then takes longer by what
// it has lost while any of its ranks computed: its links carry the same in the same time. Without
// other exchanges on them that is the time of one that goes on more slowly.
#pragma once
#include "sim/layouts/plan.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/workload/overlap.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace steptime {

/// How far something is that takes `slowdown` times as long as by itself, which changes.
class Progress {
 public:
  void begin(Time now, double slowdown) {
    since_ = now;
    done_ = {};
    slowdown_ = slowdown;
  }
  void change(Time now, double slowdown) {
    done_ += unscaled(now - since_, slowdown_);
    since_ = now;
    slowdown_ = slowdown;
  }
  double slowdown() const { return slowdown_; }
  /// When that much is done, told by the time that it takes by itself, if nothing changes.
  Time when(Duration work) const { return time_after(since_, scaled(work - done_, slowdown_)); }

 private:
  Time since_{};
  Duration done_{};
  double slowdown_ = 1;
};

class SlowedMedium;

class SharedGpu {
 public:
  explicit SharedGpu(World& world) : world_(world) {}
  SharedGpu(const SharedGpu&) = delete;
  SharedGpu& operator=(const SharedGpu&) = delete;

  /// The program goes on when so much has been computed: one piece of work at a time. Those that
  /// follow each other at one instant are one stretch.
  void compute(Suspended program, Duration work);
  bool computes() const { return computes_; }
  /// By how much longer its exchanges took than by themselves.
  Duration lost() const { return lost_; }

  // Of its exchanges.
  void begins(SlowedMedium& exchange, double slowdown);
  void ends(SlowedMedium& exchange, Duration lost);

 private:
  struct Exchange {
    SlowedMedium* medium;
    double slowdown;  ///< factor on the time of what is computed meanwhile
  };
  double slowdown() const;
  void change_speed();
  void await_end();
  void end_work();
  void stop();

  World& world_;
  std::vector<Exchange> exchanges_;  ///< exchanges under way beside what is computed
  Suspended program_{};              ///< whose work is under way
  Progress stretch_;
  Duration work_{};        ///< work of the present stretch, up to the end of what is under way
  bool computes_ = false;  ///< up to the end of an instant at which work ends
  EventId end_{};
  EventId stop_{};
  Duration lost_{};
};

/// What the exchanges of these ranks go through, one after another.
class SlowedMedium final : public Medium {
 public:
  /// `beside`: how many times as long each takes. All must outlive it.
  using SlowdownOf = std::function<Slowdown(Bytes)>;
  SlowedMedium(World& world, std::unique_ptr<Medium> medium, SlowdownOf beside,
               std::vector<SharedGpu*> gpus)
      : world_(world),
        medium_(std::move(medium)),
        beside_(std::move(beside)),
        gpus_(std::move(gpus)) {}

  void start(Bytes bytes, Duration longer, Callback done) override;
  Duration least(Bytes bytes) const override { return medium_->least(bytes); }
  void expect_over() const override { medium_->expect_over(); }

  /// A rank of it begins to compute, or stops.
  void change();

 private:
  const Slowdown& slowdown_of(Bytes bytes);
  double slowdown() const;
  void come_through();
  void end();

  World& world_;
  std::unique_ptr<Medium> medium_;
  SlowdownOf beside_;
  std::vector<SharedGpu*> gpus_;
  std::map<std::int64_t, Slowdown> known_;  ///< by bytes
  Slowdown slowdown_{};
  Callback done_{};
  Time start_{};
  Duration alone_{};  ///< in its medium
  bool is_through_ = false;
  Progress progress_;
  EventId end_{};
};

}  // namespace steptime
