#include "sim/network/max_min.h"

#include <algorithm>

namespace steptime {
namespace {
constexpr double kOpen = -1;  // a rate that is not yet known
}

void MaxMinSolver::clear() {
  channels_.clear();
  flow_ends_.clear();
  flow_channels_.clear();
}

std::uint32_t MaxMinSolver::add_channel(double capacity) {
  channels_.push_back({.left = capacity});
  return static_cast<std::uint32_t>(channels_.size() - 1);
}

void MaxMinSolver::add_flow(std::span<const std::uint32_t> channels) {
  for (const std::uint32_t channel : channels)
    ++channels_[channel].open;
  flow_channels_.insert(flow_channels_.end(), channels.begin(), channels.end());
  flow_ends_.push_back(static_cast<std::uint32_t>(flow_channels_.size()));
}

void MaxMinSolver::index_users() {
  std::uint32_t first = 0;
  for (Channel& channel : channels_) {
    channel.first = first;
    channel.filled = 0;
    first += channel.open;
  }
  users_.resize(first);
  std::uint32_t at = 0;
  for (std::uint32_t flow = 0; flow < flow_ends_.size(); ++flow) {
    for (; at < flow_ends_[flow]; ++at) {
      Channel& channel = channels_[flow_channels_[at]];
      users_[channel.first + channel.filled++] = flow;
    }
  }
}

void MaxMinSolver::fix(std::uint32_t flow, double rate) {
  rates_[flow] = rate;
  const std::uint32_t begin = flow == 0 ? 0 : flow_ends_[flow - 1];
  for (std::uint32_t at = begin; at < flow_ends_[flow]; ++at) {
    Channel& channel = channels_[flow_channels_[at]];
    channel.left = std::max(0.0, channel.left - rate);
    --channel.open;
  }
}

std::span<const double> MaxMinSolver::solve() {
  index_users();
  rates_.assign(flow_ends_.size(), kOpen);
  heap_.clear();
  for (std::uint32_t c = 0; c < channels_.size(); ++c) {
    if (channels_[c].open > 0) heap_.push_back({channels_[c].share(), c});
  }
  std::make_heap(heap_.begin(), heap_.end());
  // Fixing flows at the least share never lowers another channel's share, so an entry that is out
  // of date stands too far in front: it goes back with its present share.
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    Candidate least = heap_.back();
    heap_.pop_back();
    Channel& channel = channels_[least.channel];
    if (channel.open == 0) continue;
    if (const double share = channel.share(); share > least.share) {
      least.share = share;
      heap_.push_back(least);
      std::push_heap(heap_.begin(), heap_.end());
      continue;
    }
    for (std::uint32_t i = 0; i < channel.filled; ++i) {
      const std::uint32_t flow = users_[channel.first + i];
      if (rates_[flow] == kOpen) fix(flow, least.share);
    }
  }
  std::replace(rates_.begin(), rates_.end(), kOpen, 0.0);
  return rates_;
}

}  // namespace steptime
