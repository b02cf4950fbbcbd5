// What happens when, in (time, order) order, for any number of pending events: the next ones are in
// a heap that stays in the cache, the others in buckets of later times, unordered, which become the
// heap when their time comes (a ladder queue: Tang, Goh and Thng, ACM TOMACS 15(3), 2005). An event
// is moved a few times, whatever the number of the others; with few events there are no buckets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace steptime {

class EventQueue {
 public:
  struct Event {
    std::int64_t time = 0;    ///< ps, not negative
    std::uint64_t order = 0;  ///< among events of one time
    std::uint32_t slot = 0;   ///< the user's
    bool operator<(const Event& other) const { return key() < other.key(); }

   private:
    __extension__ using Key = unsigned __int128;
    /// One 128-bit number, so that comparing needs no branch.
    Key key() const { return static_cast<Key>(static_cast<std::uint64_t>(time)) << 64 | order; }
  };

  bool empty() const { return heap_.empty(); }
  /// The first event; there must be one.
  const Event& front() const { return heap_.front(); }
  /// `event` must not lie before what was taken out last.
  void push(const Event& event) {
    if (event.time >= near_end_) [[unlikely]]
      return push_far(event);
    sift_up(event);
    if (heap_.size() > spill_size_) [[unlikely]]
      spill();
  }
  /// Takes out the first event.
  void pop() {
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) return sift_down(0, last);
    if (!rungs_.empty()) refill();
  }

 private:
  static constexpr std::size_t kMost = 2048;  ///< events in the heap: they fit into the L1 cache
  /// How many events stay in the heap when it gets too full.
  static constexpr std::size_t kKept = 256;
  static constexpr std::size_t kInBucket = 64;  ///< on average, in a new rung
  static constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Events of a bucket, in a list of blocks.
  struct Chunk {
    static constexpr std::uint32_t kEvents = 16;
    Event events[kEvents];
    std::uint32_t count = 0;
    std::uint32_t next = kNone;
  };
  /// The times from `begin` to `end`, in buckets of 2^shift ps; the last bucket takes the rest.
  struct Rung {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    int shift = 0;
    std::size_t next = 0;  ///< buckets before it are empty and take nothing any more
    std::vector<std::uint32_t> buckets{};  ///< the first chunk of each
    std::size_t bucket_of(std::int64_t time) const {
      const auto bucket = static_cast<std::size_t>((time - begin) >> shift);
      return bucket < buckets.size() ? bucket : buckets.size() - 1;
    }
  };

  void sift_up(const Event& event);
  void sift_down(std::size_t hole, const Event& last);
  void order_heap();
  void push_far(const Event& event);
  void put(Rung& rung, const Event& event);
  void spill();
  void refill();
  void add_rung(const std::vector<Event>& events, std::int64_t begin, std::int64_t end);
  void empty_bucket(Rung& rung, std::size_t bucket);

  // A 4-ary heap: half the depth of a binary one, and four 24-byte children span two cache lines.
  std::vector<Event> heap_;
  std::int64_t near_end_ = kForever;  ///< events before it are in the heap, the others in the rungs
  std::size_t spill_size_ = kMost;
  std::vector<Rung> rungs_;  ///< the one with the earliest times last; none overlap
  std::vector<Chunk> chunks_;
  std::uint32_t free_chunk_ = kNone;
  std::vector<Event> moved_;  ///< scratch
};

}  // namespace steptime
