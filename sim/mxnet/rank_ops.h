// The operations that the main-thread program of a rank pushes in a period, of one step or of those
// from one exchange to the next, and what they read and write: the same at every rank and in every
// period (ops.h).
//
// Variables: per key the gradient on the GPU, the communication buffer on the host and the weight,
// and of parameters that come back beside a step a buffer of their own and their place on the GPU;
// one that chains the compute segments (one stream of kernels), the forward pass's output, the end
// of the backward pass, and a dummy for programs that need one. Pools: GPU kernels (2 threads,
// FIFO), GPU copies (2, priority), CPU (1, FIFO; it runs WaitToRead), collectives (a parameter).
// Source: SEMANTICS of apache/mxnet 1.3.1 src/engine/threaded_engine_perdevice.cc; 000 section 4.
#pragma once
#include "sim/core/random.h"
#include "sim/core/units.h"
#include "sim/mxnet/ops.h"
#include "sim/mxnet/rank_calls.h"
#include "sim/mxnet/settings.h"
#include "sim/mxnet/training_graph.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

class RankOps {
 public:
  enum class Kind : std::uint8_t {
    kCompute,
    kCopyToHost,
    kCopyToDevice,
    kAllReduce,  ///< reads the gradient, so that the next backward pass waits
    kChained,    ///< all-reduce and copy back in one, in the order that the dummy enforces
    kUpdate,
    kWait,       ///< for a host buffer
    kWaitOutput  ///< for the forward pass
  };
  /// What an operation does once it has a thread.
  struct Body {
    enum How : std::uint8_t { kTakesTime, kCalls, kCallsAndCopies, kWakesMainThread };
    How how = kTakesTime;
    bool varies = false;    ///< by jitter
    bool computes = false;  ///< which ranks do at speeds of their own
    Duration time{};        ///< what it takes by itself, without what it calls
    const char* lane = "";  ///< the row of a timeline that shows it; "": it is not drawn
  };
  /// Kind in the low 4 bits, its payload in the next 4, key or segment above.
  using Label = std::uint32_t;
  static constexpr Label kNoLabel = 0xf;
  /// How fast a rank is in a step.
  struct Pace {
    double slowness;  ///< factor on what computes
    double jitter;
    const RandomStream& random;
    std::int32_t rank;
    std::int64_t step;

    /// Of what the operation does itself.
    Duration time_of(Label label, const Body& body) const;
  };
  static Label label_of(Kind kind, std::size_t index, Payload payload = Payload::kGradient) {
    return static_cast<Label>(kind) | static_cast<Label>(payload) << 4 |
           static_cast<Label>(index) << 8;
  }
  static Kind kind_of(Label label) { return static_cast<Kind>(label & 0xf); }
  static Payload payload_of(Label label) { return static_cast<Payload>(label >> 4 & 0xf); }
  static std::int32_t index_of(Label label) { return static_cast<std::int32_t>(label >> 8); }

  /// Both must outlive this.
  RankOps(const TrainingGraph& graph, const MxnetSettings& settings);

  /// Before any is added: parameters are sent that come back beside a step.
  void keep_apart();
  const Ops& ops() const { return ops_; }
  /// To these, as the next that is pushed, in such a step of the period.
  void add(Label label, std::int64_t step = 0);
  /// In which step of the period an operation is pushed.
  std::int64_t step_of(std::size_t number) const { return steps_[number]; }
  /// Key numbers in the order in which the program is to go through them.
  const std::vector<std::int32_t>& keys() const { return keys_; }
  Body body(Label label) const;
  /// The key that a variable belongs to, if it does to one.
  std::optional<std::int32_t> key_of(Ops::Variable variable) const;
  std::string describe(Label label) const;

 private:
  using Variable = Ops::Variable;

  void add_segment(Label label);
  /// What is copied to the host, into which buffer, and what is copied back from there.
  Variable source(Label label) const;
  Variable buffer(Label label) const;
  Variable target(Label label) const;
  Variable gradient(std::int32_t key) const { return first_key_ + 3 * static_cast<Variable>(key); }
  Variable weight(std::int32_t key) const { return gradient(key) + 2; }

  const TrainingGraph& graph_;
  const MxnetSettings& settings_;
  Ops ops_;
  std::vector<std::uint32_t> steps_;  ///< by operation
  std::vector<std::int32_t> keys_;
  std::vector<Duration> copy_times_;  ///< by key
  Ops::PoolId gpu_pool_;
  Ops::PoolId copy_pool_;
  Ops::PoolId cpu_pool_;
  Ops::PoolId collective_pool_;
  Variable chain_;
  Variable output_;
  Variable backward_end_;
  Variable dummy_;
  Variable first_key_;              ///< variables of key 0; those of the others follow
  Variable beside_ = Ops::kPushed;  ///< in the same way, of parameters kept apart; kPushed: none
};

}  // namespace steptime
