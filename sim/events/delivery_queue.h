// What happens when, in (time, insertion) order. Built for many events at few distinct times, as
// ranks in step have them: events of one instant share a list, and only the lists are in a heap.
#pragma once
#include "sim/core/units.h"
#include "sim/events/event_queue.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steptime {

class DeliveryQueue {
 public:
  struct Item {
    std::uint32_t index = 0;
    std::uint32_t tag = 0;
  };

  bool empty() const { return size_ == 0; }
  /// Of the next item; the queue must not be empty.
  Time next_time() const { return Time(Duration(times_.front().time)); }

  /// `time` must not lie before that of the item taken last.
  void push(Time time, Item item) {
    const std::int64_t at = since_start(time).count();
    Recent& recent = recent_[slot_of(at)];
    // A list that was pushed out of `recent_` gets no more items, so that what follows in a new
    // list of the same time was inserted later than all of it.
    if (recent.list == kNone || recent.time != at) recent = {at, open_list(at)};
    List& list = lists_[recent.list];
    if (list.size++ == 0)
      list.first = item;
    else
      list.others.push_back(item);
    ++size_;
  }

  Item pop() {
    List& list = lists_[times_.front().slot];
    const Item item = list.taken == 0 ? list.first : list.others[list.taken - 1];
    --size_;
    if (++list.taken == list.size) close_first();
    return item;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kRecent = 256;

  /// Most have one item where ranks are out of step, which is then found without another load.
  struct List {
    Item first;
    std::uint32_t size = 0;
    std::uint32_t taken = 0;
    std::vector<Item> others;
  };
  struct Recent {
    std::int64_t time = 0;
    std::uint32_t list = kNone;
  };

  static std::size_t slot_of(std::int64_t time) {
    return (static_cast<std::uint64_t>(time) * 0x9E3779B97F4A7C15ULL) >> 56;
  }

  std::uint32_t open_list(std::int64_t time) {
    std::uint32_t list = 0;
    if (free_.empty()) {
      list = static_cast<std::uint32_t>(lists_.size());
      lists_.emplace_back();
    } else {
      list = free_.back();
      free_.pop_back();
    }
    times_.push({time, next_order_++, list});
    return list;
  }

  void close_first() {
    const auto [time, order, list] = times_.front();
    times_.pop();
    Recent& recent = recent_[slot_of(time)];
    if (recent.list == list) recent.list = kNone;
    lists_[list].others.clear();
    lists_[list].size = lists_[list].taken = 0;
    free_.push_back(list);
  }

  EventQueue times_;  ///< the times of the lists, in the order of their first insertions
  std::vector<List> lists_;
  std::vector<std::uint32_t> free_;
  std::array<Recent, kRecent> recent_{};
  std::uint64_t next_order_ = 0;
  std::size_t size_ = 0;
};

}  // namespace steptime
