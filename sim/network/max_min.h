// Max-min fair rates: no flow can get more without a flow that has no more getting less.
//
// Every flow has a bottleneck: a channel of its path that is full, and on which no flow has more.
// All flows of a bottleneck have one rate, its level. Flows come and go; solve() looks again at the
// bottlenecks that they changed, and from there at the channels whose level that changes, lowest
// level first, so that what is fixed stays (progressive filling: Bertsekas and Gallager, Data
// Networks, 2nd ed., section 6.5.2, from the lowest level on that is not the same any more).
//
// A new flow is taken for one of the narrowest channel of its path; the others are looked at only
// if they have no room for it. What a flow leaves on a channel that is nobody's bottleneck is of
// use to nobody.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>

namespace steptime {

class MaxMin {
 public:
  /// Returns the channel's index. Capacities and rates have the same unit.
  std::uint32_t add_channel(double capacity);
  void set_capacity(std::uint32_t channel, double capacity);
  /// A flow over these channels, each named once, at least one. The caller names flows, densely.
  /// `weights`: what the flow takes of each channel per unit of its rate; none: 1.
  void add(std::uint32_t flow, std::span<const std::uint32_t> channels,
           std::span<const double> weights = {});
  void remove(std::uint32_t flow);
  /// Gives every flow its rate, after any number of changes.
  void solve();

  // Of the last solve(); some may be named twice.
  /// The channels whose level may have changed, or that flows have moved to.
  std::span<const std::uint32_t> fixed() const { return fixed_; }
  /// The flows that have another bottleneck now, or the first one.
  std::span<const std::uint32_t> moved() const { return moved_; }

  std::uint32_t bottleneck(std::uint32_t flow) const { return flows_[flow].bottleneck; }
  /// Of the flow's path, which has so many.
  std::uint32_t channel(std::uint32_t flow, std::uint32_t hop) const {
    return flows_[flow].path[hop].channel;
  }
  std::uint32_t channels(std::uint32_t flow) const {
    return static_cast<std::uint32_t>(flows_[flow].path.size());
  }
  /// The rate of every flow whose bottleneck the channel is.
  double level(std::uint32_t channel) const { return channels_[channel].level; }
  /// The sum of the rates on the channel, but of flows that came after the last solve().
  double load(std::uint32_t channel) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  /// Rates that differ by less are the same: what rounding makes of equal shares.
  static constexpr double kSame = 1 + 1e-13;

  enum class Stage : std::uint8_t {
    kIdle,   ///< nothing has changed so far
    kSlack,  ///< flows have left it, and nothing else has changed
    kOpen,   ///< its level is not yet known
    kFixed,  ///< its level is known
  };
  struct Member {
    std::uint32_t flow;
    std::uint32_t hop;    ///< the channel's place in the flow's path
    std::uint32_t other;  ///< the other channel of a path of two, as most are; else kNone
  };
  struct Channel {
    double capacity = 0;
    double level = 0;       ///< 0 while it is nobody's bottleneck
    double used = 0;        ///< sum of the rates, or a bit more, while it is nobody's bottleneck
    double granted = 0;     ///< while open: what its own flows may get without opening others
    std::uint32_t own = 0;  ///< flows whose bottleneck it is; they come first in `members`
    std::uint32_t weighted = 0;  ///< members whose weight is not 1: most channels have none
    Stage stage = Stage::kIdle;
    std::vector<Member> members;
  };
  struct Hop {
    std::uint32_t channel;
    std::uint32_t place;  ///< in the channel's members
    double weight = 1;
  };
  struct Flow {
    std::uint32_t bottleneck = 0;
    bool is_new = false;  ///< added since the last solve()
    boost::container::small_vector<Hop, 4> path;
  };
  struct Candidate {
    double level;
    std::uint32_t channel;
    std::uint32_t when;                             ///< changes() when the level was found
    bool operator<(const Candidate& other) const {  // std heaps keep the greatest in front
      return level != other.level ? level > other.level : channel > other.channel;
    }
  };

  double rate(const Flow& flow) const { return channels_[flow.bottleneck].level; }
  double bound(const Flow& flow) const;
  double candidate(Channel& channel);
  double weighted_candidate(Channel& channel);
  double weight(std::uint32_t flow, std::uint32_t channel) const;
  double share(const Channel& channel, std::uint32_t index, double more) const {
    return channel.weighted == 0
               ? more
               : more * weight(index, static_cast<std::uint32_t>(&channel - channels_.data()));
  }
  void open(std::uint32_t channel);
  void open_slack(std::uint32_t channel);
  bool hand_over(Channel& channel);
  void push(Candidate candidate);
  void reconsider_neighbours(std::uint32_t channel);
  void grant(Channel& channel, double level);
  void raise(Member member, double more);
  /// Of what candidates depend on, in this solve() so far.
  std::uint32_t changes() const {
    return static_cast<std::uint32_t>(opened_.size() + fixed_.size());
  }
  void fix(std::uint32_t channel, double level);
  template <class Visit>
  void visit_others(Member member, Visit visit);
  void lower(Member member, double less);
  void place(Channel& channel, std::size_t at, Member member);
  void swap(Channel& channel, std::size_t a, std::size_t b);
  void disown(Flow& flow);

  std::vector<Channel> channels_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> opened_;  ///< the channels that are not idle
  std::vector<Candidate> heap_;
  std::vector<double> bounds_;  ///< scratch
  std::vector<std::uint32_t> fixed_;
  std::vector<std::uint32_t> moved_;
  std::vector<std::uint32_t> new_;  ///< added since the last solve(); some are gone again
};

}  // namespace steptime
