// Baidu's background thread (TensorFlow's contrib/mpi_collectives): it sleeps for a tick, then each
// worker sends rank 0 a message for every gradient that it has, and one that it is done; for a
// gradient that all P workers have rank 0 sends a message to each of the others, and it is reduced
// at once, by itself. For n gradients rank 0 handles
//
//   n (P - 1) + (P - 1) messages in, n (P - 1) out      beside 2 alpha for their way
//
// A tick begins `tick` after the end of the one before. Nothing is fused: of a schedule that
// decides as the step runs it takes the messages one by one all the same, so that `wfbp` is its
// own.
//
// Scope: gradients of a tick are agreed on together before the first of them travels; the first is
// reduced a little earlier than that in truth.
// Parameters: tick [time], handling [time, per message at rank 0]. The latter is assumed to be
// Horovod's, of which the table is a descendant.
// Source: tensorflow contrib/mpi_collectives/mpi_ops.cc BackgroundThreadLoop (1 ms).
#include "sim/step/coordinator.h"
#include "sim/step/cycles.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace steptime {
namespace {

const Params kParams{{.key = "tick",
                      .kind = Kind::kTime,
                      .help = "that the background thread sleeps between two ticks",
                      .need = Need::kDefault,
                      .fallback = "1 ms",
                      .range = kNotNegative},
                     {.key = "handling",
                      .kind = Kind::kTime,
                      .help = "of rank 0, per message",
                      .need = Need::kDefault,
                      .fallback = "0.5 us",
                      .range = kNotNegative}};

class Baidu final : public Coordinator {
 public:
  Baidu(Duration tick, Duration handling) : tick_(tick), handling_(handling) {}
  std::unique_ptr<Policy> policy(std::unique_ptr<Policy> schedule, std::span<const Bucket>,
                                 const Cluster& cluster) const override {
    if (schedule == nullptr) schedule = std::make_unique<InOrder>();
    const auto others = static_cast<double>(cluster.workers() - 1);
    const Duration way = 2 * cluster.bottleneck().latency;
    return std::make_unique<Cycles>(
        std::move(schedule), tick_,
        [=, handling = to_seconds(handling_)](std::size_t n) {
          const double messages = (2 * static_cast<double>(n) + 1) * others;
          return checked_add(way, from_seconds(handling * messages));
        },
        Cycles::Pause::kAfterEnd);
  }
  std::string outside_domain() const override {
    return "what Baidu's rank 0 takes for a message is assumed";
  }
  /// Steps begin at other phases of the tick.
  std::int64_t default_steps() const override { return tick_ > Duration{} ? 20 : 1; }

 private:
  Duration tick_;
  Duration handling_;
};

const bool kRegistered = Coordinators::instance().add(
    "baidu", "rank 0 answers, tick by tick, which gradients all have; each goes by itself", kParams,
    [](const Config& c) {
      return std::make_unique<Baidu>(c.get<Duration>("tick"), c.get<Duration>("handling"));
    });

}  // namespace
}  // namespace steptime
