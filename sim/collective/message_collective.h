// A collective that is made of messages. Its file says what they are, in programs(); that is
// enough. A file that knows a closed form, too, says it in time().
#pragma once
#include "sim/collective/collective.h"
#include "sim/network/machine.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace steptime {

class MessageCollective : public Collective {
 public:
  explicit MessageCollective(const Cluster& cluster) : cluster_(cluster) {}

  Programs programs(Bytes m) const override = 0;
  /// What the messages take on the cluster while nothing else is under way. A size is played once.
  /// It may fall with size by about a byte, where messages that share links are cut unevenly.
  /// Throws PlacedError when that is too much work.
  Duration time(Bytes m) const override;
  Duration startup() const override { return time(Bytes{0}); }
  /// One: what is not start-up is work between the nodes, as soon as there are two.
  std::vector<Stage> stages(Bytes m) const override;

 protected:
  Pairs where() const { return cluster_.nodes > 1 ? Pairs::kBetweenNodes : Pairs::kInNode; }

 private:
  Duration played(const Programs& programs) const;

  const Cluster cluster_;
  // What is known of times: threads of a sweep share collectives.
  mutable std::mutex mutex_;
  mutable std::optional<Machine> machine_;  ///< made for the first size
  mutable std::map<std::int64_t, Duration> times_;
};

}  // namespace steptime
