// A channel whose bandwidth the transfers in progress share equally; their start-ups overlap.
//
// A transfer costs startup + work when it is alone. With n of them past their start-up, each gets
// 1/n of the channel. Exact to the picosecond for a transfer that is alone; a change of n rounds
// the progress of each down to a picosecond.
#pragma once
#include "sim/core/units.h"
#include "sim/events/callback.h"
#include "sim/events/engine.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace steptime {

class SharedChannel {
 public:
  /// `resource`: what the channel is, where causes are kept.
  explicit SharedChannel(Engine& clock, std::string_view resource = "")
      : clock_(clock),
        startup_(clock.reason("start-up of collectives", resource)),
        work_(clock.reason("transfer and sums of collectives", resource)),
        sharing_(clock.reason("sharing with other collectives", resource)) {}
  SharedChannel(const SharedChannel&) = delete;
  SharedChannel& operator=(const SharedChannel&) = delete;

  /// `done` is called when the transfer has ended.
  void start(Duration startup, Duration work, Callback done);

 private:
  struct Transfer {
    Duration left{};  ///< at full bandwidth
    Callback done;
    Time alone{};  ///< when it would end by itself
    Held begun{};
  };
  /// A transfer in its start-up; the action of an event has no room for all of it.
  struct Waiting {
    Duration work{};
    Callback done;
  };

  void begin_work(std::size_t waiting);
  void progress();
  void schedule_end();
  void end_finished();

  Engine& clock_;
  Reason startup_;
  Reason work_;
  Reason sharing_;
  std::vector<Waiting> waiting_;
  std::vector<std::size_t> free_waiting_;
  std::vector<Transfer> active_;  ///< in the order in which their work began
  std::vector<Transfer> finished_;
  Time progressed_to_{};
  EventId end_{};
  bool end_is_scheduled_ = false;
};

}  // namespace steptime
