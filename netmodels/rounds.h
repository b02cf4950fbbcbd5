// Closed forms of collectives that go in rounds.
#pragma once
#include "netmodels/round_links.h"
#include "sim/collective/collective.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// T(M) = sum over the rounds of count (slowest(share M) + reduced M gamma).
///
/// Exact while all messages of a round take the same time, so that ranks stay in step, and for
/// rings whose messages share no link. Otherwise a rank goes on as soon as its own messages are in,
/// and the sum is an estimate.
class RoundSum {
 public:
  explicit RoundSum(TimePerByte gamma) : gamma_(gamma) {}
  /// `share`: of M, that each message carries; `reduced`: of M, that its receiver adds up.
  void add(double count, const RoundTime& time, double share, double reduced);
  /// `count` times the same, around rings.
  void add_ring(double count, const RoundTime& time, double share, double reduced);
  /// Rounds of a binomial tree over all ranks, towards rank 0 or away from it.
  void add_binomial(const RoundLinks& links, bool reduces);
  /// Rounds of recursive doubling, or of halving and doubling, with folding.
  void add_doubling(const RoundLinks& links, bool halves);
  /// What one rank adds up may overlap what it sends.
  void set_overlapping() { overlaps_ = true; }

  double seconds(double bytes) const;
  std::optional<LinearCost> linear() const;
  bool in_step() const { return in_step_; }
  bool exact() const { return in_step_ && !overlaps_; }
  TimePerByte gamma() const { return gamma_; }

 private:
  struct Term {
    double count = 0;
    Envelope slowest;
    double share = 0;
    double reduced = 0;
  };
  std::vector<Term> terms_;
  TimePerByte gamma_;
  bool in_step_ = true;
  bool overlaps_ = false;
};

/// A collective that takes the sum over its rounds. Where ranks fall out of step, up to kMostPlayed
/// of them, its messages are played twice, without bytes and with many, and the line through both
/// times stands.
class CollectiveOfRounds : public Collective {
 public:
  static constexpr std::int64_t kMostPlayed = 512;
  using MakePrograms = std::function<Programs(Slice whole)>;
  CollectiveOfRounds(RoundSum sum, const RoundLinks& links, MakePrograms programs,
                     Operation operation = Operation::kAllReduce);
  Duration time(Bytes m) const final;
  Duration startup() const final { return time(Bytes{0}); }
  std::optional<LinearCost> linear() const final { return linear_; }
  std::string outside_domain(Bytes) const final { return left_out_; }
  Operation operation() const final { return operation_; }
  Programs programs(Bytes m) const final { return programs_({0, m.count}); }

 private:
  RoundSum sum_;
  std::optional<LinearCost> linear_;
  std::string left_out_;
  MakePrograms programs_;
  Operation operation_;
};

/// Why a closed form is an estimate on this cluster, for Collective::outside_domain(); empty when
/// it is `exact`.
std::string what_is_left_out(const RoundLinks& links, bool exact);

}  // namespace steptime
