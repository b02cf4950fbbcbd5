// What a rank of a pipeline sends to a neighbour: activations forward, their gradients back. Sends
// of one direction go one after another, in the order of the sender.
#pragma once
#include "sim/core/error.h"
#include "sim/layouts/rank_drawing.h"
#include "sim/layouts/rank_memory.h"
#include "sim/layouts/repetition.h"
#include "sim/runtime/group.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace steptime {

/// How many micro-batches have come for a chunk of the receiver.
class Arrivals final : public Counter {
 public:
  /// `doing`: what the receiver is at, in words.
  Arrivals(World& world, Name name, std::function<std::string()> doing)
      : Counter(world, name), doing_(std::move(doing)) {}
  std::string tell(std::int64_t needs) const override {
    return fmt::format("{} for its {}", Counter::tell(needs), doing_());
  }
  /// The receiver has taken one.
  void take() { ++taken_; }
  /// When the step is over. Throws ModelFailure for what was sent and never received.
  void expect_taken() const {
    if (taken_ == value()) return;
    throw ModelFailure(fmt::format("{}: {} were sent, and {} received when the step was over",
                                   name().text(), value(), taken_));
  }

 private:
  std::int64_t taken_ = 0;
  std::function<std::string()> doing_;
};

class PipelineLink final : private Group::Watch {
 public:
  /// `sent`: what `drawing` calls it.
  PipelineLink(World& world, Name name, std::unique_ptr<Medium> medium, Repetition::Line& line,
               RankDrawing& drawing, const char* sent)
      : world_(world),
        group_(world, name, 1, std::move(medium)),
        line_(line),
        drawing_(drawing),
        sent_(sent) {
    group_.watch(this);
  }

  /// To a chunk of the receiver, in whose memory they then are.
  void send(Bytes bytes, Arrivals& to, RankMemory& memory) {
    under_way_.push_back({&to, &memory});
    line_.called();
    group_.launch(0, bytes);
  }
  /// Awaited: all that was sent has come.
  Counter::Wait over() { return group_.over(0); }
  /// Since when what came last had been on its way.
  Time last_start() const { return last_start_; }
  std::int64_t sent() const { return group_.calls(0); }

 private:
  struct Sent {
    Arrivals* to;
    RankMemory* memory;
  };
  void ended(std::int64_t, Bytes bytes, Time start) override {
    const Sent sent = under_way_.front();
    under_way_.pop_front();
    last_start_ = start;
    line_.ended();
    drawing_.exchange("pipeline", sent_, bytes, start);
    sent.memory->acquire(HeldFor::kBuffers, bytes, world_.now());
    sent.to->add();
  }

  World& world_;
  Group group_;
  Repetition::Line& line_;
  RankDrawing& drawing_;
  const char* sent_;
  std::deque<Sent> under_way_;
  Time last_start_{};
};

}  // namespace steptime
