// What a round of a collective costs in closed form: messages of one size that start together, over
// links that they share. Ranks are placed node by node, as in messages.
#pragma once
#include "sim/collective/collective_program.h"
#include "sim/network/cluster.h"
#include "sim/network/machine.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace steptime {

/// alpha + beta m, in s and s/B.
struct Line {
  double alpha = 0;
  double beta = 0;
  double seconds(double bytes) const { return alpha + beta * bytes; }
  bool operator==(const Line&) const = default;
};

/// The largest of some lines at each size; without any, zero.
class Envelope {
 public:
  void add(Line line);
  void add(const Envelope& other);
  double seconds(double bytes) const;
  /// Set when one line is the largest at every size.
  std::optional<Line> line() const;
  const std::vector<Line>& lines() const { return lines_; }

 private:
  std::vector<Line> lines_;  ///< none lies below another at every size
};

/// A message by its ranks.
struct Sent {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// The largest power of two among n ranks: as many as are left after folding.
std::int64_t unfolded(std::int64_t n);

/// How long the messages of a round take.
struct RoundTime {
  Envelope slowest;
  std::vector<Line> lines;  ///< of each message
  bool even = true;         ///< all take the same time, and none goes first
  bool apart = true;        ///< no two share a link

  void add(Line line, bool shares);
  void add(const RoundTime& other);
};

/// The rounds of a cluster. A message has an equal share of every link of its way; the least of
/// them is its rate, which is that of max-min fairness for the slowest message. Nodes are alike, so
/// that as many ranks are looked at as differ; a fabric other than one switch is looked at up to
/// kMostKnown ranks, and beyond taken for a switch.
class RoundLinks {
 public:
  static constexpr std::int64_t kMostKnown = 4096;
  explicit RoundLinks(const Cluster& cluster);

  /// Every rank r sends to r + s, for each of the strides.
  RoundTime rings(std::span<const std::int64_t> strides) const;
  RoundTime ring() const;
  /// Ranks r and r xor distance swap. When their number is no power of two, the first ones have
  /// folded in pairs, and those that are left are numbered anew.
  RoundTime swap(std::int64_t distance) const;
  /// That folding: rank 0 sends to 1, 2 to 3, and so on.
  RoundTime fold() const;
  /// Every rank r = distance mod 2 distance sends to r - distance; the way back takes as long.
  RoundTime tree(std::int64_t distance) const;
  /// Rank r sends to r + 1, for all but the last; `sum`: of all their times.
  struct Chain {
    RoundTime time;
    Line sum;
  };
  Chain chain() const;

  /// Of messages between the first known() ranks.
  RoundTime time(std::span<const Sent> sent) const;
  /// Of the messages themselves; set when all ranks are known, and links are shared.
  std::optional<Duration> played(const Programs& programs, TimePerByte gamma) const;

  std::int64_t workers() const { return nodes_ * gpus_; }
  std::int64_t known() const { return known_nodes_ * gpus_; }
  bool knows_all() const { return known_nodes_ == nodes_; }
  /// Every rank has a port of its own, and no other link.
  bool has_ports() const { return port_.has_value(); }
  /// Whether a fabric is taken for one switch.
  bool leaves_out_fabric() const { return leaves_out_fabric_; }

 private:
  std::int64_t most_nodes_known() const;
  /// How many ranks show all of a pattern that repeats after `step` ranks.
  std::int64_t shown(std::int64_t step) const;
  RoundTime swap_unfolded(std::int64_t distance) const;
  RoundTime time_at_ports(std::span<const Sent> sent) const;

  std::int64_t nodes_;
  std::int64_t gpus_;
  bool whole_;  ///< nodes differ in what lies between them
  bool leaves_out_fabric_;
  bool fifo_;
  std::int64_t known_nodes_;
  bool has_graph_ = false;
  std::optional<Line> port_;        ///< every rank has one of its own, and there is nothing else
  std::optional<Machine> machine_;  ///< without port_
  std::vector<Channel> channels_;
};

}  // namespace steptime
