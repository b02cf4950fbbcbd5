// Closed forms of collectives that go in rounds (netmodels/round_links.h), and what they share.
#pragma once
#include "netmodels/round_links.h"
#include "sim/collective/message_collective.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// T(M) = sum over the rounds of count (slowest(share M) + reduced M gamma).
///
/// Exact while all messages of a round take the same time, so that ranks stay in step, and for
/// rings whose messages share no link, where all wait for the slowest. Otherwise a rank goes on as
/// soon as its own messages are in, and the sum is an estimate.
class RoundSum {
 public:
  /// `estimate`: how far the collective may be from its messages where they fall out of step;
  /// `of_many`: the same where they are too many to be played, by default what 513 to 768 ranks of
  /// rings and trees were.
  explicit RoundSum(TimePerByte gamma, ErrorBound estimate = {}, ErrorBound of_many = {-.04, .09})
      : gamma_(gamma), estimate_(estimate), of_many_(of_many) {}
  /// The links that the rounds added from here on occupy; kAny, as at first: those of the cluster's
  /// other collectives.
  void on(Pairs where) { where_ = where; }
  /// `share`: of M, that each message carries; `reduced`: of M, that its receiver adds up.
  void add(double count, const RoundTime& time, double share, double reduced);
  /// `count` times the same, around rings.
  void add_ring(double count, const RoundTime& time, double share, double reduced);
  /// The rounds of a binomial tree over all ranks, towards rank 0 where it `reduces`, or away from
  /// it.
  void add_binomial(const RoundLinks& links, bool reduces);
  /// The rounds of recursive doubling, with folding.
  void add_doubling(const RoundLinks& links);
  /// Those of halving and doubling, with folding: half of the data goes to the farthest rank, or to
  /// the nearest.
  void add_halving(const RoundLinks& links, bool nearest_first);
  /// Ranks send while they add up, which the sum does not know: it is an estimate.
  void set_overlapping() { overlaps_ = true; }

  double seconds(double bytes) const;
  /// The same, for each row of rounds on the same links.
  struct Row {
    Pairs where = Pairs::kAny;
    double seconds = 0;
    double sums = 0;  ///< the part of `seconds` in which values are added up
  };
  std::vector<Row> rows(double bytes) const;
  /// Of one more byte, what adds it up [s].
  double sums_per_byte() const;
  std::optional<LinearCost> linear() const;
  bool in_step() const { return in_step_; }
  bool overlaps() const { return overlaps_; }
  bool exact() const { return in_step_ && !overlaps_; }
  ErrorBound estimate() const { return estimate_; }
  ErrorBound of_many() const { return of_many_; }
  TimePerByte gamma() const { return gamma_; }

 private:
  struct Term {
    double count = 0;
    Envelope slowest;
    double share = 0;
    double reduced = 0;
    Pairs where = Pairs::kAny;
    double seconds(double bytes, TimePerByte gamma) const;
  };
  void add_folded(const RoundLinks& links, const std::function<void(std::int64_t distance)>& round);
  std::vector<Term> terms_;
  Pairs where_ = Pairs::kAny;
  TimePerByte gamma_;
  ErrorBound estimate_;
  ErrorBound of_many_;
  bool in_step_ = true;
  bool overlaps_ = false;
};

/// A collective that takes the sum over its rounds. Where ranks fall out of step, up to kMostPlayed
/// of them or kMostMessages, its messages are played twice, without bytes and with many, and the
/// line through both times stands in for the sum. Several programs are played without what they add
/// up. With more the sum stands, within the RoundSum's bound for many.
class CollectiveOfRounds : public MessageCollective {
 public:
  static constexpr std::int64_t kMostPlayed = 512;
  static constexpr double kMostMessages = 2.0 * 512 * 511;  // those of a ring
  /// Null: no messages take the time of the sum.
  using MakePrograms = std::function<Programs(Slice whole)>;
  CollectiveOfRounds(RoundSum sum, const RoundLinks& links, MakePrograms programs,
                     Operation operation = Operation::kAllReduce);
  Duration time(Bytes m) const final;
  Duration startup() const final { return time(Bytes{0}); }
  std::vector<Stage> stages(Bytes m) const final;
  std::optional<LinearCost> linear() const final { return linear_; }
  std::string outside_domain(Bytes) const final { return left_out_; }
  std::optional<ErrorBound> error_bound() const final;
  Operation operation() const final { return operation_; }
  Programs programs(Bytes m) const final;

 private:
  RoundSum sum_;
  std::optional<LinearCost> linear_;
  std::string left_out_;
  MakePrograms programs_;
  Operation operation_;
  bool is_of_many_;
};

/// The number of parts to cut data into, from `least` to `most`, for which `seconds(parts)` is
/// least. Where no seconds(parts) falls when bytes or times per byte grow, and fewer bytes allow
/// all parts that more do, neither does the least of them: a formula for the best number, which is
/// rounded, cannot promise that. `at_least(parts)` lies below seconds(parts) and grows, so that it
/// ends the search.
template <class Seconds, class AtLeast>
std::int64_t fastest_parts(std::int64_t least, std::int64_t most, Seconds seconds,
                           AtLeast at_least) {
  std::int64_t best = least;
  double fastest = seconds(least);
  for (std::int64_t parts = least + 1; parts <= most && at_least(parts) < fastest; ++parts) {
    const double time = seconds(parts);
    if (time >= fastest) continue;
    best = parts;
    fastest = time;
  }
  return best;
}

/// Why a closed form is an estimate on this cluster, for Collective::outside_domain(); empty when
/// it is `exact`.
std::string what_is_left_out(const RoundLinks& links, bool exact);

}  // namespace steptime
