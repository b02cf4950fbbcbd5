#include "sim/layouts/repetition.h"

#include "sim/core/fingerprint.h"

#include <algorithm>
#include <utility>

namespace steptime {
namespace {

/// Of fewer periods not enough could be left out.
constexpr std::int32_t kLeastPeriods = 8;
/// Periods of the order that may make one of the step, where it has no more places.
constexpr std::size_t kMostAtOnce = 4;
/// Longer steps are played, and refused there if need be: 11 days, so that no sum overflows.
constexpr double kMostLeftOut = 1e18;

/// `to` less `from`, or both together.
template <typename Numbers, typename How>
void combine(Numbers& to, const Numbers& from, How how) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = how(to[i], from[i]);
}

void take_away(StageTimes& to, const StageTimes& from) {
  combine(to.spent, from.spent, [](auto a, auto b) { return a - b; });
  combine(to.bytes, from.bytes, [](auto a, auto b) { return a - b; });
  to.exchanging -= from.exchanging;
  to.exchanges -= from.exchanges;
}

}  // namespace

Repetition::Repetition(const World& world, const LayoutPlan& plan,
                       const std::vector<std::vector<Pass>>& order, bool looks)
    : world_(world), micro_batches_(plan.micro_batches), looks_(looks), played_(order.size()) {
  for (const std::vector<Pass>& passes : order)
    orders_.push_back({.all = passes});
  if (!looks_) return;
  looks_ = false;
  for (std::int32_t in = 1; !looks_ && in <= micro_batches_ / kLeastPeriods; ++in)
    looks_ = have_periods(in);
  for (std::int32_t in = 1; !looks_ && in <= micro_batches_ / kLeastPeriods; ++in)
    looks_ = have_periods_at_the_end(in);
  if (looks_) lengths_.resize(std::max(order.size(), kMostAtOnce));
}

/// Whether a pass and that of a period later are of the same kind and chunk, neither of them of the
/// first or the last micro-batch.
bool Repetition::comes_again(const Order& order, std::int64_t k) const {
  if (k < 0 || k + order.period >= std::ssize(order.all)) return false;
  const Pass& one = order.all[static_cast<std::size_t>(k)];
  const Pass& other = order.all[static_cast<std::size_t>(k + order.period)];
  return one.kind == other.kind && one.chunk == other.chunk &&
         one.awaits_send == other.awaits_send &&
         one.micro_batch + in_period_ == other.micro_batch && one.micro_batch > 0 &&
         other.micro_batch + 1 < micro_batches_;
}

/// With the passes around its `begin`, which comes again.
bool Repetition::has_enough(Order& order) const {
  order.end = order.begin;
  while (comes_again(order, order.end))
    ++order.end;
  while (comes_again(order, order.begin - 1))
    --order.begin;
  if (order.end - order.begin < kLeastPeriods / 2 * order.period) return false;
  order.end += order.period;
  return true;
}

/// Of all passes of so many micro-batches: looks around the middle of each place's order.
bool Repetition::have_periods(std::int32_t micro_batches) {
  in_period_ = micro_batches;
  return std::all_of(orders_.begin(), orders_.end(), [&](Order& order) {
    const std::int64_t all = std::ssize(order.all);
    order.period = all / micro_batches_ * in_period_;
    order.begin = all / 2;
    return all % micro_batches_ == 0 && has_enough(order);
  });
}

/// Of those passes of so many micro-batches that each place goes through last, one for each of them
/// or more, up to the last micro-batch.
bool Repetition::have_periods_at_the_end(std::int32_t micro_batches) {
  in_period_ = micro_batches;
  return std::all_of(orders_.begin(), orders_.end(), [&](Order& order) {
    const std::int64_t all = std::ssize(order.all);
    for (order.period = in_period_; order.period < all / micro_batches_ * in_period_;
         order.period += in_period_) {
      const auto is_of_last = [&](std::int64_t k) {
        return order.all[static_cast<std::size_t>(k)].micro_batch + 1 == micro_batches_;
      };
      std::int64_t last = all;
      while (last > 0 && is_of_last(last - 1))
        --last;
      order.begin = last - 1 - order.period;
      if (has_enough(order) && order.end == last) return true;
    }
    return false;
  });
}

Pass Repetition::pass(std::int32_t place, std::int64_t k) const {
  const Played& played = played_[static_cast<std::size_t>(place)];
  const std::span<const Pass> all = orders_[static_cast<std::size_t>(place)].all;
  played.looked_at = std::max(played.looked_at, k);
  if (played.left_out == 0 || k < played.left_out_from) return all[static_cast<std::size_t>(k)];
  Pass pass = all[static_cast<std::size_t>(k + played.left_out)];
  pass.micro_batch -= static_cast<std::int32_t>(periods_ * in_period_);
  return pass;
}

void Repetition::note(std::size_t place, std::uint64_t what) {
  Played& played = played_[place];
  played.hash =
      mix(mix(played.hash, what), static_cast<std::uint64_t>((world_.now() - since_).count()));
}

void Repetition::begins(std::int32_t place, std::int64_t k) {
  if (!looks_) return;
  Played& played = played_[static_cast<std::size_t>(place)];
  played.next = k;
  const Order& first = orders_.front();
  if (place == 0 && k > 0 && k >= first.begin && k % first.period == 0) end_period();
  if (!looks_) return;
  played.next = k + 1;
  const Pass next = pass(place, k);
  note(static_cast<std::size_t>(place),
       static_cast<std::uint64_t>(next.chunk) << 8 | static_cast<std::uint64_t>(next.kind));
}

Repetition::Line& Repetition::line(std::int32_t place) {
  Line& line = lines_.emplace_back();
  line.of_ = looks_ ? this : nullptr;
  line.place_ = static_cast<std::size_t>(place);
  line.number_ = lines_.size() << 32;  // beside passes
  return line;
}

void Repetition::call(Line& line) {
  ++line.calls_;
  if (looks_) note(line.place_, line.number_);
}

void Repetition::end(Line& line) {
  ++line.ends_;
  if (looks_) note(line.place_, line.number_ + 1);
}

/// Of the order's period that ends: equal for those that are alike.
std::uint64_t Repetition::signature() const {
  std::uint64_t hash =
      mix(kFingerprintSeed, static_cast<std::uint64_t>((world_.now() - since_).count()));
  for (std::size_t place = 0; place < played_.size(); ++place) {
    const Played& of = played_[place];
    hash = mix(mix(hash, static_cast<std::uint64_t>(of.next - of.next_before)), of.hash);
  }
  for (const Line& line : lines_)
    hash = mix(hash, static_cast<std::uint64_t>(line.calls_ - line.ends_));
  return hash;
}

void Repetition::end_period() {
  const std::uint64_t now = signature();
  std::optional<Count> count;
  for (std::int64_t length = 1; looks_ && length <= std::ssize(lengths_); ++length) {
    Length& of = lengths_[static_cast<std::size_t>(length - 1)];
    const bool is_alike = std::ssize(signatures_) >= length &&
                          signatures_[signatures_.size() - static_cast<std::size_t>(length)] == now;
    of.alike = is_alike ? of.alike + 1 : 0;
    if (of.alike == 0 || of.alike % length != 0) continue;
    if (!count) {
      count = count_();
      for (const Played& played : played_)
        count->next.push_back(played.next);
      for (const Line& line : lines_)
        count->calls.push_back(line.calls_);
    }
    if (of.alike > length) leave_out(length, of.count, *count);
    of.count = *count;
  }
  signatures_.push_back(now);
  since_ = world_.now();
  for (Played& of : played_) {
    of.next_before = of.next;
    of.hash = 0;
  }
}

/// All but one, as the order must not yet end for who looks ahead; 0 where it does, or where the
/// last period was not one of those that come again.
std::int64_t Repetition::periods_left(std::int64_t length) const {
  std::int64_t periods = micro_batches_;
  for (std::size_t place = 0; place < played_.size(); ++place) {
    const Played& of = played_[place];
    const Order& order = orders_[place];
    const std::int64_t passes = length * order.period;
    if (of.next - passes < order.begin) return 0;
    const std::int64_t ahead = std::max(of.next, of.looked_at);
    periods = std::min(periods, (order.end - 1 - ahead) / passes - 1);
  }
  return std::max(periods, std::int64_t{0});
}

/// Periods of so many of the order's, as that between the two counts.
void Repetition::leave_out(std::int64_t length, const Count& from, const Count& to) {
  const std::int64_t periods = periods_left(length);
  const Duration each = to.at - from.at;
  if (periods == 0 || to.shared_since <= from.at) return;
  if (static_cast<double>(each.count()) * static_cast<double>(periods) > kMostLeftOut) return;
  for (std::size_t place = 0; place < played_.size(); ++place) {
    if (to.next[place] - from.next[place] != length * orders_[place].period) return;
  }
  for (std::size_t line = 0; line < from.calls.size(); ++line) {
    if (lines_[line].ends_ < from.calls[line]) return;
  }
  looks_ = false;
  periods_ = periods;
  in_period_ *= static_cast<std::int32_t>(length);
  length_ = each;
  each_ = to;
  left_out_at_ = to.at;
  micro_batches_ -= static_cast<std::int32_t>(periods_ * in_period_);
  for (std::size_t place = 0; place < played_.size(); ++place) {
    Played& of = played_[place];
    of.left_out_from = of.next;
    of.left_out = periods_ * length * orders_[place].period;
    take_away(each_.ranks[place], from.ranks[place]);
    RankMemory::Parts added = to.ranks[place].left;
    combine(added, from.ranks[place].left,
            [periods](std::int64_t a, std::int64_t b) { return (a - b) * periods; });
    holds_(place, added);
  }
  combine(each_.carried, from.carried, [](auto a, auto b) { return a - b; });
}

void Repetition::complete(StageTimes& times, std::int32_t place) const {
  if (periods_ == 0) return;
  const StageTimes& each = each_.ranks[static_cast<std::size_t>(place)];
  const auto add = [this](auto sum, auto one) { return sum + one * periods_; };
  combine(times.spent, each.spent, add);
  combine(times.bytes, each.bytes, add);
  times.exchanging += each.exchanging * periods_;
  times.exchanges += each.exchanges * periods_;
  times.end += length_ * periods_;
  if (times.peak_at > since_start(left_out_at_)) times.peak_at += length_ * periods_;
}

void Repetition::complete(std::vector<double>& carried) const {
  if (periods_ == 0) return;
  combine(carried, each_.carried,
          [this](double sum, double one) { return sum + one * static_cast<double>(periods_); });
}

}  // namespace steptime
