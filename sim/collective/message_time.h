// The time of one collective at message fidelity, on a network that carries nothing else.
#pragma once
#include "sim/collective/collective.h"
#include "sim/collective/collective_program.h"
#include "sim/collective/played_parts.h"
#include "sim/core/limits.h"
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/network/cluster.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace steptime {

/// Throws PlacedError, beginning with `place`, when the collective is known by its time only.
void expect_messages(const Collective& collective, std::string_view place);

/// The general path: every message is played on the network. `collective`: whose programs these
/// are, for the InternalError about ranks that wait for ever; null: nobody's.
Duration played_time(const Programs& programs, const Routes& routes, TimePerByte reduction,
                     const MessageOptions& options, const Collective* collective = nullptr);

/// How many messages of two links each would take as long to play as these: a message costs about
/// as much as the links that it crosses. Looks at some of the messages.
double play_cost(const Programs& programs, const Routes& routes);

/// The symmetric path: the sum over the rounds, when the program stays in step on these links.
/// Equal to played_time() wherever it is set.
std::optional<Duration> symmetric_time(const Programs& programs, const Machine& machine,
                                       TimePerByte reduction, const MessageOptions& options);
/// The same, with what it passes for.
std::optional<PlayedParts> symmetric_parts(const Programs& programs, const Machine& machine,
                                           TimePerByte reduction, const MessageOptions& options);

/// Times of a collective by size, on the path that fits. A size is played once: the network is idle
/// when a collective starts, so that its time does not depend on when that is.
class MessageTimes {
 public:
  /// Throws PlacedError when the collective is known by its time only. Both must outlive this.
  /// `tells_parts`: it keeps what the times pass for, which costs a little.
  MessageTimes(const Cluster& cluster, const Collective& collective, bool tells_parts = false);
  /// Plays all of these sizes, or throws PlacedError when that is too much work.
  void play(std::span<const Bytes> sizes, const OnProgress& on_progress = {});
  Duration time(Bytes m) { return known(m).time; }
  /// What that passes for, where it tells.
  PlayedParts parts(Bytes m) { return known(m).parts; }

 private:
  struct Known {
    Duration time{};
    PlayedParts parts{};
  };
  const Known& known(Bytes m);

  const Cluster& cluster_;
  const Collective& collective_;
  Machine machine_;
  Engine engine_;
  std::optional<Network> network_;  ///< made when the first message is played
  std::map<std::int64_t, Known> known_;
  bool tells_parts_;
};

}  // namespace steptime
