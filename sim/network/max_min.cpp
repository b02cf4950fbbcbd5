#include "sim/network/max_min.h"

#include <algorithm>
#include <utility>

namespace steptime {

std::uint32_t MaxMin::add_channel(double capacity) {
  channels_.emplace_back().capacity = capacity;
  return static_cast<std::uint32_t>(channels_.size() - 1);
}

void MaxMin::set_capacity(std::uint32_t channel, double capacity) {
  Channel& c = channels_[channel];
  c.capacity = capacity;
  if (c.own > 0 || c.used > capacity * kSame) open(channel);
}

void MaxMin::open(std::uint32_t channel) {
  open_slack(channel);
  if (Channel& c = channels_[channel]; c.stage == Stage::kSlack) c.stage = Stage::kOpen;
}

void MaxMin::open_slack(std::uint32_t channel) {
  Channel& c = channels_[channel];
  if (c.stage != Stage::kIdle) return;
  c.stage = Stage::kSlack;
  c.granted = c.level;
  opened_.push_back(channel);
}

double MaxMin::weight(std::uint32_t flow, std::uint32_t channel) const {
  for (const Hop& hop : flows_[flow].path) {
    if (hop.channel == channel) return hop.weight;
  }
  return 1;
}

void MaxMin::add(std::uint32_t flow, std::span<const std::uint32_t> channels,
                 std::span<const double> weights) {
  if (flow >= flows_.size()) flows_.resize(flow + std::size_t{1});
  Flow& f = flows_[flow];
  f.path.resize(channels.size());
  double least = kInfinity;
  std::uint32_t narrowest = 0;
  for (std::uint32_t hop = 0; hop < channels.size(); ++hop) {
    Channel& c = channels_[channels[hop]];
    const auto place = static_cast<std::uint32_t>(c.members.size());
    f.path[hop] = {channels[hop], place, weights.empty() ? 1 : weights[hop]};
    if (f.path[hop].weight != 1) ++c.weighted;
    c.members.push_back({flow, hop, channels.size() == 2 ? channels[1 - hop] : kNone});
    if (const double share = c.capacity / (place + f.path[hop].weight); share < least) {
      least = share;
      narrowest = hop;
    }
  }
  f.bottleneck = channels[narrowest];
  f.is_new = true;
  new_.push_back(flow);
  Channel& bottleneck = channels_[f.bottleneck];
  raise(bottleneck.members.back(), bottleneck.level);
  swap(bottleneck, bottleneck.members.size() - 1, bottleneck.own++);
  open(f.bottleneck);
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

/// The flow's bottleneck is no longer that. The last one leaves a full channel that is nobody's.
void MaxMin::disown(Flow& flow) {
  for (const Hop hop : flow.path) {
    if (hop.channel != flow.bottleneck) continue;
    Channel& channel = channels_[hop.channel];
    swap(channel, hop.place, --channel.own);
    if (channel.own > 0) return;
    channel.used = channel.capacity;
    channel.level = channel.granted = 0;
    return;
  }
}

void MaxMin::remove(std::uint32_t flow) {
  Flow& f = flows_[flow];
  const double rate = this->rate(f);
  disown(f);
  for (const Hop hop : f.path) {
    Channel& channel = channels_[hop.channel];
    swap(channel, hop.place, channel.members.size() - 1);
    channel.members.pop_back();
    if (hop.weight != 1) --channel.weighted;
    if (channel.own > 0)
      open_slack(hop.channel);
    else  // nobody waits for what is left there
      channel.used = channel.members.empty() ? 0 : channel.used - rate * hop.weight;
  }
  f.path.clear();
  f.is_new = false;
}

/// What the flow can get at most, as far as its bottleneck says.
double MaxMin::bound(const Flow& flow) const {
  const Channel& bottleneck = channels_[flow.bottleneck];
  const bool has_level = bottleneck.stage == Stage::kIdle || bottleneck.stage == Stage::kFixed;
  if (has_level) return bottleneck.level;
  return kInfinity;
}

/// The level at which an open channel is full when its flows get no more than their bounds;
/// infinite when they cannot fill it.
double MaxMin::candidate(Channel& channel) {
  if (channel.weighted > 0) [[unlikely]]
    return weighted_candidate(channel);
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

double MaxMin::weighted_candidate(Channel& channel) {
  const auto self = static_cast<std::uint32_t>(&channel - channels_.data());
  double open = 0;  // weights of flows without a bound
  std::vector<std::pair<double, double>> bounded;
  for (std::size_t i = 0; i < channel.members.size(); ++i) {
    const std::uint32_t flow = channel.members[i].flow;
    const double w = weight(flow, self);
    const double bound = i < channel.own ? kInfinity : this->bound(flows_[flow]);
    bound == kInfinity ? open += w : (bounded.emplace_back(bound, w), 0.0);
  }
  std::sort(bounded.begin(), bounded.end());  // whoever has the lowest bound drops out first
  double all = open;
  for (const auto& each : bounded)
    all += each.second;
  double left = channel.capacity;
  double used = 0;
  for (const auto& [bound, w] : bounded) {
    if (bound * all > left * kSame) break;
    left -= bound * w;
    used += bound * w;
    all -= w;
    if (all < 1e-12) all = 0;
  }
  channel.used = used;
  return all > 0 ? left / all : kInfinity;
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

/// The member's flow gets more. Opens the other channels of its path that have no room for it.
void MaxMin::raise(Member member, double more) {
  visit_others(member, [&](std::uint32_t c) {
    Channel& other = channels_[c];
    if (other.stage == Stage::kSlack) other.stage = Stage::kOpen;
    if (other.stage != Stage::kIdle) return;
    other.used += share(other, member.flow, more);
    if (other.own > 0 || other.used > other.capacity * kSame) open(c);
  });
}

/// The channel's own flows will get at least that: known before any higher level is fixed.
void MaxMin::grant(Channel& channel, double level) {
  const double more = level - channel.granted;
  if (more <= 0) return;
  channel.granted = level;
  for (std::size_t i = 0; i < channel.own; ++i)
    raise(channel.members[i], more);
}

/// The channel's own flows have no bound any more: that may change open channels' candidates.
void MaxMin::reconsider_neighbours(std::uint32_t channel) {
  const Channel& c = channels_[channel];
  for (std::size_t i = 0; i < c.own; ++i) {
    visit_others(c.members[i], [&](std::uint32_t other) {
      if (channels_[other].stage == Stage::kOpen)
        push({candidate(channels_[other]), other, changes()});
    });
  }
}

/// The flow gets less: what that leaves on a bottleneck goes to others.
void MaxMin::lower(Member member, double less) {
  visit_others(member, [&](std::uint32_t c) {
    Channel& other = channels_[c];
    if (other.stage != Stage::kIdle) return;
    other.used -= share(other, member.flow, less);
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
    if (const double less = rate(flow) - level; less > 0) lower(member, less);
    disown(flow);
    flow.bottleneck = channel;
    swap(c, i, c.own++);
    if (!flow.is_new) moved_.push_back(member.flow);
  }
  c.level = level;
  c.stage = Stage::kFixed;
  fixed_.push_back(channel);
}

/// Flows have left a bottleneck. Those that it has left may be on another one of the same level, so
/// that they keep their rates; false when one is not.
bool MaxMin::hand_over(Channel& channel) {
  while (channel.own > 0) {
    const Member member = channel.members[channel.own - 1];
    Flow& flow = flows_[member.flow];
    const auto is_full = [&](const Hop hop) {
      const Channel& c = channels_[hop.channel];
      return c.stage == Stage::kIdle && c.own > 0 && c.level <= channel.level * kSame;
    };
    const auto to = std::find_if(flow.path.begin(), flow.path.end(), is_full);
    if (to == flow.path.end()) return false;
    --channel.own;
    flow.bottleneck = to->channel;
    Channel& bottleneck = channels_[to->channel];
    swap(bottleneck, to->place, bottleneck.own++);
    moved_.push_back(member.flow);
    fixed_.push_back(to->channel);
  }
  channel.used = 0;
  for (const Member member : channel.members)
    channel.used += share(channel, member.flow, rate(flows_[member.flow]));
  channel.level = channel.granted = 0;
  return true;
}

void MaxMin::solve() {
  fixed_.clear();
  moved_.clear();
  const std::size_t changed = opened_.size();
  for (const std::uint32_t channel : opened_) {
    Channel& c = channels_[channel];
    if (c.stage == Stage::kSlack) c.stage = hand_over(c) ? Stage::kIdle : Stage::kOpen;
  }
  for (std::size_t next = 0; next < opened_.size() || !heap_.empty();) {
    Candidate least{};
    if (next < opened_.size()) {
      least.channel = opened_[next++];
      if (next > changed) reconsider_neighbours(least.channel);
    } else {
      std::pop_heap(heap_.begin(), heap_.end());
      least = heap_.back();
      heap_.pop_back();
    }
    Channel& c = channels_[least.channel];
    if (c.stage != Stage::kOpen) continue;
    if (least.when != changes()) {
      least = {candidate(c), least.channel, changes()};
      if (least.level == kInfinity) {  // nobody's bottleneck
        c.stage = Stage::kIdle;
        continue;
      }
      grant(c, least.level);
    }
    if (next == opened_.size() && (heap_.empty() || least.level <= heap_.front().level))
      fix(least.channel, least.level);
    else
      push(least);
  }
  for (const std::uint32_t channel : opened_)
    channels_[channel].stage = Stage::kIdle;
  opened_.clear();
  for (const std::uint32_t flow : new_) {
    if (std::exchange(flows_[flow].is_new, false)) moved_.push_back(flow);
  }
  new_.clear();
}

double MaxMin::load(std::uint32_t channel) const {
  double sum = 0;
  for (const Member member : channels_[channel].members) {
    const Flow& flow = flows_[member.flow];
    if (!flow.is_new) sum += rate(flow) * weight(member.flow, channel);
  }
  return sum;
}

}  // namespace steptime
