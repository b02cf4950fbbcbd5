// What GPUs compute and the exchanges beside it, in play: each takes so many times as long while
// the other is under way as "overlap" says (sim/workload/overlap.h).
//
// What is computed takes so many times as long as each exchange beside it says, one times the
// other. An exchange goes through its medium as it would by itself, and then takes longer by what
// it has lost while any of its GPUs computed: its links carry the same in the same time. Without
// other exchanges on them that is the time of one that goes on more slowly. Links that are slower
// by themselves while kernels run are another matter (sim/network/kernel_links.h).
#pragma once
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/workload/overlap.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
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

/// An exchange that is under way beside what its GPUs compute.
class SlowedExchange {
 public:
  explicit SlowedExchange(SlowedMedium& medium) : medium_(medium) {}
  SlowedExchange(const SlowedExchange&) = delete;
  SlowedExchange& operator=(const SlowedExchange&) = delete;
  /// One of its GPUs begins to compute, or stops.
  void change();

 private:
  friend class SlowedMedium;
  double slowdown() const;
  void start(Medium& medium, Bytes bytes, Callback done);
  void come_through();
  void await(Time end);
  void end();

  SlowedMedium& medium_;
  Slowdown slowdown_{};
  Callback done_{};
  Time start_{};
  Duration alone_{};  ///< in its medium
  bool is_through_ = false;
  Held through_{};
  Progress progress_;
  EventId end_{};
};

/// A GPU, or several that move as one.
class ComputingGpu {
 public:
  ComputingGpu() = default;
  ComputingGpu(const ComputingGpu&) = delete;
  ComputingGpu& operator=(const ComputingGpu&) = delete;
  virtual ~ComputingGpu() = default;
  virtual bool computes() const = 0;
  /// By how much longer its exchanges took than by themselves.
  Duration lost() const { return lost_; }

  // Of its exchanges.
  /// `slowdown`: factor on the time of what is computed meanwhile.
  void begins(SlowedExchange& exchange, double slowdown);
  void ends(SlowedExchange& exchange, Duration lost);

 protected:
  /// How many times as long what it computes takes now.
  double slowdown() const;
  /// It begins to compute, or stops.
  void tell() const;

 private:
  struct Beside {
    SlowedExchange* exchange;
    double slowdown;
  };
  /// slowdown() is another one, perhaps.
  virtual void change_speed() = 0;

  std::vector<Beside> exchanges_;
  Duration lost_{};
};

/// What the exchanges of these GPUs go through.
class SlowedMedium final : public Medium {
 public:
  /// How many times as long each takes, by the bytes of an exchange.
  using SlowdownOf = std::function<Slowdown(Bytes)>;
  /// `world` and `gpus` must outlive it. `lost`: what causes call the time that exchanges lose.
  SlowedMedium(World& world, std::unique_ptr<Medium> medium, SlowdownOf beside,
               std::vector<ComputingGpu*> gpus,
               const char* lost = "collectives slowed by the backward pass");

  void start(Bytes bytes, Callback done) override;
  Duration least(Bytes bytes) const override { return medium_->least(bytes); }
  void expect_over() const override { medium_->expect_over(); }

 private:
  friend class SlowedExchange;
  const Slowdown& slowdown_of(Bytes bytes);

  World& world_;
  std::unique_ptr<Medium> medium_;
  SlowdownOf beside_;
  std::vector<ComputingGpu*> gpus_;
  Reason slowed_;
  std::map<std::int64_t, Slowdown> known_;  ///< by bytes
  std::deque<SlowedExchange> exchanges_;
  std::vector<SlowedExchange*> free_;
};

}  // namespace steptime
