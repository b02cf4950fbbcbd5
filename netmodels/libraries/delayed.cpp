#include "netmodels/libraries/delayed.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {
namespace {

Duration delay_of(const Op& op, const Delays& delays) {
  if (op.send.count == 0 && op.recv.count == 0) return {};
  return delays.per_step + (op.reduce ? delays.per_sum : Duration{});
}

/// Every step of a program after a step of its own that only waits.
class DelayedProgram final : public Program {
 public:
  DelayedProgram(std::unique_ptr<Program> plain, Delays delays)
      : plain_(std::move(plain)), delays_(delays) {}
  Rank ranks() const override { return plain_->ranks(); }
  std::int32_t steps(Rank rank) const override { return 2 * plain_->steps(rank); }
  Op op(Rank rank, std::int32_t step) const override {
    Op op = plain_->op(rank, step / 2);
    if (step % 2 == 0) return {.work = delay_of(op, delays_)};
    op.send.step = 2 * op.send.step + 1;
    op.recv.step = 2 * op.recv.step + 1;
    return op;
  }
  bool buffered() const override { return plain_->buffered(); }
  std::optional<TimePerByte> reduction() const override {
    return delays_.reduction ? delays_.reduction : plain_->reduction();
  }
  double messages() const override { return plain_->messages(); }

 private:
  std::unique_ptr<Program> plain_;
  Delays delays_;
};

/// Ranks 0 and 1 and the last one show the most steps, folded or not.
Duration longest(const Programs& programs, const Delays& delays) {
  Duration most{};
  for (const auto& program : programs) {
    for (const Rank rank : {0, 1, program->ranks() - 1}) {
      if (rank >= program->ranks()) continue;
      Duration sum{};
      for (std::int32_t step = 0; step < program->steps(rank); ++step)
        sum = checked_add(sum, delay_of(program->op(rank, step), delays));
      most = std::max(most, sum);
    }
  }
  return most;
}

class Delayed final : public Collective {
 public:
  Delayed(std::shared_ptr<const Collective> plain, Delays delays)
      : plain_(std::move(plain)), delays_(delays), sum_(longest(plain_->programs({1}), delays)) {}
  Duration time(Bytes m) const override { return checked_add(plain_->time(m), sum_); }
  Duration startup() const override { return checked_add(plain_->startup(), sum_); }
  std::vector<Stage> stages(Bytes m) const override {
    auto stages = plain_->stages(m);
    if (!stages.empty()) stages.front().startup = checked_add(stages.front().startup, sum_);
    return stages;
  }
  std::optional<LinearCost> linear() const override {
    auto line = plain_->linear();
    if (line) line->a = checked_add(line->a, sum_);
    return line;
  }
  std::string outside_domain(Bytes m) const override { return plain_->outside_domain(m); }
  std::string choice(Bytes m) const override { return plain_->choice(m); }
  std::int64_t thread_blocks(Bytes m) const override { return plain_->thread_blocks(m); }
  /// Ranks that fall out of step may hide all delays behind others' messages.
  std::optional<ErrorBound> error_bound() const override {
    auto bound = plain_->error_bound();
    const Duration plain = plain_->startup();
    if (bound && plain > Duration{})
      bound->most = (1 + bound->most) * (1 + to_seconds(sum_) / to_seconds(plain)) - 1;
    return bound;
  }
  Operation operation() const override { return plain_->operation(); }
  Programs programs(Bytes m) const override {
    Programs programs = plain_->programs(m);
    for (auto& program : programs)
      program = std::make_unique<DelayedProgram>(std::move(program), delays_);
    return programs;
  }

 private:
  std::shared_ptr<const Collective> plain_;
  Delays delays_;
  Duration sum_;
};

}  // namespace

std::unique_ptr<Collective> delayed(std::shared_ptr<const Collective> plain, Delays delays) {
  return std::make_unique<Delayed>(std::move(plain), delays);
}

}  // namespace steptime
