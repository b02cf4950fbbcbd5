#include "sim/network/max_min.h"

#include <algorithm>
#include <utility>

namespace steptime {

std::uint32_t MaxMin::add_channel(double capacity) {
  channels_.emplace_back().capacity = capacity;
  return static_cast<std::uint32_t>(channels_.size() - 1);
}

void MaxMin::open(std::uint32_t channel) {
  Channel& c = channels_[channel];
  if (c.stage != Stage::kIdle) return;
  c.stage = Stage::kOpen;
  c.granted = c.level;
  opened_.push_back(channel);
}

void MaxMin::add(std::uint32_t flow, std::span<const std::uint32_t> channels) {
  if (flow >= flows_.size()) flows_.resize(flow + std::size_t{1});
  Flow& f = flows_[flow];
  for (const std::uint32_t channel : channels) {
    std::vector<Member>& members = channels_[channel].members;
    const std::uint32_t other = channels.size() == 2 ? channels[f.path.empty() ? 1 : 0] : kNone;
    members.push_back({flow, static_cast<std::uint32_t>(f.path.size()), other});
    f.path.push_back({channel, static_cast<std::uint32_t>(members.size() - 1)});
    open(channel);
  }
}

void MaxMin::place(Channel& channel, std::size_t at, Member member) {
  channel.members[at] = member;
  flows_[member.flow].path[member.hop].place = static_cast<std::uint32_t>(at);
}

void MaxMin::swap(Channel& channel, std::size_t a, std::size_t b) {
  if (a == b) return;
  const Member first = channel.members[a];
  place(channel, a, channel.members[b]);
  place(channel, b, first);
}

/// The flow's bottleneck is no longer that.
void MaxMin::disown(Flow& flow) {
  for (const Hop hop : flow.path) {
    if (hop.channel != flow.bottleneck) continue;
    Channel& channel = channels_[hop.channel];
    swap(channel, hop.place, --channel.own);
    break;
  }
  flow.bottleneck = kNone;
}

void MaxMin::remove(std::uint32_t flow) {
  Flow& f = flows_[flow];
  if (f.bottleneck != kNone) disown(f);
  for (const Hop hop : f.path) {
    Channel& channel = channels_[hop.channel];
    swap(channel, hop.place, channel.members.size() - 1);
    channel.members.pop_back();
    open(hop.channel);
  }
  f.path.clear();
}

/// What the flow can get at most, as far as its bottleneck says.
double MaxMin::bound(const Flow& flow) const {
  if (flow.bottleneck == kNone) return kInfinity;
  const Channel& bottleneck = channels_[flow.bottleneck];
  return bottleneck.stage == Stage::kOpen ? kInfinity : bottleneck.level;
}

/// The level at which an open channel is full when its flows get no more than their bounds;
/// infinite when they cannot fill it.
double MaxMin::candidate(Channel& channel) {
  const std::size_t count = channel.members.size();
  if (count == 0) return kInfinity;
  double level = channel.capacity / static_cast<double>(count);
  if (count == channel.own) return level;
  bounds_.clear();
  for (std::size_t i = channel.own; i < count; ++i)
    bounds_.push_back(bound(flows_[channel.members[i].flow]));
  // Whoever has a bound below the level leaves the others more; at first all seem to get the same.
  for (std::size_t bounded = 0;;) {
    double sum = 0;
    std::size_t below = 0;
    for (const double bound : bounds_) {
      if (bound > level * kSame) continue;
      sum += bound;
      ++below;
    }
    channel.used = sum;
    if (below == count) return kInfinity;
    if (below == bounded) return level;
    bounded = below;
    level = std::max(level, (channel.capacity - sum) / static_cast<double>(count - below));
  }
}

/// Calls visit(channel) for the flow's channels but the one whose member it is.
template <class Visit>
inline void MaxMin::visit_others(Member member, Visit visit) {
  if (member.other != kNone) return visit(member.other);
  const Flow& flow = flows_[member.flow];
  for (std::uint32_t hop = 0; hop < flow.path.size(); ++hop) {
    if (hop != member.hop) visit(flow.path[hop].channel);
  }
}

void MaxMin::push(Candidate candidate) {
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end());
}

/// Finds the level that an open channel has at least.
void MaxMin::consider(std::uint32_t channel) {
  Channel& c = channels_[channel];
  const double level = candidate(c);
  if (level == kInfinity) {  // nobody's bottleneck
    c.stage = Stage::kIdle;
    return;
  }
  grant(c, level);
  push({level, channel});
}

/// The channel's own flows will get at least that. Opens the channels that have no room for it:
/// before any higher level is fixed.
void MaxMin::grant(Channel& channel, double level) {
  const double more = level - channel.granted;
  if (more <= 0) return;
  channel.granted = level;
  for (std::size_t i = 0; i < channel.own; ++i) {
    visit_others(channel.members[i], [&](std::uint32_t c) {
      Channel& other = channels_[c];
      if (other.stage != Stage::kIdle) return;
      other.used += more;
      if (other.own > 0 || other.used > other.capacity * kFull) open(c);
    });
  }
}

/// The channel's own flows have no bound any more: that may change open channels' candidates.
void MaxMin::reconsider_neighbours(std::uint32_t channel) {
  const Channel& c = channels_[channel];
  for (std::size_t i = 0; i < c.own; ++i) {
    visit_others(c.members[i], [&](std::uint32_t other) {
      if (channels_[other].stage == Stage::kOpen) push({candidate(channels_[other]), other});
    });
  }
}

/// The flow gets less: what that leaves on a bottleneck goes to others.
void MaxMin::lower(Member member, double less) {
  visit_others(member, [&](std::uint32_t c) {
    Channel& other = channels_[c];
    if (other.stage != Stage::kIdle) return;
    other.used -= less;
    if (other.own > 0) open(c);
  });
}

/// Every flow of the channel that has no lower bound gets the level.
void MaxMin::fix(std::uint32_t channel, double level) {
  Channel& c = channels_[channel];
  for (std::size_t i = level < c.level ? 0 : c.own; i < c.members.size(); ++i) {
    const Member member = c.members[i];
    if (i < c.own) {
      lower(member, c.level - level);
      continue;
    }
    Flow& flow = flows_[member.flow];
    if (bound(flow) <= level * kSame) continue;
    if (flow.bottleneck != kNone) {
      if (const double less = rate(flow) - level; less > 0) lower(member, less);
      disown(flow);
    }
    flow.bottleneck = channel;
    swap(c, i, c.own++);
    moved_.push_back(member.flow);
  }
  c.level = level;
  c.stage = Stage::kFixed;
  fixed_.push_back(channel);
}

void MaxMin::solve() {
  fixed_.clear();
  moved_.clear();
  const std::size_t changed = opened_.size();
  for (std::size_t next = 0; next < opened_.size() || !heap_.empty();) {
    if (next < opened_.size()) {
      const std::uint32_t channel = opened_[next++];
      consider(channel);
      if (next > changed) reconsider_neighbours(channel);
      continue;
    }
    std::pop_heap(heap_.begin(), heap_.end());
    const std::uint32_t channel = heap_.back().channel;
    heap_.pop_back();
    Channel& c = channels_[channel];
    if (c.stage != Stage::kOpen) continue;
    const double level = candidate(c);  // what was fixed since may leave it more
    if (level == kInfinity) {
      c.stage = Stage::kIdle;
      continue;
    }
    grant(c, level);
    const bool is_least = heap_.empty() || level <= heap_.front().level;
    if (is_least && next == opened_.size())
      fix(channel, level);
    else
      push({level, channel});
  }
  for (const std::uint32_t channel : opened_)
    channels_[channel].stage = Stage::kIdle;
  opened_.clear();
}

double MaxMin::load(std::uint32_t channel) const {
  double sum = 0;
  for (const Member member : channels_[channel].members)
    sum += rate(flows_[member.flow]);
  return sum;
}

}  // namespace steptime
