// Max-min fair rates: no flow can get more without a flow that has no more getting less.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

/// Progressive filling. Solves one problem at a time and keeps its buffers for the next.
class MaxMinSolver {
 public:
  void clear();
  /// Returns the channel's index.
  std::uint32_t add_channel(double capacity);
  /// A flow over these channels, each named once. A flow over none has no bound and gets rate 0.
  void add_flow(std::span<const std::uint32_t> channels);
  /// The rate of every flow, in the order of add_flow, in the unit of the capacities.
  std::span<const double> solve();

 private:
  struct Channel {
    double left;               ///< capacity that no fixed flow uses
    std::uint32_t open = 0;    ///< flows without a rate so far
    std::uint32_t first = 0;   ///< into users_
    std::uint32_t filled = 0;  ///< entries of users_ written
    double share() const { return left / open; }
  };
  struct Candidate {
    double share;
    std::uint32_t channel;
    bool operator<(const Candidate& other) const {  // std heaps keep the greatest in front
      return share != other.share ? share > other.share : channel > other.channel;
    }
  };
  void index_users();
  void fix(std::uint32_t flow, double rate);

  std::vector<Channel> channels_;
  std::vector<std::uint32_t> flow_ends_;  ///< into flow_channels_
  std::vector<std::uint32_t> flow_channels_;
  std::vector<std::uint32_t> users_;  ///< flows by channel
  std::vector<Candidate> heap_;
  std::vector<double> rates_;
};

}  // namespace steptime
