// The collectives that a client has under way at analytic fidelity: each goes through its stages,
// and what is under way on the same links shares them.
//
// Collectives share equally. Where messages to and from servers use the same ports
// (sim/servers/ports.h), which carry one thing after another, a stage takes the ports of all of the
// client's nodes, or workers, in turn with them.
#pragma once
#include "sim/collective/collective.h"
#include "sim/collective/stage_reasons.h"
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/events/shared_channel.h"
#include "sim/servers/ports.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

class Flights {
 public:
  /// Whether messages with servers use the ports between nodes, or those inside a node.
  struct Shared {
    bool between_nodes = false;
    bool in_node = false;
  };
  /// `workers`: those of the client. All must outlive this.
  Flights(Engine& engine, Ports& ports, WorkerRange workers, Shared with_servers)
      : engine_(engine),
        ports_(ports),
        workers_(workers),
        with_servers_(with_servers),
        reasons_(engine),
        in_node_(engine, StageReasons::kInNodeLinks),
        between_nodes_(engine, StageReasons::kBetweenNodesLinks) {}

  /// Goes through `stages` from now on, one after the other, and calls `done`.
  void start(std::vector<Stage> stages, Callback done);
  /// A collective that is known by its time only: one after another, beside all others.
  void start(Duration time, Callback done) {
    serial_free_ = engine_.until(later(engine_.present(), serial_free_), time, reasons_.alone());
    engine_.at(serial_free_, Phase::kComplete, [done] { done(); });
  }

 private:
  struct Flight {
    std::vector<Stage> stages;
    std::size_t next = 0;
    Callback done;
  };
  void go_on(std::size_t flight);
  bool takes_ports(const Stage& stage) const {
    return stage.where == Pairs::kInNode ? with_servers_.in_node : with_servers_.between_nodes;
  }

  Engine& engine_;
  Ports& ports_;
  WorkerRange workers_;
  Shared with_servers_;
  StageReasons reasons_;
  SharedChannel in_node_;
  SharedChannel between_nodes_;
  When serial_free_{};
  std::vector<Flight> flights_;
  std::vector<std::size_t> free_;
};

}  // namespace steptime
