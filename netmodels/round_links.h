// What one round of a collective costs in closed form: messages of one size, between pairs of
// ranks, that start together and share the links on their ways. Ranks are numbered node by node.
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

/// How long the slowest of several messages takes, by size: the largest of their lines at each
/// size, and zero without any. A message with the longest latency is the slowest when small, one
/// with the slowest link when large.
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

/// A message from one rank to another.
struct Sent {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// The largest power of two up to n: how many of n ranks exchange data in recursive doubling and
/// halving. The others fold: each hands its data to a neighbour before, and gets the result from it
/// afterwards.
std::int64_t unfolded(std::int64_t n);

/// How long the messages of one round take.
struct RoundTime {
  Envelope slowest;
  std::vector<Line> lines;  ///< one line for each message
  bool even = true;         ///< all take the same time, and none waits for another
  bool apart = true;        ///< no two share a link

  /// A message; `shares`: some link of its way with another.
  void add(Line line, bool shares);
  void add(const RoundTime& other);
};

/// The usual rounds of collectives on one cluster. A message gets an equal share of every link on
/// its way, and the least of these shares is its rate: for the slowest message that is its max-min
/// fair rate. Nodes are alike, so that it is enough to look at the first of them, as many as show
/// every kind of message ("known"). With a fabric other than one switch no node is like another: up
/// to kMostKnown ranks all are looked at, and for more the fabric is taken for one switch.
class RoundLinks {
 public:
  static constexpr std::int64_t kMostKnown = 4096;
  explicit RoundLinks(const Cluster& cluster);

  /// Every rank r sends to r + s at once, for each stride s.
  RoundTime rings(std::span<const std::int64_t> strides) const;
  RoundTime ring() const;
  /// Ranks r and r xor `distance` send to each other. When the number of ranks is no power of two,
  /// those that have not folded do so, by the numbers that they have among themselves.
  RoundTime swap(std::int64_t distance) const;
  /// The folding: rank 0 sends to 1, 2 to 3, and so on, for all that are too many.
  RoundTime fold() const;
  /// A round of a binomial tree: every rank that is an odd multiple of `distance` sends to the rank
  /// `distance` below it. A broadcast, which goes the other way, takes as long.
  RoundTime tree(std::int64_t distance) const;
  /// Rank r sends to r + 1, all but the last rank at once; `sum`: what all of these messages take
  /// one after the other.
  struct Chain {
    RoundTime time;
    Line sum;
  };
  Chain chain() const;

  /// Of any messages between the first known() ranks.
  RoundTime time(std::span<const Sent> sent) const;
  /// What the messages themselves take; set when all ranks are known and not every one has a port
  /// to itself.
  std::optional<Duration> played(const Programs& programs, TimePerByte gamma) const;

  const Cluster& cluster() const { return cluster_; }
  std::int64_t workers() const { return nodes_ * gpus_; }
  std::int64_t known() const { return known_nodes_ * gpus_; }
  bool knows_all() const { return known_nodes_ == nodes_; }
  /// Every rank has a port of its own, and no other link.
  bool has_ports() const { return port_.has_value(); }
  /// The cluster has a fabric that is taken for one switch.
  bool leaves_out_fabric() const { return leaves_out_fabric_; }

 private:
  std::int64_t most_nodes_known() const;
  /// How many of the first ranks show every kind of message of a pattern that repeats after `step`
  /// ranks.
  std::int64_t shown(std::int64_t step) const;
  RoundTime swap_unfolded(std::int64_t distance) const;
  RoundTime time_at_ports(std::span<const Sent> sent) const;

  Cluster cluster_;
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
