// Horovod's background threads: cycle by cycle all P ranks tell rank 0 which gradients they have,
// rank 0 answers which of them all have, and these are reduced one message after another.
//
//   without cache   4 ceil(log2 P) alpha + n P handling   for n gradients: two gathers and two
//                                                         broadcasts, and rank 0's table
//   with cache      ceil(log2 P) alpha                    one small all-reduce of bits
//
// alpha is the latency of the slowest link. A cycle begins at max(end of the one before, its begin
// + `cycle`); an empty one is negotiated, too. What travels as one message is the schedule's
// choice:
// {"type": "tensor-fusion", "cycle": "0 s"} for Horovod's fusion, and with `wfbp` one gradient.
//
// Over MPI the thread is inside one all-reduce at a time. Over NCCL it goes on when a message is on
// a stream, so that the next cycle begins while that travels; `streams` of the transport, one by
// default, is HOROVOD_NUM_NCCL_STREAMS.
//
// Scope: the messages of a negotiation carry few bytes and do not wait for those of gradients; with
// a cache every gradient is in it, as after the first step.
// Parameters: version (of Horovod, whose defaults the others have), cycle [time], cache, handling
// [time, per gradient and rank].
// Source: horovod v0.15.2 horovod/common/operations.cc RunLoopOnce; defaults of v0.11.3 to v0.28.1:
// 5 ms, from 0.21.0 on 1 ms; a cache from 0.16.2 on. `handling`: 0.3 to 0.65 us, measured on a
// stand-in of the message table.
#include "sim/step/coordinator.h"
#include "sim/step/cycles.h"

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace steptime {
namespace {

const Params kParams{
    {.key = "version",
     .kind = Kind::kText,
     .help = "of Horovod, for the defaults of cycle and cache",
     .need = Need::kDefault,
     .fallback = "0.15.2",
     .words = {"0.15.2", "0.16.2", "0.20.3", "0.21.0", "0.28.1"}},
    {.key = "cycle",
     .kind = Kind::kTime,
     .help = "from the beginning of a cycle to that of the next, at least; default: "
             "the version's",
     .need = Need::kOptional,
     .range = kNotNegative},
    {.key = "cache",
     .kind = Kind::kBoolean,
     .help = "ranks agree by bits on what they have sent before; default: the "
             "version's",
     .need = Need::kOptional},
    {.key = "handling",
     .kind = Kind::kTime,
     .help = "of rank 0, per gradient and rank, without cache",
     .need = Need::kDefault,
     .fallback = "0.5 us",
     .range = kNotNegative}};

class Horovod final : public Coordinator {
 public:
  explicit Horovod(const Config& c) : handling_(c.get<Duration>("handling")) {
    const auto version = c.get<std::string>("version");
    cache_ = c.has("cache") ? c.get<bool>("cache") : version != "0.15.2";
    const bool is_new = version == "0.21.0" || version == "0.28.1";
    cycle_ = c.has("cycle") ? c.get<Duration>("cycle") : std::chrono::milliseconds(is_new ? 1 : 5);
  }
  std::unique_ptr<Policy> policy(std::unique_ptr<Policy> schedule, std::span<const Bucket>,
                                 const Cluster& cluster) const override {
    if (schedule == nullptr) schedule = std::make_unique<InOrder>();
    const std::int64_t ranks = cluster.workers();
    const auto rounds = std::bit_width(static_cast<std::uint64_t>(ranks - 1));
    const Duration round = cluster.bottleneck().latency * rounds;
    return std::make_unique<Cycles>(
        std::move(schedule), cycle_, [=, cache = cache_, handling = handling_](std::size_t n) {
          if (cache) return round;
          const auto told = static_cast<double>(n) * static_cast<double>(ranks);
          return checked_add(4 * round, from_seconds(to_seconds(handling) * told));
        });
  }
  bool goes_on_when_launched() const override { return true; }
  std::string outside_domain() const override {
    return "what Horovod's rank 0 takes for a gradient was measured on a stand-in";
  }
  /// Steps begin at other phases of the cycle.
  std::int64_t default_steps() const override { return cycle_ > Duration{} ? 20 : 1; }

 private:
  Duration handling_;
  bool cache_ = false;
  Duration cycle_{};
};

const bool kRegistered = Coordinators::instance().add(
    "horovod", "all ranks agree with rank 0, cycle by cycle, on what is reduced", kParams,
    [](const Config& c) { return std::make_unique<Horovod>(c); });

}  // namespace
}  // namespace steptime
