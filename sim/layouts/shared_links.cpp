#include "sim/layouts/shared_links.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>

namespace steptime {
namespace {

void load(Network::Loads& loads, std::span<const ChannelId> channels) {
  for (const ChannelId channel : channels) {
    const bool is_known = std::any_of(loads.begin(), loads.end(), [channel](const auto& load) {
      return load.channel == channel;
    });
    if (!is_known) loads.push_back({channel});
  }
}

}  // namespace

std::int32_t next_to(const Layout& layout, std::int32_t place, bool back) {
  const std::int32_t places = layout.pipeline();
  return (place + (back ? places - 1 : 1)) % places;
}

SharedLinks::SharedLinks(const LayoutPlan& plan) : plan_(plan) {
  if (plan.cluster == nullptr) return;
  links_.emplace(plan.layout, *plan.cluster);
  const std::int32_t places = plan.layout.pipeline();
  groups_.resize(static_cast<std::size_t>(places) * kGroupKinds);
  hops_.resize(2 * static_cast<std::size_t>(places));
  for (std::int32_t place = 0; place < places; ++place) {
    for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kShards,
                                 GroupKind::kReplicas, GroupKind::kEnds})
      groups_[index(place, kind)].links = links_of(place, kind);
    if (places == 1) continue;
    for (const bool back : {false, true})
      hops_[index(place, back)].links = links_of_hop(place, back);
  }
  find_users();
}

/// Of each channel all of its users, and those that are collectives of one place's ranks.
void SharedLinks::find_users() {
  const auto channels = static_cast<std::size_t>(links_->channels());
  const auto each_load = [](const User& user, const auto& visit) {
    for (const Network::Loads* loads : {&user.links.in_node, &user.links.between_nodes}) {
      for (const Network::Load& each : *loads)
        visit(each.channel);
    }
  };
  std::vector<std::int32_t> all(channels);
  for (const auto* users : {&groups_, &hops_}) {
    for (const User& user : *users)
      each_load(user, [&](ChannelId channel) { ++all[channel]; });
  }
  std::vector<std::int32_t> own(channels);
  for (std::int32_t place = 0; place < plan_.layout.pipeline(); ++place) {
    // The first and the last place make the calls of kEnds together.
    constexpr std::array kOwn{GroupKind::kTensor, GroupKind::kContext, GroupKind::kShards,
                              GroupKind::kReplicas};
    for (const int step : {1, 0, -1}) {
      for (const GroupKind kind : kOwn) {
        User& user = groups_[index(place, kind)];
        each_load(user, [&](ChannelId channel) {
          own[channel] += step;
          if (step == 0) user.is_among_own = user.is_among_own && own[channel] == all[channel];
        });
      }
    }
  }
  for (auto* users : {&groups_, &hops_}) {
    for (User& user : *users)
      each_load(user, [&](ChannelId channel) {
        user.has_own_links = user.has_own_links && all[channel] == 1;
      });
  }
}

SharedLinks::Work SharedLinks::work_of(std::int32_t place, const Segment& segment) const {
  std::map<ChannelId, double> work;
  for (const Leg* leg : segment.legs) {
    const GroupCall& call = leg->exchange;
    if (call.collective == nullptr || are_alone(place, call.group)) continue;
    const GroupLinks& links = of_group(place, call.group);
    for (const Stage& stage : stages_on(links, *call.collective, call.bytes)) {
      const bool in_node = stage.where == Pairs::kInNode;
      for (const Network::Load& each : in_node ? links.in_node : links.between_nodes)
        work[each.channel] += static_cast<double>(stage.work.count());
    }
  }
  return {work.begin(), work.end()};
}

GroupLinks SharedLinks::links_of(std::int32_t place, GroupKind kind) const {
  GroupLinks links;
  const bool is_of_ends = kind == GroupKind::kEnds;
  const std::int32_t last = plan_.layout.pipeline() - 1;
  if (is_of_ends && (plan_.tied.count == 0 || (place != 0 && place != last))) return links;
  const std::vector<std::int32_t> ranks = plan_.group(kind, plan_.layout.rank({0, 0, 0, place}));
  if (ranks.size() == 1) return links;
  const std::int64_t gpus = plan_.cluster->gpus_per_node;
  const bool leaves = ranks.front() / gpus != ranks.back() / gpus;
  const bool stays =
      std::adjacent_find(ranks.begin(), ranks.end(), [gpus](std::int32_t a, std::int32_t b) {
        return a / gpus == b / gpus;
      }) != ranks.end();
  std::vector<std::int32_t> places{place};
  if (is_of_ends) places = {0, last};
  for (const std::int32_t p : places) {
    for (const auto& [loads, ports, uses] :
         {std::tuple(&links.in_node, &links_->in_node(p), stays),
          std::tuple(&links.between_nodes, &links_->between_nodes(p), leaves)}) {
      if (!uses) continue;
      load(*loads, ports->out);
      load(*loads, ports->in);
    }
  }
  links.known_by_time = leaves ? Pairs::kBetweenNodes : Pairs::kInNode;
  return links;
}

GroupLinks SharedLinks::links_of_hop(std::int32_t place, bool back) const {
  const std::int32_t to = next_to(plan_.layout, place, back);
  const bool leaves = plan_.hop(back ? to : place).between_nodes;
  GroupLinks links;
  Network::Loads& loads = leaves ? links.between_nodes : links.in_node;
  load(loads, (leaves ? links_->between_nodes(place) : links_->in_node(place)).out);
  load(loads, (leaves ? links_->between_nodes(to) : links_->in_node(to)).in);
  links.known_by_time = leaves ? Pairs::kBetweenNodes : Pairs::kInNode;
  return links;
}

}  // namespace steptime
