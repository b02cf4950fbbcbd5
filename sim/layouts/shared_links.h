// Which links the exchanges of a layout go through in closed form, and which of these meet others
// there.
#pragma once
#include "sim/layouts/place_links.h"
#include "sim/layouts/plan.h"
#include "sim/layouts/segments.h"
#include "sim/network/network.h"
#include "sim/runtime/mediums.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace steptime {

/// The neighbour of a place of the pipeline: neighbours form a ring, as those of chunks do.
std::int32_t next_to(const Layout& layout, std::int32_t place, bool back);

class SharedLinks {
 public:
  /// The plan must outlive it. Without a cluster nothing shares a link.
  explicit SharedLinks(const LayoutPlan& plan);

  /// 0: nothing shares a link.
  std::int64_t channels() const { return links_ ? links_->channels() : 0; }
  /// What collectives of this kind use at most, among ranks of a place of the pipeline.
  const GroupLinks& of_group(std::int32_t place, GroupKind kind) const {
    return groups_[index(place, kind)].links;
  }
  /// What a place uses to send to its neighbour.
  const GroupLinks& of_hop(std::int32_t place, bool back) const {
    return hops_[index(place, back)].links;
  }
  /// Whether nothing else uses these links.
  bool are_alone(std::int32_t place, GroupKind kind) const {
    return !links_ || groups_[index(place, kind)].has_own_links;
  }
  /// Whether nothing else uses them but collectives of the same ranks.
  bool are_among_own(std::int32_t place, GroupKind kind) const {
    return !links_ || groups_[index(place, kind)].is_among_own;
  }
  bool is_hop_alone(std::int32_t place, bool back) const {
    return !links_ || hops_[index(place, back)].has_own_links;
  }
  /// How long the exchanges of a segment, each by itself, work on each channel that others of the
  /// same ranks use, too: ps.
  using Work = std::vector<std::pair<ChannelId, double>>;
  Work work_of(std::int32_t place, const Segment& segment) const;

 private:
  struct User {
    GroupLinks links{};
    bool has_own_links = true;  ///< nobody else uses them
    bool is_among_own = true;
  };
  static std::size_t index(std::int32_t place, GroupKind kind) {
    return static_cast<std::size_t>(place) * kGroupKinds + static_cast<std::size_t>(kind);
  }
  static std::size_t index(std::int32_t place, bool back) {
    return 2 * static_cast<std::size_t>(place) + (back ? 1 : 0);
  }
  void find_users();
  GroupLinks links_of(std::int32_t place, GroupKind kind) const;
  GroupLinks links_of_hop(std::int32_t place, bool back) const;

  const LayoutPlan& plan_;
  std::optional<PlaceLinks> links_;
  std::vector<User> groups_;
  std::vector<User> hops_;
};

}  // namespace steptime
